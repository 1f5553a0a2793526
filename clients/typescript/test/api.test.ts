// Every method, against a live server.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { before, test } from "node:test";
import { promisify } from "node:util";
import {
  byte,
  type Cell,
  Colonnade,
  ColonnadeError,
  columnKey,
  dateOf,
  type Filter,
  f32,
  i32,
  type ScanQuery,
  type Table,
  type ValueInput,
} from "@colonnade-db/client";
import { type Server, startServer } from "./server.js";

let server: Server;
let db: Colonnade;
let made = 0;

before(async (t) => {
  server = await startServer(t as never);
  db = new Colonnade(server.url, { token: server.token });
});

function newTable(): Promise<Table> {
  return db.createTable(`t${made++}`, { families: { title: {}, contents: {}, anchor: {} }, groups: [["contents"]] });
}

const bytesOf = (...bytes: number[]) => Uint8Array.from(bytes);
const keysOf = (rows: Array<{ key: string }>) => rows.map((r) => r.key).join(" ");

test("values come back as they were written", async () => {
  const table = await newTable();
  const big = new Uint8Array(100_000).map((_, i) => i);
  const values: ValueInput[] = [
    "",
    "text",
    'with "quotes", \\ and 12345678901234567890, \u0000 \u{1f600}',
    '\\"9999999999999999',
    "9007199254740993",
    "\ufeffmark",
    0n,
    -1n,
    9007199254740991n,
    9007199254740992n,
    9007199254740993n,
    -9007199254740993n,
    9223372036854775807n,
    -9223372036854775808n,
    0,
    -0,
    1,
    0.1,
    -1.5,
    1e21,
    123456789012345680000,
    9007199254740994,
    2 ** 63,
    5e-324,
    Number.MAX_VALUE,
    0.12345678901234566,
    -1234567890123456.5,
    1.7976931348623157e308,
    true,
    false,
    bytesOf(),
    bytesOf(0, 255, 254),
    big,
    i32(-2147483648),
    byte(255),
    f32(Math.fround(0.1)),
    f32(16777216),
    f32(-0),
    f32(3.4028234663852886e38),
  ];
  const cells = values.map((value, i) => ({ column: `title:${i}`, value }));
  await table.write({ key: "r", cells });
  const plain = values.map((v) => (typeof v === "object" && "value" in v ? v.value : v));
  const types = values.map((v) =>
    typeof v === "object" && "value" in v
      ? v.type
      : typeof v === "object"
        ? "bytes"
        : { string: "string", bigint: "i64", number: "f64", boolean: "boolean" }[typeof v as "string"],
  );
  for (const row of [await table.get("r"), (await table.scan().toArray())[0], (await table.page({})).rows[0]]) {
    for (const [i, value] of plain.entries()) {
      const [cell] = row!.versions(`title:${i}`);
      assert.equal(cell!.type, types[i]);
      assert.deepEqual(cell!.value, value); // strict: 0 is not -0
    }
  }
});

test("floats that no cell has are refused here", async () => {
  const table = await newTable();
  for (const value of [NaN, Infinity, f32(1e39)])
    await assert.rejects(table.write({ key: "r", cells: { "title:": value } }), /neither infinities nor NaN/);
  await assert.rejects(
    table.write({ key: "r", cells: [{ column: "title:", value: "x", time: Date.now() as never }] }),
    /bigint of microseconds/,
  );
  await assert.rejects(table.write({ key: "r", cells: { "title:": undefined as never } }), /the value of title: is undefined/);
});

test("times are microseconds", async () => {
  const table = await newTable();
  const date = new Date("2026-01-02T03:04:05.678Z");
  const most = 9223372036854775806n;
  await table.write({
    key: "r",
    cells: [
      { column: "title:", value: "a", time: date },
      { column: "title:", value: "b", time: most },
      { column: "title:", value: "c", time: 0n },
    ],
  });
  const versions = (await table.get("r"))!.versions("title:");
  assert.deepEqual(
    versions.map((c) => [c.value, c.time]),
    [
      ["b", most],
      ["a", 1767323045678000n],
      ["c", 0n],
    ],
  );
  assert.deepEqual(dateOf(versions[1]!.time), date);
  const [row] = await table.scan({ times: { start: date, end: most } }).toArray();
  assert.deepEqual(
    row!.cells.map((c) => c.value),
    ["a"],
  );
});

