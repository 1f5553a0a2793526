// A question is what somebody wants to see of a table. It stands in the address, so it can be sent to others:
//
//   {by: "all"|"prefix"|"range"|"regex", prefix, start, end, regex, reverse, conditions: [{kind, …}]}

import { readValue } from "./bytes.js";

export const noQuestion = { by: "all", conditions: [] };

export function questionOf(query) {
  try {
    return { ...noQuestion, ...JSON.parse(query.get("q")) };
  } catch {
    return noQuestion;
  }
}

// kinds are the conditions that a person can add, each with what it is at first.
export const kinds = {
  families: { name: "Families", fresh: { families: [] } },
  column: { name: "Column", fresh: { key: "" } },
  qualifier: { name: "Qualifier matches", fresh: { regex: "" } },
  value: { name: "Value compares", fresh: { op: "=", type: "string", value: "" } },
  matches: { name: "Value matches", fresh: { regex: "" } },
  time: { name: "Written between", fresh: { start: "", end: "" } },
};

// body returns the request of a question. Its rows and filters are those of any read.
export function body(q) {
  const b = { row: rows(q) };
  const filters = q.by === "regex" && q.regex ? [{ row_key_regex_filter: q.regex }] : [];
  for (const c of q.conditions) {
    if (c.kind === "families" && c.families.length > 0) b.column = { families: c.families };
    if (c.kind === "column" && c.key) b.column = c.key.endsWith?.("*") ? { prefix: c.key.replace(/\*$/, "") } : { key: c.key };
    if (c.kind === "qualifier" && c.regex) filters.push({ column_qualifier_regex_filter: c.regex });
    if (c.kind === "matches" && c.regex) filters.push({ value_regex_filter: c.regex });
    if (c.kind === "value") b.cell = { ...b.cell, value: { op: c.op, type: c.type, value: readValue(c.type, c.value) } };
    if (c.kind === "time" && (c.start || c.end)) b.cell = { ...b.cell, time: { ...(c.start && { start: micros(c.start) }), ...(c.end && { end: micros(c.end) }) } };
  }
  if (filters.length > 0) b.filter = filters.length === 1 ? filters[0] : { chain: { filters } };
  return b;
}

function rows(q) {
  const r = {};
  if (q.by === "prefix" && q.prefix) r.prefix = q.prefix;
  if (q.by === "range" && (q.start || q.end)) r.range = { ...(q.start && { start: q.start }), ...(q.end && { end: q.end }) };
  if (q.reverse) r.reverse = true;
  return r;
}

const micros = (local) => new Date(local).getTime() * 1000;

// listed is the request for a page of the list: the newest version of each column, and of wide rows the first ones.
export const pageRows = 200;
export const rowCells = 64;

export function listed(q) {
  const b = body(q);
  return { ...b, row: { ...b.row, limit: pageRows, cell_limit: rowCells }, column: { ...b.column, cell_limit: 1 } };
}
