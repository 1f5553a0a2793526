// The rows of a table: reading and writing.

import { type Aggregate, type AggregateFunction, type AggregateQuery, aggregateOf } from "./aggregate.js";
import type { Count, Explanation, Filter, Statistics } from "./api.js";
import { type Bytes, compareBytes } from "./bytes.js";
import { ColonnadeError } from "./error.js";
import { camel, type Integer } from "./json.js";
import { load } from "./load.js";
import {
  type CellSelection,
  type ColumnSelection,
  encodeColumns,
  encodeQuery,
  encodeRows,
  type Query,
  type RowSelection,
  type ScanQuery,
  selectionFields,
} from "./query.js";
import { type BareCell, type Cell, type ObjectRow, type Row, rowOfObject } from "./row.js";
import { readAll, Scan } from "./scan.js";
import { Schema } from "./schema.js";
import { known } from "./strict.js";
import { encodeTimes, type Times } from "./time.js";
import { type CallOptions, type ChangeOptions, newKey } from "./transport.js";
import { encodeMutations, encodeRow, encodeRule, type Mutation, type RowInput, type RowMutations, type Rule } from "./write.js";

/** A part of the answer to a query. */
export interface Page<C extends Cell | BareCell = Cell> {
  /** A row may go on on the next page, with the same key, if cellLimit has ended this one. */
  readonly rows: Array<Row<C>>;
  /** For the pageToken of the same query; undefined if nothing follows. It is text, and does not expire. */
  readonly nextPageToken: string | undefined;
  readonly stats: Statistics;
}

/** A query that is answered page by page, each up to limit or cellLimit. */
export interface PageQuery extends ScanQuery {
  /** Goes on behind another page of the query. */
  readonly pageToken?: string | undefined;
}

/** What is deleted: the cells in these columns and times of these rows. */
export interface Deletion extends RowSelection, ColumnSelection {
  readonly times?: Times | undefined;
  /** Needed where all rows of the table are selected. */
  readonly all?: true;
}

/** A change of a row that depends on what it holds. */
export interface Check {
  /** Met when the filter lets a cell of the row through, or when the row has a cell, or has none. */
  readonly if: Filter | { readonly exists: boolean };
  readonly then?: readonly Mutation[];
  readonly else?: readonly Mutation[];
}

/** A table. Colonnade.table makes one, without asking the server. */
export class Table extends Schema {
  // Writing. Each change has an idempotency key, so that it is applied once, however often it is sent.

  /** Writes the cells of rows, all or none. */
  async write(rows: RowInput | readonly RowInput[], options?: ChangeOptions): Promise<void> {
    await this.change("POST", "/write", { items: listOf(rows).map(encodeRow) }, options);
  }

  /**
   * Writes any number of rows, in batches that are each written as a whole. It returns how many rows there were.
   * onBatch is called with how many are written so far; a failure leaves those, and none of the batches behind.
   */
  load(
    rows: Iterable<RowInput> | AsyncIterable<RowInput>,
    options?: CallOptions & { readonly onBatch?: (written: number) => void },
  ): Promise<number> {
    return load(rows, (items) => this.change("POST", "/write", { items }, options), options?.onBatch);
  }

  /** Changes rows, all or none. It returns the time of the commit. */
  async mutate(rows: RowMutations | readonly RowMutations[], options?: ChangeOptions): Promise<bigint> {
    const result = await this.change("POST", "/mutate", { items: listOf(rows).map(encodeItem) }, options);
    return BigInt((result as { time: Integer }).time);
  }

  /** Changes each row by itself. It returns an error for each row that was not changed, and undefined for the others. */
  async mutateEach(rows: readonly RowMutations[], options?: ChangeOptions): Promise<Array<ColonnadeError | undefined>> {
    const result = await this.change("POST", "/mutate", { atomic: "row", items: rows.map(encodeItem) }, options);
    const { results } = result as { results: Array<{ code: string; at: string; message: string } | null> };
    return results.map((r) => (r ? new ColonnadeError(r.message, r) : undefined));
  }

  /** Changes a row if it holds something. No other change of the row comes between the look and the change. */
  async checkAndMutate(key: Bytes, check: Check, options?: ChangeOptions): Promise<{ matched: boolean; time: bigint | undefined }> {
    known(check, "a check", "if", "then", "else");
    const body = {
      rowKey: key,
      if: check.if,
      then: check.then && encodeMutations(check.then),
      else: check.else && encodeMutations(check.else),
    };
    const { matched, time } = (await this.change("POST", "/check-and-mutate", body, options)) as { matched: boolean; time: Integer | null };
    return { matched, time: time === null ? undefined : BigInt(time) };
  }

  /** Makes new versions of the newest ones, all or none, and returns them. */
  async readModifyWrite(key: Bytes, rules: Rule | readonly Rule[], options?: ChangeOptions): Promise<Row> {
    const result = await this.change("POST", "/read-modify-write", { rowKey: key, rules: listOf(rules).map(encodeRule) }, options);
    return rowOfObject((result as { row: ObjectRow }).row);
  }

  /** Deletes cells of many rows. Of many, some may be deleted before others, and only some if it fails. */
  async delete(deletion: Deletion, options?: ChangeOptions): Promise<void> {
    await this.change("POST", "/delete", encodeDeletion(deletion), options);
  }

