// When a request is sent again, and after which pause.

import { ColonnadeError } from "./error.js";
import type { Limit } from "./limit.js";

/**
 * "read": changes nothing. "keyed": has an idempotency key, and so is applied once, however often it arrives. "once":
 * must not arrive twice. "probe": asks how the server is now, and is sent once.
 */
export type Kind = "read" | "keyed" | "once" | "probe";

/** What a failed attempt says of the next one: it would fail alike; nothing has happened; it may have happened. */
type Verdict = "final" | "refused" | "lost";

function judge(error: unknown): Verdict {
  if (!(error instanceof ColonnadeError)) return "final";
  const ours = error.code !== "invalid_answer"; // else a proxy has answered, and the server may have got the request
  switch (error.status) {
    case 0:
      if (error.code !== "no_answer") return "final";
      return unsent(error.cause) ? "refused" : "lost";
    case 429:
      return "refused";
    case 502:
    case 504:
      return "lost";
    case 408:
      return ours ? "refused" : "lost";
    case 503:
      if (error.code === "read_only") return "final"; // until a restart
      return ours ? "refused" : "lost";
    case 409:
      return error.code === "idempotency_key_in_use" ? "refused" : "final";
  }
  return "final";
}

const unsentCodes = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

// unsent reports whether there was no connection. Node says so; browsers do not tell.
function unsent(error: unknown): boolean {
  const cause = (error as { cause?: { code?: string } } | undefined)?.cause;
  return unsentCodes.has(cause?.code ?? "");
}

// leavesOpen reports whether a final failure leaves open what has happened: no more time, or a success that cannot be read.
function leavesOpen(error: unknown): boolean {
  return error instanceof ColonnadeError && (error.code === "timeout" || (error.code === "invalid_answer" && error.status < 300));
}

// settles reports whether a failure proves that no attempt before it was applied: one that was is answered as before.
function settles(error: unknown): boolean {
  return error instanceof ColonnadeError && error.status >= 400 && error.status < 500 && judge(error) === "final";
}

const firstWaitMs = 100;
const maxWaitMs = 10_000;
const maxRetryAfterMs = 60_000;

/** Called before a request is sent again. */
export type OnRetry = (error: ColonnadeError, pauseMs: number) => void;

/** Attempts counts the attempts of one request, and waits between them. */
export class Attempts {
  #n = 1;
  #waitMs = firstWaitMs;
  #unknown = false; // an attempt may have been applied

  constructor(
    private readonly kind: Kind,
    private readonly most: number,
    private readonly limit: Limit,
    private readonly onRetry: OnRetry | undefined,
  ) {}

  /** progress begins the count anew, for a read that has got something. */
  progress(): void {
    this.#n = 1;
    this.#waitMs = firstWaitMs;
  }

  /** again returns after a pause if a request that has failed is to be sent again. Otherwise it throws the error. */
  async again(error: unknown): Promise<void> {
    const verdict = judge(error);
    if (this.kind === "keyed" || this.kind === "once") {
      this.#unknown = verdict === "lost" || leavesOpen(error) || (this.#unknown && !settles(error));
    }
    const again = this.kind !== "probe" && (verdict === "refused" || (verdict === "lost" && this.kind !== "once"));
    if (!(error instanceof ColonnadeError)) throw error;
    error.attempts = this.#n;
    error.outcomeUnknown = this.#unknown;
    const pauseMs = Math.max(this.#waitMs * (0.5 + Math.random() / 2), error.retryAfterMs);
    if (!again || this.#n >= this.most || error.retryAfterMs > maxRetryAfterMs || pauseMs >= this.limit.leftMs()) throw error;
    this.onRetry?.(error, pauseMs);
    await this.limit.pause(pauseMs);
    this.#n++;
    this.#waitMs = Math.min(2 * this.#waitMs, maxWaitMs);
  }
}
