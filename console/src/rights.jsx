import { createContext } from "preact";
import { useContext, useId } from "preact/hooks";
import { call } from "./api.js";
import { useLoad } from "./hooks.js";
import * as session from "./session.js";

// What the token of this page allows, as the server says: {token}, null where everybody may do everything. undefined until
// the server has answered, which pages wait for. The server decides in any case; this is so that pages need not offer what it refuses.
const Rights = createContext(undefined);

export function WithRights({ children }) {
  const { value, error } = useLoad((signal) => call("GET", "/v1/token", undefined, { signal }), [session.token()]);
  return <Rights.Provider value={error && error.status !== 401 ? { token: null } : value}>{children}</Rights.Provider>;
}

export const useRights = () => useContext(Rights);

// Names of tables for useRefusal, besides those of one.
export const allTables = Symbol("all tables");
export const someTable = Symbol("some table");

const scopes = ["read", "write", "admin"];

// useRefusal returns why the token does not allow something to a table, null if it does.
export function useRefusal(scope, table) {
  const token = useRights()?.token;
  if (!token) return null;
  if (scopes.indexOf(token.scope) < scopes.indexOf(scope)) return `This needs a token of scope ${scope}; yours has scope ${token.scope}.`;
  if (token.tables.some((pattern) => pattern === "*" || table === someTable || (typeof table === "string" && matches(pattern, table)))) return null;
  return table === allTables ? `This needs a token for all tables; yours is for ${token.tables.join(", ")}.` : `Your token is for ${token.tables.join(", ")}.`;
}

// matches reports whether a pattern, in which * stands for any characters, matches a whole name.
export function matches(pattern, name) {
  const parts = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp("^" + parts.join(".*") + "$", "s").test(name);
}

// Act is a button for something that may be refused: then it does nothing and says why, to those who see and to those who
// listen.
export function Act({ refusal, children, onClick, ...props }) {
  const id = useId();
  if (!refusal) return <button type="button" onClick={onClick} {...props}>{children}</button>;
  return (
    <>
      <button type="button" {...props} disabled={undefined} aria-disabled="true" aria-describedby={id} title={refusal}>{children}</button>
      <span class="sr" id={id}>{refusal}</span>
    </>
  );
}
