import { useState } from "preact/hooks";
import * as session from "./session.js";
import { useTitle } from "./hooks.js";

const titles = {
  missing_token: "This server needs a token",
  invalid_token: "The server does not know this token",
  expired_token: "This token has expired",
  too_many_failures: "Too many tries without a valid token",
};

export function SignIn({ refusal }) {
  const [secret, setSecret] = useState("");
  useTitle("Sign in");
  function submit(event) {
    event.preventDefault();
    session.signIn(secret.trim());
  }
  const mistaken = refusal.code !== "missing_token";
  return (
    <form class="signin card" onSubmit={submit}>
      <h1>{titles[refusal.code] ?? "Sign in"}</h1>
      {mistaken && <p class="mistake" role="alert">{refusal.message}</p>}
      <label for="token">Token</label>
      <input id="token" type="password" autocomplete="off" spellcheck={false} placeholder="cln_…" required autofocus
        value={secret} onInput={(e) => setSecret(e.target.value)} />
      <button type="submit" class="primary">Sign in</button>
      <p class="hint">The token stays in this tab, until you close it or sign out. The administrator of the server makes one
        with <code>colonnade token create</code>. Its scope and its tables decide what you see and what you may change.</p>
    </form>
  );
}
