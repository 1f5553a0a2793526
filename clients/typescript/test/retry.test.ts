// Failures on the way: what is sent again, and what comes of it.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { pipeline } from "node:stream/promises";
import { before, type TestContext, test } from "node:test";
import { type ClientOptions, Colonnade, ColonnadeError, type ScanQuery, type Table } from "@colonnade-db/client";
import {
  applyAndSay,
  type BrokenProxy,
  cut,
  loseAnswer,
  loseRequest,
  type Server,
  type Step,
  say,
  short,
  startProxy,
  startServer,
} from "./server.js";

let server: Server;
let direct: Colonnade;
let made = 0;

before(async (t) => {
  server = await startServer(t as never);
  direct = new Colonnade(server.url, { token: server.token });
});

// open makes a table, and returns it as seen through a proxy of its own.
async function open(t: TestContext, options: ClientOptions = {}): Promise<{ table: Table; proxy: BrokenProxy }> {
  const name = `t${made++}`;
  await direct.createTable(name, { families: { f: {} } });
  const proxy = await startProxy(t, server);
  return { table: new Colonnade(proxy.url, { token: server.token, ...options }).table(name), proxy };
}

const visits = { column: "f:visits", increment: 1 };

// The answer is lost when the change was applied: sent again under its key, it is applied once.
for (const [name, step] of Object.entries({
  "the request is lost": loseRequest,
  "the answer is lost": loseAnswer,
  "the answer breaks off": cut(30),
  "504 after it was applied": applyAndSay(504, "outcome_unknown"),
  "502 of a proxy after it was applied": applyAndSay(502, ""),
})) {
  test(`a change is applied once: ${name}`, async (t) => {
    const { table, proxy } = await open(t);
    proxy.steps = [step, step];
    const row = await table.readModifyWrite("r", visits);
    assert.equal(row.get("f:visits"), 1n);
    assert.equal(proxy.keys.length, 3);
    assert.equal(new Set(proxy.keys).size, 1);
    await table.readModifyWrite("r", visits);
    assert.equal(new Set(proxy.keys).size, 2, "each change has a key of its own");
    assert.equal((await direct.table(table.name).get("r"))!.get("f:visits"), 2n);
    proxy.steps = [step];
    await table.write({ key: "w", cells: { "f:": "x" } });
    assert.equal((await table.get("w"))!.cells.length, 1, "a second time would be a second version");
    proxy.steps = [step];
    await table.deleteRow("w");
  });
}

test("what has failed for good is not sent again", async (t) => {
  const { table, proxy } = await open(t);
  for (const [status, code] of [
    [400, "invalid_json"],
    [409, "overflow"],
    [422, "idempotency_key_reused"],
    [500, "corruption"],
    [503, "read_only"],
    [507, "disk_full"],
  ] as const) {
    proxy.keys = [];
    proxy.steps = [say(status, code)];
    await assert.rejects(table.readModifyWrite("r", visits), { status, code, attempts: 1, outcomeUnknown: false });
    assert.equal(proxy.keys.length, 1);
  }
});

test("the outcome is unknown when the attempts end", async (t) => {
  const { table, proxy } = await open(t, { attempts: 2 });
  proxy.steps = [loseAnswer, say(503, "overloaded")];
  await assert.rejects(table.readModifyWrite("r", visits), { code: "overloaded", attempts: 2, outcomeUnknown: true });
  proxy.steps = [say(503, "overloaded"), say(429, "quota_exceeded")];
  await assert.rejects(table.readModifyWrite("r", visits), { code: "quota_exceeded", attempts: 2, outcomeUnknown: false });
  proxy.steps = [loseRequest, say(409, "overflow")]; // refused: the first one was not applied either
  await assert.rejects(table.readModifyWrite("r", visits), { code: "overflow", outcomeUnknown: false });
  // A key of its own settles it.
  proxy.steps = [loseAnswer, loseAnswer];
  await assert.rejects(table.readModifyWrite("k", visits, { idempotencyKey: "mine" }), { code: "no_answer", outcomeUnknown: true });
  assert.equal((await table.readModifyWrite("k", visits, { idempotencyKey: "mine" })).get("f:visits"), 1n);
});

test("a change of a table is not sent twice", async (t) => {
  const { table, proxy } = await open(t);
  proxy.steps = [loseAnswer];
  await assert.rejects(table.createFamilies({ g: {} }), { code: "no_answer", outcomeUnknown: true, attempts: 1 });
  proxy.steps = [say(503, "shutting_down")];
  await table.createFamilies({ h: {} });
  assert.deepEqual(
    (await table.describe()).columnFamilies.map((f) => f.name),
    ["f", "g", "h"],
  );
});

