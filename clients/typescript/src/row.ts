// Rows and cells as the server answers with them.

import { type Bytes, compareBytes, fromJson, toBase64, toBytes } from "./bytes.js";
import type { Integer } from "./json.js";
import { decodeValue, type Type, type TypedValue, type Value, type ValueTypes } from "./value.js";

// text returns bytes as the string that they are.
function text(bytes: Bytes, what: string): string {
  if (typeof bytes === "string") return bytes;
  throw new TypeError(`the ${what} is not UTF-8: use ${what}Bytes`);
}

class StoredCell {
  constructor(
    readonly family: string,
    /** The qualifier: a string where it is UTF-8. */
    private readonly raw: Bytes,
    /** Microseconds since 1970. */
    readonly time: bigint,
    readonly type: Type,
    readonly value: Value | null,
    /** The labels that a filter has given. */
    readonly labels: readonly string[],
  ) {}

  /** The qualifier. One that is not UTF-8 is no string, and throws: use qualifierBytes. */
  get qualifier(): string {
    return text(this.raw, "qualifier");
  }

  get qualifierBytes(): Uint8Array {
    return toBytes(this.raw);
  }

  toJSON(): JsonCell {
    const time = String(this.time);
    const labels = this.labels.length > 0 ? { labels: this.labels } : {};
    return { column: bytesOf(this.column), type: this.type, value: jsonOf(this.value), time, ...labels };
  }

  /** "family:qualifier", of bytes where the qualifier is not UTF-8. */
  get column(): Bytes {
    return columnKey(this.family, this.raw);
  }
}

/** A version in JSON.stringify: integers of 64 bits and times are strings, and so are bytes, in base64. */
export interface JsonCell {
  column: JsonBytes;
  type: Type;
  value: string | number | boolean | null;
  time: string;
  labels?: readonly string[];
}

function jsonOf(value: Value | null): JsonCell["value"] {
  if (typeof value === "bigint") return String(value);
  return value instanceof Uint8Array ? toBase64(value) : value;
}

function bytesOf(bytes: Bytes): JsonBytes {
  return typeof bytes === "string" ? bytes : { base64: toBase64(bytes) };
}

/** isCell reports whether something is a version that was read. */
export function isCell(cell: object): boolean {
  return cell instanceof StoredCell;
}

/** A version of a cell. A list of them can be written as they are. */
export type Cell = Omit<StoredCell, "type" | "value"> & TypedValue;

/** A version that was read without its value. */
export type BareCell = Omit<StoredCell, "value"> & { readonly value: null };

/** columnKey is "family:qualifier", for a qualifier of any bytes. */
export function columnKey(family: string, qualifier: Bytes): Bytes {
  if (typeof qualifier === "string") return `${family}:${qualifier}`;
  const head = toBytes(`${family}:`);
  const key = new Uint8Array(head.length + qualifier.length);
  key.set(head);
  key.set(qualifier, head.length);
  return key;
}

/** A row, with its cells in the order of the table: by family and qualifier, versions newest first. */
export class Row<C extends Cell | BareCell = Cell> {
  constructor(
    private readonly raw: Bytes,
    readonly cells: readonly C[],
  ) {}

  /** The key. One that is not UTF-8 is no string, and throws: use keyBytes. */
  get key(): string {
    return text(this.raw, "key");
  }

  get keyBytes(): Uint8Array {
    return toBytes(this.raw);
  }

  /** The newest version of a column, "family:qualifier", or undefined. With a type, another one is an error. */
  get<T extends Type>(column: Bytes, type: T): ValueTypes[T] | undefined;
  get(column: Bytes): C["value"] | undefined;
  get(column: Bytes, type?: Type): Value | null | undefined {
    const [cell] = this.versions(column);
    if (cell && type && cell.type !== type)
      throw new TypeError(`${column} of row ${JSON.stringify(this.raw)} is of type ${cell.type}, not ${type}`);
    return cell?.value;
  }

  /** The newest version of each column, as write takes them. It leaves out columns that are not UTF-8. */
  values(): Record<string, C["value"]> {
    const values: Record<string, C["value"]> = {};
    for (const { column, value } of this.cells) {
      if (typeof column === "string" && !(column in values)) values[column] = value;
    }
    return values;
  }

  toJSON(): { key: JsonBytes; cells: JsonCell[] } {
    return { key: bytesOf(this.raw), cells: this.cells.map((c) => c.toJSON()) };
  }

  /** All versions of a column that were read, newest first. */
  versions(column: Bytes): C[] {
    if (typeof column === "string") return this.cells.filter((c) => c.column === column);
    return this.cells.filter((c) => compareBytes(c.column, column) === 0);
  }
}

type JsonBytes = string | { base64: string };

interface JsonVersion {
  time: Integer;
  type: Type;
  value: unknown;
  labels?: string[];
}

/** A row as a line of an answer. */
export interface LineRow {
  row_key: JsonBytes;
  cells: Array<JsonVersion & { column_key: JsonBytes }>;
}

function cellOf(family: string, qualifier: Bytes, v: JsonVersion): Cell {
  const value = v.value === null ? null : decodeValue(v.type, v.value);
  return new StoredCell(family, qualifier, BigInt(v.time), v.type, value, v.labels ?? []) as Cell;
}

/** rowOfLine reads a line. */
export function rowOfLine(line: LineRow): Row {
  const cells = line.cells.map((c) => {
    const key = fromJson(c.column_key);
    const colon = typeof key === "string" ? key.indexOf(":") : key.indexOf(0x3a);
    const family = key.slice(0, colon);
    return cellOf(typeof family === "string" ? family : new TextDecoder().decode(family), key.slice(colon + 1), c);
  });
  return new Row(fromJson(line.row_key), cells);
}

/** A row as an object of an answer. */
export interface ObjectRow {
  row_key: JsonBytes;
  columns: Record<string, Record<string, JsonVersion[]>>;
  binary_columns?: Array<{ family: string; qualifier: JsonBytes; cells: JsonVersion[] }>;
}

/** rowOfObject reads such an object. The fields of an object lose their order where they look like numbers. */
export function rowOfObject(row: ObjectRow): Row {
  const cells: Cell[] = [];
  for (const [family, columns] of Object.entries(row.columns)) {
    for (const [qualifier, versions] of Object.entries(columns)) cells.push(...versions.map((v) => cellOf(family, qualifier, v)));
  }
  for (const c of row.binary_columns ?? []) cells.push(...c.cells.map((v) => cellOf(c.family, fromJson(c.qualifier), v)));
  cells.sort((a, b) => compareBytes(a.family, b.family) || compareBytes(a.qualifierBytes, b.qualifierBytes));
  return new Row(fromJson(row.row_key), cells);
}
