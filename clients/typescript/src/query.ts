// What a read selects.

import type { Filter } from "./api.js";
import { type Bytes, compareBytes, toBytes } from "./bytes.js";
import { known } from "./strict.js";
import { encodeTimes, type Times } from "./time.js";
import { encodeValue, type ValueInput } from "./value.js";

/** Rows from start up to end. A bound that is left out is open. */
export interface Range {
  readonly start?: Bytes | undefined;
  readonly end?: Bytes | undefined;
  /** Leaves out start itself. */
  readonly exclusive?: boolean;
  /** Includes end itself. */
  readonly inclusive?: boolean;
}

/** Which rows: one of these, or all rows of the table. */
export interface RowSelection {
  readonly key?: Bytes | undefined;
  readonly keys?: readonly Bytes[] | undefined;
  readonly prefix?: Bytes | undefined;
  readonly range?: Range | undefined;
  readonly ranges?: readonly Range[] | undefined;
}

/** Which columns: one of these, or all columns. */
export interface ColumnSelection {
  /** Columns "family:qualifier", or "family:" for all of a family. */
  readonly columns?: readonly Bytes[] | undefined;
  readonly families?: readonly string[] | undefined;
  /** Columns whose key, the text "family:qualifier", starts with it. */
  readonly columnPrefix?: Bytes | undefined;
}

/** What of a row is read. */
export interface CellSelection extends ColumnSelection {
  readonly times?: Times | undefined;
  /** Versions whose value compares with a value of the same type. */
  readonly value?: { readonly op: "=" | "!=" | "<" | "<=" | ">" | ">="; readonly value: ValueInput } | undefined;
  /** A filter tree, for what the other fields cannot say. It comes after them. */
  readonly filter?: Filter | undefined;
  /** The most versions of each column. */
  readonly cellsPerColumn?: number | undefined;
  /** The most versions of each row. */
  readonly cellsPerRow?: number | undefined;
}

/** What is read, counted or summed up. An empty query is all of a table. */
export interface Query extends RowSelection, CellSelection {
  /** The most rows. */
  readonly limit?: number | undefined;
  /** How many rows to skip. */
  readonly offset?: number | undefined;
  /** This part of the rows, evenly spread: 0.25 is the first, fifth, ninth, … */
  readonly sample?: number | undefined;
}

/** What a scan returns. */
export interface ScanQuery extends Query {
  /** From the last row to the first. Limits count in that order. */
  readonly reverse?: boolean | undefined;
  /** The most versions in all. */
  readonly cellLimit?: number | undefined;
  /** Reads no values: those of the cells are null. */
  readonly stripValues?: boolean | undefined;
}

/** encodeRows returns the fields that select rows. */
export function encodeRows({ key, keys, prefix, range, ranges }: RowSelection): object {
  for (const r of [...(range ? [range] : []), ...(ranges ?? [])]) known(r, "a range", "start", "end", "exclusive", "inclusive");
  return { key, keys, prefix, range, ranges };
}

/** encodeColumns returns the field "column", unless all columns are selected. */
export function encodeColumns(q: CellSelection): object | undefined {
  const column = { multiKey: q.columns, families: q.families, prefix: q.columnPrefix, cellLimit: q.cellsPerColumn };
  return Object.values(column).some((v) => v !== undefined) ? column : undefined;
}

const rowFields = ["key", "keys", "prefix", "range", "ranges"] as const;
const columnFields = ["columns", "families", "columnPrefix"] as const;
const cellFields = ["times", "value", "filter", "cellsPerColumn", "cellsPerRow"] as const;
const limitFields = ["limit", "offset", "sample", "reverse", "cellLimit", "stripValues"] as const;

/** The fields that select rows and columns. */
export const selectionFields = [...rowFields, ...columnFields] as const;

/** encodeQuery returns the body of a read. */
export function encodeQuery(q: ScanQuery, pageToken?: string): object {
  known(q, "a query", ...selectionFields, ...cellFields, ...limitFields);
  return {
    row: { ...encodeRows(q), limit: q.limit, offset: q.offset, cellLimit: q.cellsPerRow, sample: q.sample, reverse: q.reverse, pageToken },
    column: encodeColumns(q),
    cell: {
      time: encodeTimes(q.times),
      value: q.value && { op: q.value.op, ...encodeValue(q.value.value, "a query") },
      limit: q.cellLimit,
      stripValue: q.stripValues,
    },
    filter: q.filter,
  };
}

/**
 * behind returns what is left of a query when so many rows and cells of its answer have come, up to the row with the key
 * last; undefined if it is nothing.
 */
export function behind(q: ScanQuery, last: Uint8Array, rows: number, cells: number): ScanQuery | undefined {
  const { key, keys, prefix, range, ranges, offset, ...rest } = q;
  const left = { ...rest, limit: minus(q.limit, rows), cellLimit: minus(q.cellLimit, cells) };
  if (key !== undefined || left.limit === 0 || left.cellLimit === 0) return undefined;
  if (keys) {
    const ahead = keys.filter((k) => compareBytes(k, last) * (q.reverse ? -1 : 1) > 0);
    return ahead.length > 0 ? { ...left, keys: ahead } : undefined;
  }
  const all = ranges ?? [range ?? (prefix === undefined ? {} : rangeOfPrefix(prefix))];
  const ahead = all.map((r) => (q.reverse ? below(r, last) : above(r, last))).filter((r) => r !== undefined);
  return ahead.length > 0 ? { ...left, ranges: ahead } : undefined;
}

function minus(limit: number | undefined, n: number): number | undefined {
  return limit === undefined ? undefined : Math.max(limit - n, 0);
}

function above(r: Range, last: Uint8Array): Range | undefined {
  if (r.end !== undefined && compareBytes(r.end, last) <= 0) return undefined;
  if (r.start !== undefined && compareBytes(r.start, last) > 0) return r;
  return { ...r, start: last, exclusive: true };
}

function below(r: Range, last: Uint8Array): Range | undefined {
  if (r.start !== undefined && compareBytes(r.start, last) >= 0) return undefined;
  if (r.end !== undefined && compareBytes(r.end, last) < 0) return r;
  return { ...r, end: last, inclusive: false };
}

// rangeOfPrefix is the rows with a prefix: up to the first key that is above all of them.
function rangeOfPrefix(prefix: Bytes): Range {
  const end = toBytes(prefix).slice();
  for (let n = end.length; n > 0; n--) {
    if (end[n - 1]! === 0xff) continue;
    end[n - 1]!++;
    return { start: prefix, end: end.slice(0, n) };
  }
  return { start: prefix };
}