test("keys and qualifiers are any bytes", async () => {
  const table = await newTable();
  const key = bytesOf(0xff, 0);
  const column = columnKey("title", bytesOf(0xc3, 0x28));
  await table.write({
    key,
    cells: [
      { column, value: "x" },
      { column: "title:\u00fc:\u0000", value: i32(7) },
    ],
  });
  const row = (await table.get(key))!;
  assert.deepEqual(row.keyBytes, key);
  assert.throws(() => row.key, /use keyBytes/);
  assert.equal(row.get(column), "x");
  assert.deepEqual(row.versions(column)[0]!.qualifierBytes, bytesOf(0xc3, 0x28));
  assert.equal(row.get("title:\u00fc:\u0000", "i32"), 7);
  assert.throws(() => row.get("title:\u00fc:\u0000", "i64"), /is of type i32, not i64/);
  assert.equal(row.cells[1]!.qualifier, "\u00fc:\u0000");
  assert.throws(() => row.cells[0]!.qualifier, /use qualifierBytes/);
  // A row that was read can be written, with all that it has.
  await table.write({ key: "copy", cells: row.cells });
  const what = (cells: readonly Cell[]) => cells.map((c) => [c.column, c.type, c.value, c.time]);
  assert.deepEqual(what((await table.get("copy"))!.cells), what(row.cells));
  assert.equal((await table.scan({ prefix: bytesOf(0xff) }).toArray()).length, 1);
});

test("a row of read-modify-write has its cells in the order of the table", async () => {
  const table = await newTable();
  const row = await table.readModifyWrite("r", [
    { column: "title:9", increment: 9007199254740993n },
    { column: "title:10", increment: 1 },
    { column: columnKey("title", bytesOf(0xff)), append: bytesOf(1) },
    { column: "anchor:", append: "a" },
  ]);
  assert.deepEqual(
    row.cells.map((c) => [c.family, c.qualifierBytes, c.value]),
    [
      ["anchor", bytesOf(), "a"],
      ["title", bytesOf(0x31, 0x30), 1n],
      ["title", bytesOf(0x39), 9007199254740993n],
      ["title", bytesOf(0xff), bytesOf(1)],
    ],
  );
  await assert.rejects(table.readModifyWrite("r", { column: "anchor:", increment: 1 }), { code: "not_a_number", status: 409 });
});

test("mutations", async () => {
  const table = await newTable();
  await table.write([
    { key: "a", cells: { "title:": "A", "anchor:x": "X", "anchor:y": "Y" } },
    { key: "b", cells: { "title:": "B" } },
  ]);
  const time = await table.mutate([
    { key: "a", mutations: [{ deleteFamily: "anchor" }, { set: { "contents:": 1n, "anchor:z": "Z" } }] },
    {
      key: "b",
      mutations: [
        { deleteRow: true },
        {
          set: [
            { column: "title:", value: "1", time: 1n },
            { column: "title:", value: "2", time: 2n },
          ],
        },
      ],
    },
  ]);
  assert.equal((await table.get("a"))!.versions("contents:")[0]!.time, time);
  assert.deepEqual(
    (await table.get("a"))!.cells.map((c) => c.column),
    ["anchor:z", "contents:", "title:"],
  );
  await table.mutate({ key: "b", mutations: [{ deleteColumn: "title:", times: { end: 2n } }] });
  assert.deepEqual(
    (await table.get("b"))!.cells.map((c) => c.value),
    ["2"],
  );
  const [ok, failed] = await table.mutateEach([
    { key: "c", mutations: [{ set: { "title:": "C" } }] },
    { key: "d", mutations: [{ deleteFamily: "nope" }] },
  ]);
  assert.equal(ok, undefined);
  assert.ok(failed instanceof ColonnadeError);
  assert.equal(failed.code, "unknown_column_family");
  assert.equal(failed.at, "items[1].mutations[0].delete_family");

  assert.deepEqual(await table.checkAndMutate("e", { if: { exists: true }, then: [{ deleteRow: true }] }), {
    matched: false,
    time: undefined,
  });
  const { matched, time: at } = await table.checkAndMutate("e", { if: { exists: false }, then: [{ set: { "title:": "E" } }] });
  assert.ok(matched);
  assert.equal((await table.get("e"))!.cells[0]!.time, at);
  const isE = await table.checkAndMutate("e", { if: { valueRegexFilter: "E" }, else: [{ deleteRow: true }] });
  assert.ok(isE.matched);
});

