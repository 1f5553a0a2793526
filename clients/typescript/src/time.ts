// Times of cells.

import { known } from "./strict.js";

/** A time to send: microseconds since 1970 as a bigint, or a Date. */
export type Time = bigint | Date;

/** Times from start up to end, which is not included. A bound that is left out is open. */
export interface Times {
  readonly start?: Time | undefined;
  readonly end?: Time | undefined;
}

/** microsOf returns a time in microseconds since 1970. */
export function microsOf(time: Time): bigint {
  if (typeof time === "bigint") return time;
  if (time instanceof Date) return BigInt(time.getTime()) * 1000n;
  throw new TypeError("a time is a Date, or a bigint of microseconds since 1970");
}

/** dateOf returns a time of a cell as a Date, which has milliseconds. */
export function dateOf(micros: bigint): Date {
  return new Date(Number(micros / 1000n));
}

export function encodeTimes(times: Times | undefined): object | undefined {
  if (times) known(times, "times", "start", "end");
  return times && { start: times.start && microsOf(times.start), end: times.end && microsOf(times.end) };
}
