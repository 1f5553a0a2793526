// Changes of cells.

import type { Bytes } from "./bytes.js";
import { isCell } from "./row.js";
import { known } from "./strict.js";
import { encodeTimes, microsOf, type Time, type Times } from "./time.js";
import { encodeValue, type TypedValue, type ValueInput } from "./value.js";

/** A cell to write. Without a time it gets that of the commit. */
export type CellInput = { readonly column: Bytes; readonly time?: Time | undefined } & (
  | TypedValue
  | { readonly value: ValueInput; readonly type?: undefined }
);

/** Cells to write: an object of values by column, "family:qualifier"; or a list, for times and several versions. */
export type Cells = Readonly<Record<string, ValueInput>> | readonly CellInput[];

export interface RowInput {
  readonly key: Bytes;
  readonly cells: Cells;
}

/** A change of a row. */
export type Mutation =
  | { readonly set: Cells }
  | { readonly deleteColumn: Bytes; readonly times?: Times }
  | { readonly deleteFamily: string }
  | { readonly deleteRow: true };

/** Changes of a row, which apply in their order. */
export interface RowMutations {
  readonly key: Bytes;
  readonly mutations: readonly Mutation[];
}

/** A new version of a column, made of its newest one. */
export type Rule = { readonly column: Bytes; readonly increment: bigint | number } | { readonly column: Bytes; readonly append: Bytes };

export function encodeRow(row: RowInput): object {
  known(row, "a row to write", "key", "cells");
  return { rowKey: row.key, cells: encodeCells(row.cells) };
}

function encodeCells(cells: Cells): object[] {
  if (!Array.isArray(cells)) return Object.entries(cells).map(([column, value]) => ({ columnKey: column, ...encodeValue(value, column) }));
  return (cells as readonly CellInput[]).map((cell) => {
    if (!isCell(cell)) known(cell, "a cell to write", "column", "value", "type", "time");
    const value = encodeValue(cell.type === undefined ? cell.value : cell, cell.column);
    return { columnKey: cell.column, ...value, time: cell.time === undefined ? undefined : microsOf(cell.time) };
  });
}

export function encodeMutations(mutations: readonly Mutation[]): object[] {
  return mutations.flatMap((m): object[] => {
    known(m, "a mutation", "set", "deleteColumn", "times", "deleteFamily", "deleteRow");
    if ("set" in m) return encodeCells(m.set).map((set) => ({ set }));
    if ("deleteColumn" in m) return [{ deleteColumn: { columnKey: m.deleteColumn, time: encodeTimes(m.times) } }];
    return [m];
  });
}

export function encodeRule(rule: Rule): object {
  known(rule, "a rule", "column", "increment", "append");
  return { columnKey: rule.column, ...("append" in rule ? { append: rule.append } : { increment: BigInt(rule.increment) }) };
}