test("deletions", async () => {
  const table = await newTable();
  await table.write(["a1", "a2", "b1"].map((key) => ({ key, cells: { "title:": key, "anchor:x": key } })));
  const { rowCount, cellCount } = await table.countDeletion({ prefix: "a" });
  assert.deepEqual([rowCount, cellCount], [2, 4]);
  assert.equal((await table.count()).rowCount, 3);
  await table.delete({ prefix: "a", families: ["anchor"] });
  assert.equal((await table.count()).cellCount, 4);
  assert.equal(await table.deleteRow("b1", { columns: ["title:"] }), 1);
  assert.equal(await table.deleteRow("b1"), 1);
  await assert.rejects(table.delete({}), { code: "all_rows" });
  await table.delete({ all: true });
  assert.equal((await table.count()).rowCount, 0);
});

test("load writes any number of rows, in batches", async () => {
  const table = await newTable();
  async function* rows() {
    for (let i = 0; i < 10_000; i++) yield { key: `r${String(i).padStart(5, "0")}`, cells: { "title:": `row ${i}` } };
  }
  const batches: number[] = [];
  assert.equal(await table.load(rows(), { onBatch: (n) => batches.push(n) }), 10_000);
  assert.deepEqual(batches, [4096, 8192, 10_000]);
  assert.equal((await table.count()).rowCount, 10_000);
  assert.equal(await table.load([]), 0);
  await assert.rejects(table.load([{ key: "x", cells: { "nope:": "" } }]), { code: "unknown_column_family" });
});

test("rows are selected", async () => {
  const table = await newTable();
  const keys = ["a", "a1", "a2", "b", "b1", "c"];
  await table.write(keys.map((key, i) => ({ key, cells: { "title:": key, "contents:n": BigInt(i), "anchor:x": "x", "anchor:y": "y" } })));
  const cases: Array<[ScanQuery, string]> = [
    [{}, "a a1 a2 b b1 c"],
    [{ key: "b" }, "b"],
    [{ keys: ["c", "a", "z"] }, "a c"],
    [{ prefix: "a" }, "a a1 a2"],
    [{ range: { start: "a1", end: "b1" } }, "a1 a2 b"],
    [{ range: { start: "a1", exclusive: true, end: "b1", inclusive: true } }, "a2 b b1"],
    [{ ranges: [{ end: "a1" }, { start: "c" }] }, "a c"],
    [{ reverse: true, limit: 2 }, "c b1"],
    [{ offset: 2, limit: 2 }, "a2 b"],
    [{ sample: 0.5 }, "a a2 b1"],
    [{ value: { op: ">=", value: 4n } }, "b1 c"],
    [{ filter: { rowKeyRegexFilter: "[ab]" } }, "a b"],
    [{ cellLimit: 5 }, "a a1"],
  ];
  for (const [query, want] of cases)
    assert.equal(
      keysOf(await table.scan(query).toArray()),
      want,
      JSON.stringify(query, (_, v) => String(v)),
    );
  const columns: Array<[ScanQuery, string]> = [
    [{ columns: ["title:", "anchor:x"] }, "anchor:x title:"],
    [{ columns: ["anchor:"], cellsPerRow: 1 }, "anchor:x"],
    [{ families: ["contents", "title"] }, "contents:n title:"],
    [{ columnPrefix: "anchor:y" }, "anchor:y"],
    [
      {
        filter: {
          chain: {
            filters: [
              { familyNameRegexFilter: "anchor" },
              { interleave: { filters: [{ columnQualifierRegexFilter: "x" }, { columnQualifierRegexFilter: "y" }] } },
              { cellsPerRowLimitFilter: 1 },
            ],
          },
        },
      },
      "anchor:x",
    ],
    [{ filter: { columnRangeFilter: { familyName: "anchor", startQualifierOpen: "x" } } }, "anchor:y"],
    [{ filter: { timestampRangeFilter: { endTimestampMicros: new Date() } }, families: ["title"] }, "title:"],
  ];
  for (const [query, want] of columns)
    assert.equal((await table.scan({ key: "a", ...query }).toArray())[0]!.cells.map((c) => c.column).join(" "), want);

  const labelled = await table.scan({ key: "a", families: ["title"], filter: { applyLabelTransformer: "new" } }).toArray();
  assert.deepEqual(labelled[0]!.cells[0]!.labels, ["new"]);
  const [bare] = await table.scan({ key: "a", stripValues: true }).toArray();
  const nothing: null = bare!.cells[0]!.value;
  assert.equal(nothing, null);
  assert.equal(bare!.cells[1]!.type, "string");

  const scan = table.scan({ prefix: "a" });
  assert.equal(scan.stats, undefined);
  assert.equal((await scan.toArray()).length, 3);
  assert.equal(scan.stats!.rowCount, 3);
  assert.equal(scan.breaks, 0);
  assert.equal(keysOf(await scan.toArray()), "a a1 a2"); // each loop sends it anew
});