  /** Counts what a deletion would delete of what reads return. */
  async countDeletion(deletion: Deletion, options?: CallOptions): Promise<{ rowCount: number; cellCount: number }> {
    const result = await this.read("/delete", { ...encodeDeletion(deletion), dryRun: true }, options);
    return camel(result) as { rowCount: number; cellCount: number };
  }

  /** Deletes a row, or some columns of it. It returns how many versions reads would have returned. */
  async deleteRow(key: Bytes, options?: ChangeOptions & Pick<ColumnSelection, "columns">): Promise<number> {
    const body = { rowKey: key, column: options?.columns && { multiKey: options.columns } };
    const result = await this.change("DELETE", "/row", body, options);
    return (result as { deleted_cells_count: number }).deleted_cells_count;
  }

  // Reading.

  /** Reads a row, or what is selected of it. It returns undefined if there is nothing. */
  async get(key: Bytes, selection?: CellSelection, options?: CallOptions): Promise<Row | undefined> {
    const [row] = await this.getMany([key], selection, options);
    return row;
  }

  /** Reads rows as of one moment, in the order of the keys. One without anything is undefined. */
  async getMany(keys: readonly Bytes[], selection?: CellSelection, options?: CallOptions): Promise<Array<Row | undefined>> {
    const items = keys.map((key) => encodeQuery({ ...selection, key }));
    const { rows, last } = await readAll(this.transport, { ...this.post("/rows", { items }), lines: true }, options);
    const missing = new Set(last.missing);
    const found = rows.values();
    return keys.map((key, i) => {
      if (missing.has(i)) return undefined;
      const row: Row | undefined = found.next().value;
      if (!row || compareBytes(row.keyBytes, key) !== 0)
        throw new ColonnadeError("the answer has other rows than were asked for", { code: "invalid_answer" });
      return row;
    });
  }

  /**
   * Reads rows in the order of their keys, as of one moment, while they come. After a broken connection it goes on behind
   * the last row, as of a later moment.
   */
  scan(query: ScanQuery & { readonly stripValues: true }, options?: CallOptions): Scan<BareCell>;
  scan(query?: ScanQuery, options?: CallOptions): Scan;
  scan(query: ScanQuery = {}, options?: CallOptions): Scan<Cell | BareCell> {
    return new Scan(this.transport, `${this.path}/scan`, query, options);
  }

  /** Reads one page of a query. */
  page(query: PageQuery & { readonly stripValues: true }, options?: CallOptions): Promise<Page<BareCell>>;
  page(query: PageQuery, options?: CallOptions): Promise<Page>;
  async page({ pageToken, ...query }: PageQuery, options?: CallOptions): Promise<Page<Cell | BareCell>> {
    const { rows, last } = await readAll(this.transport, { ...this.post("/scan", encodeQuery(query, pageToken)), lines: true }, options);
    return { rows, nextPageToken: last.next_page_token ?? undefined, stats: camel(last.statistics) as Statistics };
  }

  /** Reads a query page by page. Each page is as of its own moment. */
  async *pages(query: PageQuery, options?: CallOptions): AsyncGenerator<Page, void> {
    let page = await this.page(query, options);
    yield page;
    while (page.nextPageToken !== undefined) {
      page = await this.page({ ...query, pageToken: page.nextPageToken }, options);
      yield page;
    }
  }

  /** Counts rows and versions. */
  async count(query: Query = {}, options?: CallOptions): Promise<Count> {
    return camel(await this.read("/count", encodeQuery(query), options)) as Count;
  }

  /** Sums up what a query selects, where it is stored. */
  async aggregate<F extends AggregateFunction>(query: AggregateQuery<F>, options?: CallOptions): Promise<Aggregate<F>> {
    const { of, groupBy, ...rest } = query;
    return aggregateOf(await this.read("/aggregate", { ...encodeQuery(rest), of, groupBy }, options));
  }

  /** Runs a scan, and returns what the server did for it in place of the rows. */
  async explain(query: ScanQuery, options?: CallOptions): Promise<Explanation> {
    const result = await this.read("/scan", { ...encodeQuery(query), explain: "only" }, options);
    return (camel(result) as { explain: Explanation }).explain;
  }

  private post(path: string, body: object) {
    return { kind: "read", method: "POST", path: this.path + path, body } as const;
  }

  private read(path: string, body: object, options: CallOptions | undefined): Promise<unknown> {
    return this.transport.call(this.post(path, body), options);
  }

  private change(method: "POST" | "DELETE", path: string, body: object, options: ChangeOptions | undefined): Promise<unknown> {
    const key = options?.idempotencyKey ?? newKey();
    return this.transport.call({ kind: "keyed", method, path: this.path + path, body, key }, options);
  }
}

function listOf<T>(one: T | readonly T[]): readonly T[] {
  return Array.isArray(one) ? one : [one as T];
}

function encodeItem(row: RowMutations): object {
  known(row, "the mutations of a row", "key", "mutations");
  return { rowKey: row.key, mutations: encodeMutations(row.mutations) };
}

function encodeDeletion(d: Deletion): object {
  known(d, "a deletion", ...selectionFields, "times", "all");
  const row = encodeRows(d);
  return {
    row: Object.values(row).some((v) => v !== undefined) ? row : undefined,
    column: encodeColumns(d),
    time: encodeTimes(d.times),
    all: d.all,
  };
}
