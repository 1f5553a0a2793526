// Requests as they are sent, once or several times.

import { ColonnadeError, errorOf } from "./error.js";
import { parse, print } from "./json.js";
import { Limit } from "./limit.js";
import { Attempts, type Kind, type OnRetry } from "./retry.js";
import { known } from "./strict.js";

export interface ClientOptions {
  /** The token of a server with access control. */
  readonly token?: string | undefined;
  /** How often a request is sent at most, the first time included: 6 if it is left out. */
  readonly attempts?: number;
  /** The timeoutMs of calls that have none of their own. */
  readonly timeoutMs?: number | undefined;
  /** Called before a request is sent again. */
  readonly onRetry?: OnRetry;
}

export interface CallOptions {
  /** Ends the call: it throws the signal's reason. A change that was sent already may be applied. */
  readonly signal?: AbortSignal | undefined;
  /** How long the call may take with all its attempts; of a scan, how long it waits for the server at a time. */
  readonly timeoutMs?: number | undefined;
}

export interface ChangeOptions extends CallOptions {
  /** In place of a random one. Who keeps it can send the same change again later, and it is applied once. */
  readonly idempotencyKey?: string | undefined;
}

export interface Request {
  readonly kind: Kind;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  readonly key?: string;
  readonly lines?: boolean;
}

// All options that calls have. Some have not all of them.
interface Options extends ChangeOptions {
  onBatch?: unknown;
  columns?: unknown;
  group?: unknown;
}

/** Transport sends requests to a server. */
export class Transport {
  readonly #base: string;

  constructor(
    url: string | URL,
    private readonly options: ClientOptions,
  ) {
    known(options, "the options of a client", "token", "attempts", "timeoutMs", "onRetry");
    const { protocol, origin, pathname } = new URL(url);
    if (protocol !== "http:" && protocol !== "https:") throw new TypeError(`${url} is no URL of a server, such as http://127.0.0.1:9876`);
    this.#base = origin + pathname.replace(/\/+$/, "");
  }

  // #foreign says what a browser does not: that it may have kept the answer from the page.
  #foreign(): string {
    const page = (globalThis as { location?: { origin?: string } }).location?.origin;
    if (!page || this.#base.startsWith(`${page}/`) || this.#base === page) return "";
    return `, or does not allow pages of ${page} (its option --cors-origin)`;
  }

  limit(call: CallOptions | undefined, each = false): Limit {
    if (call) known(call as Options, "the options of a call", "signal", "timeoutMs", "idempotencyKey", "onBatch", "columns", "group");
    return new Limit(call?.signal, call?.timeoutMs ?? this.options.timeoutMs, each);
  }

  attempts(kind: Kind, limit: Limit): Attempts {
    return new Attempts(kind, this.options.attempts ?? 6, limit, this.options.onRetry);
  }

  /** call sends a request until it succeeds, and returns the field "result" of the answer. */
  async call(request: Request, call?: CallOptions): Promise<unknown> {
    return (await this.answer(request, call)).result;
  }

  /** answer is the same for all of the answer. */
  async answer(request: Request, call?: CallOptions): Promise<{ result: unknown; message: string }> {
    const limit = this.limit(call);
    limit.start();
    try {
      return await this.retry(request, limit, async (send) => {
        const response = await send();
        const text = await bodyOf(response, limit);
        try {
          return parse(text) as { result: unknown; message: string };
        } catch {
          throw errorOf(response.status, null, text);
        }
      });
    } finally {
      limit.close();
    }
  }

  /** retry sends a request until take takes the answer. */
  async retry<T>(request: Request, limit: Limit, take: (send: () => Promise<Response>) => Promise<T>): Promise<T> {
    const body = request.body === undefined ? null : print(request.body);
    const attempts = this.attempts(request.kind, limit);
    for (;;) {
      try {
        return await take(() => this.send(request, body, limit));
      } catch (error) {
        await attempts.again(error);
      }
    }
  }

  /** send sends a request once, and returns the answer unless it is an error. */
  async send(request: Request, body: string | null, limit: Limit): Promise<Response> {
    const headers: Record<string, string> = { accept: request.lines ? "application/x-ndjson" : "application/json" };
    if (body !== null) headers["content-type"] = "application/json";
    if (request.key !== undefined) headers["idempotency-key"] = request.key;
    if (this.options.token) headers.authorization = `Bearer ${this.options.token}`;
    let response: Response;
    try {
      response = await fetch(this.#base + request.path, {
        method: request.method,
        headers,
        body,
        signal: limit.signal,
        credentials: "omit",
      });
    } catch (error) {
      throw limit.failure(`the server does not answer${this.#foreign()}`, error);
    }
    if (!response.ok) throw errorOf(response.status, response.headers.get("retry-after"), await bodyOf(response, limit));
    const type = response.headers.get("content-type") ?? "";
    if (request.lines && !type.startsWith("application/x-ndjson")) {
      throw new ColonnadeError(`the answer has the type ${JSON.stringify(type)} in place of lines`, {
        code: "invalid_answer",
        status: response.status,
      });
    }
    return response;
  }
}

async function bodyOf(response: Response, limit: Limit): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    throw limit.failure("the answer broke off", error);
  }
}

/** newKey returns a random idempotency key. crypto.randomUUID is not there for pages without TLS. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