test("the pause is what the server asks for", async (t) => {
  const pauses: number[] = [];
  const controller = new AbortController();
  const { table, proxy } = await open(t, {
    onRetry(error, pause) {
      assert.ok(error instanceof ColonnadeError);
      pauses.push(pause);
      if (pauses.length === 2) controller.abort(new Error("enough"));
    },
  });
  proxy.steps = [say(503, "overloaded"), say(503, "overloaded", { "retry-after": "30" })];
  await assert.rejects(table.get("r", undefined, { signal: controller.signal }), /enough/);
  assert.ok(pauses[0]! >= 50 && pauses[0]! <= 100, String(pauses));
  assert.equal(pauses[1], 30_000);
  proxy.steps = [say(503, "overloaded", { "retry-after": "61" })];
  await assert.rejects(table.get("r"), { code: "overloaded", attempts: 1, retryAfterMs: 61_000 });
  proxy.steps = [say(503, "overloaded", { "retry-after": "30" })];
  await assert.rejects(table.get("r", undefined, { timeoutMs: 5000 }), { code: "overloaded", attempts: 1 }, "it could not be in time");
});

test("timeouts and signals end a call", async (t) => {
  const { table, proxy } = await open(t);
  const silent: Step = async () => {};
  proxy.steps = Array.from({ length: 10 }, () => silent);
  await assert.rejects(table.readModifyWrite("r", visits, { timeoutMs: 50 }), { code: "timeout", outcomeUnknown: true });
  await assert.rejects(table.scan({}, { timeoutMs: 50 }).toArray(), { code: "timeout" });
  await assert.rejects(table.get("r", undefined, { signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
  await assert.rejects(table.write({ key: "never", cells: { "f:": "x" } }, { signal: AbortSignal.abort() }), { name: "AbortError" });
  assert.equal(await direct.table(table.name).get("never"), undefined);
});

test("a scan goes on behind the last row after a broken connection", async (t) => {
  const { table } = await open(t);
  const keys = Array.from({ length: 60 }, (_, i) => `${"abc"[i % 3]}${String(i).padStart(2, "0")}`);
  await table.write(keys.map((key, i) => ({ key, cells: { "f:a": key, "f:b": BigInt(i) } })));
  await table.write([
    { key: Uint8Array.of(0xff, 0xff), cells: { "f:a": "last" } },
    { key: Uint8Array.of(0xff, 0xff, 1), cells: { "f:a": "last" } },
  ]);
  const queries: ScanQuery[] = [
    {},
    { reverse: true },
    { prefix: "b" },
    { prefix: "b", reverse: true },
    { prefix: Uint8Array.of(0xff) },
    { limit: 30, offset: 5 },
    { limit: 30, offset: 5, reverse: true },
    { keys: [...keys].reverse() },
    { keys, reverse: true },
    { range: { start: "a10", end: "b20", inclusive: true } },
    { range: { start: "a10", exclusive: true }, reverse: true },
    { ranges: [{ start: "c", end: "c30" }, { end: "a40" }, { start: "a30", end: "a50" }] },
    { ranges: [{ start: "c", end: "c30" }, { end: "a40" }, { start: "a30", end: "a50" }], reverse: true },
    { cellLimit: 31 },
    { cellsPerRow: 1 },
    { value: { op: ">", value: 20n } },
    { filter: { cellsPerRowLimitFilter: 1 }, limit: 20 },
    { key: "a00" },
  ];
  const flat = async (from: AsyncIterable<{ keyBytes: Uint8Array; cells: readonly { column: unknown }[] }>) => {
    const all: unknown[] = [];
    for await (const row of from) all.push([row.keyBytes, row.cells.map((c) => c.column)]);
    return all;
  };
  await Promise.all(
    queries.map(async (query, i) => {
      const want = await flat(direct.table(table.name).scan(query));
      assert.ok(want.length > 0);
      const proxy = await startProxy(t, server);
      proxy.steps = [cut(10), short(400 + 37 * i), short(1), cut(150), short(500 + 11 * i)];
      const scan = new Colonnade(proxy.url, { token: server.token }).table(table.name).scan(query);
      assert.deepEqual(
        await flat(scan),
        want,
        JSON.stringify(query, (_, v) => String(v)),
      );
      if (want.length > 10) assert.ok(scan.breaks >= 2);
    }),
  );
});

test("an answer without its last line is not whole", async (t) => {
  const { table, proxy } = await open(t);
  await table.write(["a", "b", "c"].map((key) => ({ key, cells: { "f:": key } })));
  const withoutLast: Step = async (send, response) => {
    const { body } = await send();
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    response.end(body.subarray(0, body.lastIndexOf('{"statistics"')));
  };
  const scan = table.scan();
  proxy.steps = [withoutLast];
  assert.deepEqual(
    (await scan.toArray()).map((r) => r.key),
    ["a", "b", "c"],
  );
  assert.equal(scan.breaks, 1);
  proxy.steps = [withoutLast];
  assert.equal((await table.page({ limit: 3 })).rows.length, 3);
  proxy.steps = Array.from({ length: 3 }, () => withoutLast);
  const impatient = new Colonnade(proxy.url, { token: server.token, attempts: 1 }).table(table.name);
  await assert.rejects(impatient.scan().toArray(), { code: "no_answer", message: "the answer broke off: it has no last line" });
  await assert.rejects(impatient.page({ limit: 3 }), { code: "no_answer" });
  await assert.rejects(impatient.getMany(["a"]), { code: "no_answer" });
});

test("a scan with a sample cannot go on", async (t) => {
  const { table, proxy } = await open(t);
  await table.write(["a", "b", "c"].map((key) => ({ key, cells: { "f:": key } })));
  proxy.steps = [cut(120)];
  await assert.rejects(table.scan({ sample: 1 }).toArray(), /cannot go on/);
});

test("leaving a loop, or aborting it, ends the request; a slow loop makes the server wait", async (t) => {
  const { table, proxy } = await open(t);
  const value = randomBytes(1 << 20); // which cannot be compressed
  await direct.table(table.name).load(Array.from({ length: 48 }, (_, i) => ({ key: `r${i}`, cells: { "f:": value } })));
  for (const how of ["break", "abort", "throw"]) {
    const passed = new Promise<number>((resolve) => {
      proxy.steps = [
        async (_send, response, from) => {
          const answer = await fetch(server.url + from.url, {
            method: "POST",
            body: "{}",
            headers: { authorization: `Bearer ${server.token}`, accept: "application/x-ndjson", "content-type": "application/json" },
          });
          let bytes = 0;
          async function* counted(parts: AsyncIterable<Uint8Array>) {
            for await (const part of parts) {
              bytes += part.length;
              yield part;
            }
          }
          response.writeHead(200, { "content-type": "application/x-ndjson" });
          await pipeline(answer.body as unknown as AsyncIterable<Uint8Array>, counted, response).catch(() => {});
          resolve(bytes);
        },
      ];
    });
    const controller = new AbortController();
    let rows = 0;
    const loop = async () => {
      for await (const row of table.scan({}, { signal: controller.signal })) {
        assert.equal(row.cells.length, 1);
        if (++rows < 3) continue;
        if (how === "break") break;
        if (how === "throw") throw new Error("the loop's own");
        controller.abort(new Error("the signal's own"));
      }
    };
    if (how === "break") await loop();
    else await assert.rejects(loop(), how === "throw" ? /the loop's own/ : /the signal's own/);
    assert.equal(rows, 3);
    const bytes = await passed;
    assert.ok(bytes < 40 << 20, `${bytes} bytes were sent for 3 rows of 1.4 MB each`);
  }
});

test("kill -9: acknowledged writes stay, and all are applied once", async (t) => {
  const mine = await startServer(t);
  const table = await new Colonnade(mine.url, { token: mine.token, attempts: 30 }).createTable("t", { families: { f: {} } });
  let acknowledged = 0;
  const clients = Array.from({ length: 4 }, async () => {
    for (let i = 0; i < 50; i++) {
      await table.readModifyWrite("r", visits);
      acknowledged++;
    }
  });
  for (const at of [30, 90]) {
    while (acknowledged < at) await new Promise((go) => setImmediate(go));
    await mine.kill();
    await mine.start();
  }
  await Promise.all(clients);
  assert.equal((await table.get("r"))!.get("f:visits"), 200n);
});

test("kill -9: a scan goes on", async (t) => {
  const mine = await startServer(t);
  const table = await new Colonnade(mine.url, { token: mine.token, attempts: 30 }).createTable("t", { families: { f: {} } });
  const value = randomBytes(1 << 20);
  await table.load(Array.from({ length: 40 }, (_, i) => ({ key: `r${String(i).padStart(3, "0")}`, cells: { "f:": value } })));
  const seen: string[] = [];
  const scan = table.scan();
  for await (const row of scan) {
    seen.push(row.key);
    if (seen.length === 2) {
      await mine.kill();
      await mine.start();
    }
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 40 }, (_, i) => `r${String(i).padStart(3, "0")}`),
  );
  assert.equal(scan.breaks, 1);
});
