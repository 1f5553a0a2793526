// Changes of cells.

import type { Bytes } from "./bytes.js";
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
  return { rowKey: row.key, cells: encodeCells(row.cells) };
}

function encodeCells(cells: Cells): object[] {
  if (Array.isArray(cells)) return (cells as readonly CellInput[]).map(encodeCell);
  return Object.entries(cells as Record<string, ValueInput>).map(([column, value]) => encodeCell({ column, value }));
}

function encodeCell(cell: CellInput): object {
  const value = encodeValue(cell.type === undefined ? cell.value : cell);
  return { columnKey: cell.column, ...value, time: cell.time === undefined ? undefined : microsOf(cell.time) };
}

export function encodeMutations(mutations: readonly Mutation[]): object[] {
  return mutations.flatMap((m): object[] => {
    if ("set" in m) return encodeCells(m.set).map((set) => ({ set }));
    if ("deleteColumn" in m) return [{ deleteColumn: { columnKey: m.deleteColumn, time: encodeTimes(m.times) } }];
    return [m];
  });
}

export function encodeRule(rule: Rule): object {
  return { columnKey: rule.column, ...("append" in rule ? { append: rule.append } : { increment: BigInt(rule.increment) }) };
}
