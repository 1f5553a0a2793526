// Sums over what a query selects.

import type { Statistics } from "./api.js";
import { type Bytes, fromJson } from "./bytes.js";
import { camel } from "./json.js";
import type { Query } from "./query.js";
import { decodeValue, type Type } from "./value.js";

/** The functions, and what they are: of i64 a bigint, of other types a number, null without any number. */
export interface AggregateResults {
  /** How many versions. */
  count: number;
  sum: bigint | number | null;
  min: bigint | number | null;
  max: bigint | number | null;
  avg: number | null;
}

export type AggregateFunction = keyof AggregateResults;

export interface AggregateQuery<F extends AggregateFunction> extends Query {
  readonly of: readonly F[];
  /** A group for each column; or for the first bytes of the row key; or for the row key up to a delimiter. */
  readonly groupBy?: "column" | { readonly rowPrefix: number | Bytes };
}

/** A group, with the functions that were asked for. */
export type Group<F extends AggregateFunction> = Pick<AggregateResults, F> & {
  /** A string where it is UTF-8; null without groupBy. */
  readonly key: Bytes | null;
};

export interface Aggregate<F extends AggregateFunction> {
  readonly groups: Array<Group<F>>;
  readonly stats: Statistics;
}

/** aggregateOf reads an answer. */
export function aggregateOf<F extends AggregateFunction>(json: unknown): Aggregate<F> {
  const { groups, ...stats } = json as { groups: Array<Record<string, unknown>> };
  return { groups: groups.map(groupOf) as unknown as Array<Group<F>>, stats: camel(stats) as Statistics };
}

function groupOf({ key, ...results }: Record<string, unknown>): object {
  const group: Record<string, unknown> = { key: key === null ? null : fromJson(key as string) };
  for (const [name, result] of Object.entries(results)) {
    const typed = result as { type: Type; value: unknown } | null;
    group[name] = name === "count" || typed === null ? result : decodeValue(typed.type, typed.value);
  }
  return group;
}
