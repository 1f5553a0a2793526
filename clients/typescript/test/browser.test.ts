// The package in Debian's Chromium, or what CHROMIUM names, on a page of another origin than the server's.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { test } from "node:test";
import { build } from "esbuild";
import { type Browser, chromium } from "playwright-core";
import { startServer } from "./server.js";

const root = path.resolve(import.meta.dirname, "../..");
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";

// What the page runs: it writes, scans, leaves a scan, and meets errors.
async function inPage({ module, url, closed, token }: { module: string; url: string; closed: string; token: string }) {
  const { Colonnade, ColonnadeError } = (await import(module)) as typeof import("@colonnade-db/client");
  const db = new Colonnade(url, { token });
  const name = module.includes("bundle") ? "bundled" : "plain";
  const table = await db.createTable(name, { families: { f: {} } });
  const keys = Array.from({ length: 5000 }, (_, i) => `r${String(i).padStart(5, "0")}`);
  await table.load(keys.map((key, i) => ({ key, cells: { "f:n": 9007199254740993n + BigInt(i), "f:bytes": Uint8Array.of(0, 255) } })));
  let sum = 0n;
  let rows = 0;
  for await (const row of table.scan()) {
    sum += row.get("f:n", "i64") ?? 0n;
    rows++;
  }
  for await (const _ of table.scan()) break;
  const counter = await table.readModifyWrite("r00000", { column: "f:n", increment: 1 });
  await table.mutate({ key: "r00001", mutations: [{ deleteRow: true }] });
  await table.deleteRow("r00002");
  const codes: string[] = [];
  for (const failing of [
    new Colonnade(url, { attempts: 1 }).tables(),
    table.write({ key: "", cells: { "f:": "x" } }),
    new Colonnade(`${url}/nowhere`).tables(),
  ]) {
    await failing.catch((error) => codes.push(error instanceof ColonnadeError ? error.code : String(error)));
  }
  const refused = await new Colonnade(closed, { token, attempts: 1 }).tables().then(String, (error) => error.message);
  const { rowCount } = await table.count();
  await table.drop();
  return { rows, sum: String(sum), counter: String(counter.get("f:n")), rowCount, codes, refused, ready: (await db.health()).ready };
}

test("a page of another origin", { skip: existsSync(executablePath) ? false : `there is no ${executablePath}` }, async (t) => {
  const bundle = await build({
    stdin: { contents: 'export * from "@colonnade-db/client";', resolveDir: root },
    bundle: true,
    format: "esm",
    write: false,
    minify: true,
  });
  const pages = createServer((request, response) => {
    const script =
      request.url === "/bundle.js"
        ? bundle.outputFiles[0]!.text
        : request.url!.startsWith("/dist/")
          ? readFileSync(path.join(root, request.url!), "utf8")
          : undefined;
    response.setHeader("content-type", script === undefined ? "text/html" : "text/javascript");
    response.end(script ?? "<!doctype html><title>page</title>");
  });
  await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  const server = await startServer(t, "--cors-origin", origin);
  const closed = await startServer(t);
  let browser: Browser | undefined;
  t.after(async () => {
    await browser?.close();
    pages.closeAllConnections();
    pages.close();
  });
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const page = await browser.newPage();
  await page.goto(origin);
  for (const module of ["/bundle.js", "/dist/index.js"]) {
    const got = await page.evaluate(inPage, { module: origin + module, url: server.url, closed: closed.url, token: server.token });
    assert.deepEqual(got, {
      rows: 5000,
      sum: String(Array.from({ length: 5000 }, (_, i) => 9007199254740993n + BigInt(i)).reduce((a, b) => a + b)),
      counter: "9007199254740994",
      rowCount: 4998,
      codes: ["missing_token", "invalid_row_key", "unknown_route"],
      refused: `the server does not answer, or does not allow pages of ${origin} (its option --cors-origin): Failed to fetch`,
      ready: true,
    });
  }
});