test("get and getMany", async () => {
  const table = await newTable();
  await table.write(["a", "b"].map((key) => ({ key, cells: { "title:": key, "anchor:x": "x" } })));
  assert.equal(await table.get("nope"), undefined);
  assert.equal((await table.get("a"))!.cells.length, 2);
  assert.equal(await table.get("a", { columns: ["anchor:y"] }), undefined);
  const rows = await table.getMany(["b", "nope", "a", "b"], { families: ["title"] });
  assert.deepEqual(
    rows.map((r) => r?.get("title:")),
    ["b", undefined, "a", "b"],
  );
});

test("pages together are the answer", async () => {
  const table = await newTable();
  const keys = Array.from({ length: 25 }, (_, i) => `r${String(i).padStart(2, "0")}`);
  await table.write(keys.map((key) => ({ key, cells: { "title:": key, "anchor:x": "x" } })));
  for (const reverse of [false, true]) {
    const got: string[] = [];
    for await (const page of table.pages({ limit: 10, reverse })) {
      assert.ok(page.rows.length <= 10);
      got.push(...page.rows.map((r) => r.key));
    }
    assert.deepEqual(got, reverse ? [...keys].reverse() : keys);
  }
  const first = await table.page({ cellLimit: 3 }); // ends within a row
  const second = await table.page({ cellLimit: 3, pageToken: first.nextPageToken });
  assert.deepEqual(
    [...first.rows, ...second.rows].flatMap((r) => r.cells.map((c) => `${r.key} ${c.column}`)),
    ["r00 anchor:x", "r00 title:", "r01 anchor:x", "r01 title:", "r02 anchor:x", "r02 title:"],
  );
  assert.equal((await table.page({ limit: 25 })).nextPageToken, undefined);
  await assert.rejects(table.page({ prefix: "x", pageToken: first.nextPageToken }), { code: "page_token_mismatch" });
});

test("count, aggregate, explain, advice", async () => {
  const table = await newTable();
  await table.write([
    { key: "de/mon", cells: { "contents:n": 9007199254740992n, "title:": "x" } },
    { key: "de/tue", cells: { "contents:n": 1n } },
    { key: "fr/mon", cells: { "contents:n": i32(5), "contents:f": 2.5 } },
  ]);
  assert.equal((await table.count({ prefix: "de/", families: ["contents"] })).cellCount, 2);
  const { groups, stats } = await table.aggregate({ columns: ["contents:n"], groupBy: { rowPrefix: "/" }, of: ["count", "sum", "avg"] });
  assert.deepEqual(
    groups,
    [
      { key: "de/", count: 2, sum: 9007199254740993n, avg: 4503599627370496 },
      { key: "fr/", count: 1, sum: 5, avg: 5 },
    ].map((g) => ({ ...g, sum: BigInt(g.sum) })),
  );
  assert.equal(stats.rowCount, 3);
  const columns = await table.aggregate({ groupBy: "column", of: ["max"] });
  assert.deepEqual(columns.groups, [
    { key: "contents:f", max: 2.5 },
    { key: "contents:n", max: 9007199254740992n },
    { key: "title:", max: null },
  ]);
  assert.deepEqual((await table.aggregate({ of: ["min"] })).groups, [{ key: null, min: 1n }]);
  const explained = await table.explain({ prefix: "de/", families: ["contents"] });
  assert.equal(explained.rows.returned, 2);
  assert.deepEqual(explained.pushedDown, ["rows", "families"]);
  const advice = await table.advice();
  assert.deepEqual(
    advice.columnFamilies.map((f) => f.name),
    ["anchor", "contents", "title"],
  );
  assert.ok(advice.queries[0]!.queryCount > 0);
});

