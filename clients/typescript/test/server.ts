// A server of the program in a directory of its own, and a proxy in front of it that breaks connections.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import type { TestContext } from "node:test";

const program = process.env.COLONNADE ?? path.resolve(import.meta.dirname, "../../../../bin/colonnade");

export interface Server {
  url: string;
  /** The token that may do everything. */
  token: string;
  /** Kills it without a word, as kill -9 does. */
  kill(): Promise<void>;
  /** Starts it again, on the same port. */
  start(): Promise<void>;
}

/** startServer starts a server with access control, for the time of a test. */
export async function startServer(t: Pick<TestContext, "after">, ...args: string[]): Promise<Server> {
  const dir = mkdtempSync(path.join(tmpdir(), "typescript-"));
  const tokens = path.join(dir, "tokens");
  const token = execFileSync(program, ["token", "create", "--tokens", tokens, "--scope", "admin", "--name", "test"], { stdio: "pipe" })
    .toString()
    .trim();
  const log = path.join(dir, "log");
  let child: ChildProcess;
  let listen = "127.0.0.1:0";
  async function start() {
    child = spawn(program, ["serve", "--data", path.join(dir, "data"), "--listen", listen, "--tokens", tokens, ...args], {
      stdio: ["ignore", "pipe", openSync(log, "a")],
    });
    const [line] = (await Promise.race([once(child.stdout!, "data"), once(child, "exit")])) as [Buffer | number];
    if (typeof line === "number") throw new Error(`the server has ended with ${line}: ${readFileSync(log)}`);
    listen = line.toString().trim().replace("listening on http://", "");
  }
  async function kill() {
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
  await start();
  t.after(async () => {
    if (child.exitCode === null && child.signalCode === null) await kill();
    rmSync(dir, { recursive: true });
  });
  return { url: `http://${listen}`, token, kill, start };
}

/** What a proxy does with a request: forwards it by send, which returns the whole answer, and answers it, or not. */
export type Step = (
  send: () => Promise<{ status: number; body: Buffer }>,
  response: ServerResponse,
  from: IncomingMessage,
) => Promise<void>;

/** loseRequest breaks the connection before anything has happened. */
export const loseRequest: Step = async (_, response) => {
  response.socket!.destroy();
};

/** loseAnswer breaks the connection when the request was applied. */
export const loseAnswer: Step = async (send, response) => {
  await send();
  response.socket!.destroy();
};

/** cut breaks the connection behind so many bytes of the answer. */
export function cut(bytes: number): Step {
  return async (send, response) => {
    const { status, body } = await send();
    response.writeHead(status, { "content-type": "application/x-ndjson", "content-length": body.length });
    response.write(body.subarray(0, bytes), () => response.socket!.destroy());
  };
}

/** short ends the answer behind so many bytes, as if it were whole. */
export function short(bytes: number): Step {
  return async (send, response) => {
    const { status, body } = await send();
    response.writeHead(status, { "content-type": "application/x-ndjson" });
    response.end(body.subarray(0, bytes));
  };
}

/** say answers in place of the server. */
export function say(status: number, code: string, headers: Record<string, string> = {}): Step {
  return async (_, response) => {
    response.writeHead(status, headers);
    response.end(code ? JSON.stringify({ message: "no", result: null, status, time_ms: 0, error: { code, at: "" } }) : "<html>no</html>");
  };
}

/** applyAndSay is say for a request that was applied. */
export function applyAndSay(status: number, code: string): Step {
  return async (send, response, from) => {
    await send();
    await say(status, code)(send, response, from);
  };
}

export interface BrokenProxy {
  url: string;
  /** What happens to the next requests. Further ones are forwarded as they are. */
  steps: Step[];
  /** The idempotency keys of all requests so far, undefined for none. */
  keys: Array<string | undefined>;
}

/** startProxy starts a proxy in front of a server. */
export async function startProxy(t: Pick<TestContext, "after">, server: Server): Promise<BrokenProxy> {
  const proxy: BrokenProxy = { url: "", steps: [], keys: [] };
  const listener = createServer((from, response) => {
    answer(from, response).catch(() => response.destroy()); // a client that has gone, or a server
  });
  async function answer(from: IncomingMessage, response: ServerResponse) {
    const parts: Buffer[] = [];
    for await (const part of from) parts.push(part);
    proxy.keys.push(from.headers["idempotency-key"] as string | undefined);
    const open = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const headers = { ...from.headers, host: new URL(server.url).host, "accept-encoding": "identity" };
        request(server.url + from.url, { method: from.method!, headers }, resolve)
          .on("error", reject)
          .end(Buffer.concat(parts));
      });
    const step = proxy.steps.shift();
    if (step) {
      const send = async () => {
        const answer = await open();
        const body: Buffer[] = [];
        for await (const part of answer) body.push(part);
        return { status: answer.statusCode!, body: Buffer.concat(body) };
      };
      await step(send, response, from);
      return;
    }
    const whole = await open();
    response.writeHead(whole.statusCode!, whole.headers);
    await pipeline(whole, response);
  }
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  t.after(() => {
    listener.closeAllConnections();
    listener.close();
  });
  proxy.url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  return proxy;
}
