// Time series: what sensors have measured.
//
// The key is the series, then the day. So a series' days are side by side, a query of some days is a range, and writes of
// many series go to many places. A day's measurements are versions of one cell: their times are the cell's times.
// Old ones expire by themselves.

import { Colonnade, dateOf } from "@colonnade-db/client";

const db = new Colonnade(process.env.COLONNADE_URL ?? "http://127.0.0.1:9876", { token: process.env.COLONNADE_TOKEN });
const readings = await db.createTable("readings", { families: { m: { ttlSecs: 100 * 365 * 86400 } } });

const keyOf = (sensor: string, time: Date) => `${sensor}#${time.toISOString().slice(0, 10)}`;

// Three days, a measurement an hour, of two sensors.
function* measurements() {
  for (let hour = 0; hour < 72; hour++) {
    const time = new Date(Date.UTC(2026, 0, 1, hour));
    yield { key: keyOf("harbour", time), cells: [{ column: "m:celsius", value: 4 + (hour % 24) / 4, time }] };
    yield { key: keyOf("old-mill", time), cells: [{ column: "m:celsius", value: 2 + (hour % 24) / 8, time }] };
  }
}
console.log(await readings.load(measurements()), "measurements"); // → 144 measurements

// From one moment to another: a range of days, and the times within them.
const start = new Date("2026-01-02T22:00:00Z");
const end = new Date("2026-01-03T01:00:00Z");
for await (const day of readings.scan({
  range: { start: keyOf("harbour", start), end: keyOf("harbour", end), inclusive: true },
  times: { start, end },
})) {
  for (const { time, value } of day.versions("m:celsius").reverse()) console.log(dateOf(time).toISOString(), value);
}
// → 2026-01-02T22:00:00.000Z 9.5
// → 2026-01-02T23:00:00.000Z 9.75
// → 2026-01-03T00:00:00.000Z 4

// The newest one: days backwards, one version.
const newest = await readings.scan({ prefix: "harbour#", reverse: true, cellsPerRow: 1, limit: 1 }).toArray();
console.log(newest[0]?.get("m:celsius")); // → 9.75

// The mean of each sensor, computed where the data is.
const { groups } = await readings.aggregate({ groupBy: { rowPrefix: "#" }, of: ["avg", "count"] });
for (const { key, avg, count } of groups) console.log(key, avg, count);
// → harbour# 6.875 72
// → old-mill# 3.4375 72
