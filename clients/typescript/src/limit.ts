// How long a call may take: a time, and a signal of the caller's.

import { ColonnadeError } from "./error.js";

/** Limit ends a request when its time has passed, or when the caller's signal is aborted. */
export class Limit {
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #until = Number.POSITIVE_INFINITY;
  #timedOut = false;
  readonly #abort = () => this.#controller.abort(this.caller?.reason);

  constructor(
    private readonly caller: AbortSignal | undefined,
    private readonly ms: number | undefined,
    /** The time is for each wait between start and stop, not for all of the call from the first start on. */
    private readonly each: boolean,
  ) {
    if (caller?.aborted) this.#abort();
    else caller?.addEventListener("abort", this.#abort, { once: true });
  }

  /** For fetch. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** start begins a time of waiting. */
  start(): void {
    if (this.ms === undefined || (this.#timer !== undefined && !this.each)) return;
    clearTimeout(this.#timer);
    this.#until = Date.now() + this.ms;
    this.#timer = setTimeout(() => {
      this.#timedOut = true;
      this.#controller.abort();
    }, this.ms);
  }

  /** stop ends it. */
  stop(): void {
    if (!this.each) return;
    clearTimeout(this.#timer);
    this.#until = Number.POSITIVE_INFINITY;
  }

  /** close ends the request, if it is still under way. */
  close(): void {
    clearTimeout(this.#timer);
    this.caller?.removeEventListener("abort", this.#abort);
    this.#controller.abort();
  }

  leftMs(): number {
    return this.#until - Date.now();
  }

  /** failure is the error of a request that got no answer, or not to its end. */
  failure(message: string, cause: unknown): unknown {
    if (this.caller?.aborted) return this.caller.reason;
    if (this.#timedOut) return new ColonnadeError(`${message} within ${this.ms} ms`, { code: "timeout", cause });
    const why = cause instanceof Error ? `: ${cause.cause instanceof Error ? cause.cause.message : cause.message}` : "";
    return new ColonnadeError(message + why, { code: "no_answer", cause });
  }

  /** pause waits, or throws the reason of the caller's signal. */
  async pause(ms: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
      this.signal.addEventListener("abort", () => resolve(), { once: true });
      if (this.signal.aborted) resolve();
    });
    clearTimeout(timer);
    this.caller?.throwIfAborted();
  }
}
