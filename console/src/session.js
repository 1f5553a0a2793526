// The token lives as long as the tab: sessionStorage, and in no cookie, so that no other page can make a browser send it.

const key = "colonnade.token";
const watchers = new Set();

// refusal is why the server wants a token, null while it does not.
let refusal = null;

export const token = () => sessionStorage.getItem(key);
export const needed = () => refusal;

export function signIn(secret) {
  sessionStorage.setItem(key, secret);
  refusal = null;
  tell();
}

export function signOut() {
  sessionStorage.removeItem(key);
  refusal = { code: "missing_token", message: "You have signed out." };
  tell();
}

// refused is told of each answer that no request gets past without another token.
export function refused(error) {
  sessionStorage.removeItem(key);
  refusal = error;
  tell();
}

export function watch(watcher) {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

function tell() {
  for (const watcher of watchers) watcher();
}
