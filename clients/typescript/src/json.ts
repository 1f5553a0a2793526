// JSON on the way to the server and back, without rounding. Fields are in camelCase here and in snake_case there.

import { fromBase64, toBase64 } from "./bytes.js";
import { microsOf } from "./time.js";

/** Raw is a text that is JSON already. */
export class Raw {
  constructor(readonly text: string) {}
}

/** print prints a request. Bytes that are not a string become {"base64": …}. */
export function print(value: unknown): string {
  switch (typeof value) {
    case "bigint":
      return String(value);
    case "number":
      if (!Number.isFinite(value)) throw new RangeError(`${value} cannot be sent: use a finite number`);
      return String(value);
    case "object":
      if (value === null) return "null";
      if (value instanceof Raw) return value.text;
      if (value instanceof Uint8Array) return `{"base64":"${toBase64(value)}"}`;
      if (value instanceof Date) return print(microsOf(value));
      if (Array.isArray(value)) return `[${value.map(print).join(",")}]`;
      return `{${fields(value).join(",")}}`;
    case "string":
    case "boolean":
      return JSON.stringify(value);
  }
  throw new TypeError(`a ${typeof value} cannot be sent`);
}

function fields(object: object): string[] {
  const list: string[] = [];
  for (const [name, value] of Object.entries(object)) {
    if (value !== undefined) list.push(fieldName(name) + print(value));
  }
  return list;
}

const names = new Map<string, string>(); // "row_key": by rowKey. There are as many as the API has fields.

function fieldName(name: string): string {
  let text = names.get(name);
  if (text === undefined) {
    text = `${JSON.stringify(name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`))}:`;
    names.set(name, text);
  }
  return text;
}

/** camel renames the fields of an answer, all the way down, and reads its bytes. */
export function camel(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(camel);
  if (typeof json !== "object" || json === null) return json;
  if ("base64" in json) return fromBase64(json.base64 as string);
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [name.replace(/_([a-z])/g, (_, c) => c.toUpperCase()), camel(value)]),
  );
}

/** An integer as the client parses it: a string where a double might not hold it. BigInt takes both. */
export type Integer = number | string;

// Integers of which a double may not be exact: from 9e15 on. Neither parts of longer numbers nor of fractions.
const long = /(?<![\d.])-?(?:9\d{15}|\d{17,})(?![\d.eE])/;
const everyLong = new RegExp(long, "g");

/** parse parses an answer. Integers that a double might not hold come as strings: see Integer. */
export function parse(text: string): unknown {
  return JSON.parse(long.test(text) ? quoteLong(text) : text);
}

// quoteLong puts long integers into quotes. It leaves strings as they are, and so has to find them.
function quoteLong(text: string): string {
  const parts: string[] = [];
  for (let at = 0; ; ) {
    const start = text.indexOf('"', at);
    const between = start < 0 ? text.slice(at) : text.slice(at, start);
    parts.push(between.replace(everyLong, '"$&"'));
    if (start < 0) return parts.join("");
    at = endOfString(text, start);
    parts.push(text.slice(start, at));
  }
}

// endOfString returns the place behind the string that starts at a quote.
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text[quote - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return text.length;
}
