// The error of everything that fails at the server or on the way to it.

import { parse } from "./json.js";

/**
 * A request that has failed. docs/api.md lists the codes of the server. The client has three of its own, with the
 * status 0 if there was none: "no_answer", there is no connection, or it broke; "timeout", timeoutMs has passed;
 * "invalid_answer", what answers is no Colonnade server.
 */
export class ColonnadeError extends Error {
  override readonly name = "ColonnadeError";
  /** Stable name of the failure. */
  readonly code: string;
  /** The place in the request, such as "items[0].row_key"; "" if there is none. */
  readonly at: string;
  /** The status of HTTP, or 0. */
  readonly status: number;
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfterMs: number;
  /** How often the request was sent. */
  attempts = 1;
  /** The change may be applied, as a whole, or not. Otherwise it was not applied. */
  outcomeUnknown = false;

  constructor(message: string, fields: { code: string; at?: string; status?: number; retryAfterMs?: number; cause?: unknown }) {
    super(message, "cause" in fields ? { cause: fields.cause } : undefined);
    this.code = fields.code;
    this.at = fields.at ?? "";
    this.status = fields.status ?? 0;
    this.retryAfterMs = fields.retryAfterMs ?? 0;
  }
}

/** errorOf reads the error of an answer. */
export function errorOf(status: number, retryAfter: string | null, text: string): ColonnadeError {
  const retryAfterMs = millisecondsOf(retryAfter);
  try {
    const { message, error } = parse(text) as { message: string; error: { code: string; at: string } };
    return new ColonnadeError(message, { code: error.code, at: error.at, status, retryAfterMs });
  } catch {
    const start = JSON.stringify(text.slice(0, 200));
    return new ColonnadeError(`status ${status} of something that is no Colonnade server: ${start}`, {
      code: "invalid_answer",
      status,
      retryAfterMs,
    });
  }
}

// millisecondsOf reads Retry-After: seconds, or a date.
function millisecondsOf(header: string | null): number {
  if (!header) return 0;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Math.max(ms, 0) || 0;
}
