// Values with their types.

import { type Bytes, fromBase64, toBase64 } from "./bytes.js";
import { type Integer, Raw } from "./json.js";

/** The types of values, and what they are here. Integers of 64 bits are bigint, so that none is rounded. */
export interface ValueTypes {
  string: string;
  i64: bigint;
  i32: number;
  byte: number;
  f64: number;
  f32: number;
  boolean: boolean;
  bytes: Uint8Array;
}

export type Type = keyof ValueTypes;
export type Value = ValueTypes[Type];

/** A value with its type. */
export type TypedValue = { [T in Type]: { readonly type: T; readonly value: ValueTypes[T] } }[Type];

/**
 * What can be written: a string, a bigint as i64, a number as f64, a boolean, bytes; or a value with another type, as
 * i32(1) makes it.
 */
export type ValueInput = Value | TypedValue;

export const i32 = (value: number): TypedValue => ({ type: "i32", value });
export const byte = (value: number): TypedValue => ({ type: "byte", value });
export const f32 = (value: number): TypedValue => ({ type: "f32", value });

// typed finds the type of what is to be written.
function typed(input: ValueInput, of: Bytes): TypedValue {
  switch (typeof input) {
    case "string":
      return { type: "string", value: input };
    case "bigint":
      return { type: "i64", value: input };
    case "number":
      return { type: "f64", value: input };
    case "boolean":
      return { type: "boolean", value: input };
  }
  if (input instanceof Uint8Array) return { type: "bytes", value: input };
  if (typeof input === "object" && input !== null && "type" in input && "value" in input)
    return { type: input.type, value: input.value } as TypedValue;
  const what = (input as unknown) instanceof Date ? "a Date" : input === null ? "null" : typeof input;
  throw new TypeError(
    `the value of ${of} is ${what}: it can be a string, bigint, number, boolean, Uint8Array, or have a type, such as i32(1)`,
  );
}

/** encodeValue returns the fields "type" and "value" of a request. The value is that of a column, or of something else. */
export function encodeValue(input: ValueInput, of: Bytes): { type: Type; value: unknown } {
  const v = typed(input, of);
  switch (v.type) {
    case "bytes":
      return { type: v.type, value: toBase64(v.value) };
    case "f64":
      return { type: v.type, value: float(v.value) };
    case "f32":
      return { type: v.type, value: float(Math.fround(v.value)) };
  }
  return v;
}

// float prints a finite number. String says 0 for -0.
function float(value: number): Raw {
  if (!Number.isFinite(value)) throw new RangeError(`${value} is no value of a cell: there are neither infinities nor NaN`);
  return new Raw(Object.is(value, -0) ? "-0.0" : String(value));
}

/** decodeValue reads a value of an answer. */
export function decodeValue(type: Type, json: unknown): Value {
  switch (type) {
    case "i64":
      return BigInt(json as Integer);
    case "bytes":
      return fromBase64(json as string);
    case "f32":
      return Math.fround(json as number);
  }
  return json as Value;
}
