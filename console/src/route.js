import { useEffect, useState } from "preact/hooks";

// The place in the console stands behind the # of the address: #/table/NAME/browse?q=…. So each place has an address, and
// the server serves one page.

export function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { path: path.split("/").filter(Boolean).map(unescaped), query: new URLSearchParams(query) };
}

// What is badly escaped is no place, which the page says.
function unescaped(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export function usePlace() {
  const [at, setAt] = useState(place);
  useEffect(() => {
    const follow = () => setAt(place());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return at;
}

export function link(...path) {
  return "#/" + path.map(encodeURIComponent).join("/");
}

// remember puts a query into the address without a new entry in the history.
export function remember(query) {
  const [path] = location.hash.split("?");
  const text = new URLSearchParams(query).toString();
  history.replaceState(null, "", text ? `${path}?${text}` : path);
}