test("tables and families", async () => {
  const table = await db.createTable("made", { families: { a: { versionLimit: 2 }, b: {} } });
  await assert.rejects(table.create(), { code: "table_exists", status: 409, outcomeUnknown: false });
  assert.ok((await db.tables()).some((t) => t.name === "made"));
  await table.configure({ defaultGcSettings: { versionLimit: 7 }, deletionProtection: true });
  await table.createFamilies({ c: {}, d: { ttlSecs: 60 } }, { group: true });
  await table.setGcSettings("a", { versionLimit: 3, ttlSecs: 9, mode: "intersection" });
  const info = await table.describe();
  const families = Object.fromEntries(info.columnFamilies.map((f) => [f.name, f.gcSettings]));
  assert.deepEqual(families, {
    a: { ttlSecs: 9, versionLimit: 3, mode: "intersection" },
    b: { ttlSecs: null, versionLimit: null },
    c: { ttlSecs: null, versionLimit: 7 },
    d: { ttlSecs: 60, versionLimit: null },
  });
  assert.deepEqual(
    info.localityGroups.map((g) => g.columnFamilies),
    [["c", "d"]],
  );
  assert.equal(info.partitions.length, 3);
  await table.write({ key: "r", cells: [1n, 2n, 3n].map((time) => ({ column: "b:", value: "x", time })) });
  assert.deepEqual(await table.previewGcSettings("b", { versionLimit: 1 }).then((p) => [p.rowCount, p.cellCount]), [1, 2]);
  assert.equal(await table.moveFamily("b", null), undefined);
  assert.equal((await table.moveFamily("b", "new"))!.from, null);
  await assert.rejects(table.drop(), { code: "deletion_protected" });
  await table.configure({ deletionProtection: false });
  await table.dropFamily("a");
  await table.drop();
  await assert.rejects(table.describe(), { code: "unknown_table", at: "path", status: 404 });
});

test("mistakes that the types do not find are refused", async () => {
  const table = await newTable();
  await table.write({ key: "a", cells: { "title:": "A" } });
  const wrong: Array<[unknown, RegExp]> = [
    [() => table.scan({ prefx: "a" } as never).toArray(), /no field "prefx" in a query/],
    [() => table.scan("a" as never).toArray(), /a query is an object, not "a"/],
    [() => table.scan({ ranges: [{ from: "a" }] } as never).toArray(), /no field "from" in a range/],
    [() => table.get("a", { colums: [] } as never), /no field "colums" in a query/],
    [() => table.get("a", {}, { timeout: 5 } as never), /no field "timeout" in the options of a call/],
    [() => table.delete({ prefix: "a", colums: [] } as never), /no field "colums" in a deletion/],
    [() => table.delete({ prefix: "a", times: { until: 5n } } as never), /no field "until" in times/],
    [() => table.mutate({ key: "a", mutations: [{ deleteColumn: "title:", time: {} }] } as never), /no field "time" in a mutation/],
    [() => table.mutate({ key: "a", mutation: [] } as never), /no field "mutation" in the mutations of a row/],
    [() => table.checkAndMutate("a", { If: {} } as never), /no field "If" in a check/],
    [() => table.readModifyWrite("a", { column: "title:", add: 1 } as never), /no field "add" in a rule/],
    [() => table.write({ rowKey: "a" } as never), /no field "rowKey" in a row to write/],
    [
      () => table.write({ key: "a", cells: [{ column: "title:", value: "x", timestamp: 5 }] } as never),
      /no field "timestamp" in a cell to write/,
    ],
    [() => table.write({ key: "a", cells: { "title:": new Date() } } as never), /the value of title: is a Date/],
    [() => table.write({ key: "a", cells: { title: { a: 1 } } } as never), /the value of title is object/],
    [() => db.createTable("x", { family: {} } as never), /no field "family" in a table to create/],
    [async () => new Colonnade(server.url, { Token: "" } as never), /no field "Token" in the options of a client/],
  ];
  for (const [call, message] of wrong) await assert.rejects(call as () => Promise<unknown>, message);
  assert.equal((await table.count()).cellCount, 1);
});

