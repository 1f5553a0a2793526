// What the heat map shows of an answer of /keyspace: {ranges, windows: [{start, end, loads: [{range, …}]}]}.

import { bytes, short } from "../format.js";
import { show } from "../browse/bytes.js";

export const measures = [
  { field: "rows_read", name: "Rows read", print: short },
  { field: "rows_written", name: "Rows written", print: short },
  { field: "bytes_read", name: "Bytes read", print: bytes },
  { field: "bytes_written", name: "Bytes written", print: bytes },
];

const seconds = (w) => (w.end - w.start) / 1e6;

// rate is what a range had in a second of a window, so that windows of other lengths compare.
export const rate = (w, load, field) => (load ? load[field] / seconds(w) : 0);

export function highest(windows, field) {
  let most = 0;
  for (const w of windows) for (const l of w.loads) most = Math.max(most, rate(w, l, field));
  return most;
}

// warmth is where on the scale of colours a rate stands, from 0 to 1. The root leaves something to see of little load.
export const warmth = (value, most) => (most > 0 ? Math.sqrt(value / most) : 0);

export const loadOf = (w, range) => w.loads.find((l) => l.range === range);

// hottest returns the ranges with most of something, with their share of the whole and the window in which each had most.
export function hottest(k, field, limit) {
  const sums = new Map();
  let whole = 0;
  for (const w of k.windows) {
    for (const l of w.loads) {
      const s = sums.get(l.range) ?? { range: l.range, sum: 0, most: -1, window: w };
      s.sum += l[field];
      whole += l[field];
      if (rate(w, l, field) > s.most) Object.assign(s, { most: rate(w, l, field), window: w });
      sums.set(l.range, s);
    }
  }
  return [...sums.values()].filter((s) => s.sum > 0).sort((a, b) => b.sum - a.sum || a.range - b.range).slice(0, limit).map((s) => ({ ...s, share: s.sum / whole }));
}

// rangeText says which rows a range has.
export function rangeText({ start, end }) {
  if (start === undefined && end === undefined) return "all rows";
  if (start === undefined) return `up to ${show(end)}`;
  return end === undefined ? `${show(start)} and after` : `${show(start)} to ${show(end)}`;
}

// labels are the beginnings of the ranges, without what all of them begin with.
export function labels(ranges) {
  const keys = ranges.map((r) => (r.start === undefined ? "" : show(r.start)));
  const some = keys.slice(1);
  let common = 0;
  while (some.length > 1 && some.every((k) => common < k.length && k[common] === some[0][common])) common++;
  return keys.map((k, i) => (i === 0 ? "first" : common > 3 ? "…" + k.slice(common) : k));
}

// ticks are times for the axis, on the hour or a part of it, at most so many.
export function ticks(from, to, most) {
  const step = [1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720].map((m) => m * 6e7).find((s) => (to - from) / s <= most) ?? 1440 * 6e7;
  const offset = new Date(to / 1000).getTimezoneOffset() * 6e7;
  const all = [];
  for (let t = Math.ceil((from - offset) / step) * step + offset; t < to; t += step) all.push(t);
  return all;
}
