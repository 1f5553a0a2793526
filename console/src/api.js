import * as session from "./session.js";
import { parse, print } from "./json.js";

// An ApiError is an answer of the server that is no success, or that none came.
export class ApiError extends Error {
  constructor(status, code, message, at = "") {
    super(message);
    this.status = status;
    this.code = code;
    this.at = at;
  }
}

export const tablePath = (table, rest = "") => "/v1/table/" + encodeURIComponent(table) + rest;

// call sends a request and returns the result of its answer.
export async function call(method, path, body, options) {
  const answer = await send(method, path, body, options);
  return parse(await answer.text()).result;
}

// lines sends a read and returns its rows in order, and what stands in the last line.
export async function lines(path, body, options) {
  const answer = await send("POST", path, body, { ...options, accept: "application/x-ndjson" });
  const texts = (await answer.text()).split("\n");
  texts.pop();
  const rows = texts.map(parse);
  const end = rows.pop();
  if (!end?.statistics) throw new ApiError(0, "broken_answer", "The answer has broken off. Try again.");
  return { rows, ...end };
}

export async function text(path, options) {
  const answer = await send("GET", path, undefined, { ...options, accept: "text/plain" });
  return answer.text();
}

async function send(method, path, body, { signal, accept = "application/json" } = {}) {
  const headers = { Accept: accept };
  const secret = session.token();
  if (secret) headers.Authorization = "Bearer " + secret;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : print(body), cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "The server does not answer. Is it still running?");
  }
  if (answer.ok) return answer;
  const error = await failureOf(answer);
  if (answer.status === 401 || error.code === "too_many_failures") session.refused(error);
  throw error;
}

async function failureOf(answer) {
  const text = await answer.text();
  try {
    const { message, error } = JSON.parse(text);
    return new ApiError(answer.status, error.code, message, error.at);
  } catch {
    return new ApiError(answer.status, "", text.trim() || `The server has answered ${answer.status}.`);
  }
}

// curl returns the shell command that sends a request.
export function curl(method, path, body) {
  const quote = (s) => "'" + s.replaceAll("'", "'\\''") + "'";
  let command = "curl";
  if (method !== (body === undefined ? "GET" : "POST")) command += " -X " + method;
  command += " " + quote(location.origin + path);
  if (session.token()) command += ' \\\n  -H "Authorization: Bearer $COLONNADE_TOKEN"';
  if (body !== undefined) command += " \\\n  -d " + quote(print(body, 2));
  return command;
}