// @ts-expect-error: the server refuses it, and its document says so.
export const empty: Filter = { chain: {} };

test("a row as an object, and as JSON", async () => {
  const table = await newTable();
  const cells = [
    { column: "title:", value: "new", time: 2n },
    { column: "title:", value: "old", time: 1n },
    { column: "contents:n", value: 9007199254740993n, time: 1n },
    { column: columnKey("contents", bytesOf(0xff)), value: bytesOf(1), time: 1n },
  ];
  await table.write({ key: "r", cells });
  const row = (await table.get("r"))!;
  assert.deepEqual(row.values(), { "contents:n": 9007199254740993n, "title:": "new" });
  await table.write({ key: "copy", cells: row.values() });
  assert.equal((await table.get("copy"))!.get("contents:n"), 9007199254740993n);
  assert.deepEqual(JSON.parse(JSON.stringify(row)), {
    key: "r",
    cells: [
      { column: "contents:n", type: "i64", value: "9007199254740993", time: "1" },
      { column: { base64: "Y29udGVudHM6/w==" }, type: "bytes", value: "AQ==", time: "1" },
      { column: "title:", type: "string", value: "new", time: "2" },
      { column: "title:", type: "string", value: "old", time: "1" },
    ],
  });
});

test("who asks, and where the load is", async () => {
  const token = (await db.token())!;
  assert.equal(token.scope, "admin");
  assert.deepEqual(token.tables, ["*"]);
  const table = await newTable();
  await table.write({ key: bytesOf(0xff), cells: { "title:": "x" } });
  const { ranges, windows } = await table.keySpace();
  const load = windows[0]!.loads.find((l) => l.rowsWritten === 1)!;
  const { start } = ranges[load.range]!;
  assert.ok(start === undefined || typeof start === "string" || start[0] === 0xff);
  assert.deepEqual((await table.keySpace({ end: 1n })).windows, []);
});

test("errors say what and where", async () => {
  const table = await newTable();
  await assert.rejects(
    table.write([
      { key: "a", cells: { "title:": "x" } },
      { key: "b", cells: { "title:": "x", "nope:": "x" } },
    ]),
    {
      name: "ColonnadeError",
      code: "unknown_column_family",
      at: "items[1].cells[1].column_key",
      status: 404,
      attempts: 1,
      outcomeUnknown: false,
      message: `items[1].cells[1].column_key: table "${table.name}" has no column family "nope"`,
    },
  );
  assert.equal(await table.get("a"), undefined);
  await assert.rejects(new Colonnade(server.url).tables(), { code: "missing_token", status: 401 });
  await assert.rejects(table.scan({ prefix: "a", key: "b" }).toArray(), { code: "conflicting_fields" });
  await assert.rejects(db.table("a/b").get("x"), { status: 400 });
  assert.throws(() => new Colonnade("127.0.0.1:9876"));
  assert.throws(() => new Colonnade("ftp://127.0.0.1"), /is no URL of a server/);
});

test("health", async () => {
  assert.deepEqual(await db.health(), { ready: true, message: "The server takes requests" });
  const gone = await new Colonnade("http://127.0.0.1:8").health();
  assert.equal(gone.ready, false);
  assert.match(gone.message, /does not answer.*ECONNREFUSED/);
});

test("src/api.ts is what the server's document makes", async () => {
  const root = path.resolve(import.meta.dirname, "../..");
  const made = await promisify(execFile)(process.execPath, [path.join(root, "tools/generate.js"), server.url]);
  assert.equal(readFileSync(path.join(root, "src/api.ts"), "utf8"), made.stdout, "run make client-typescript-types");
});
