// Scans: rows while they come.

import type { Statistics } from "./api.js";
import { ColonnadeError } from "./error.js";
import { camel, parse, print } from "./json.js";
import type { Limit } from "./limit.js";
import { linesOf } from "./lines.js";
import { behind, encodeQuery, type ScanQuery } from "./query.js";
import { type BareCell, type Cell, type LineRow, type Row, rowOfLine } from "./row.js";
import type { CallOptions, Request, Transport } from "./transport.js";

/** The last line of an answer, which shows that it is whole. */
export interface LastLine {
  statistics: object;
  missing?: number[];
  has_more?: boolean;
  next_page_token?: string | null;
}

/** readRows reads one answer: its rows, those of one part of it at a time, and then its last line. */
async function* readRows(response: Response, limit: Limit): AsyncGenerator<Row[], LastLine> {
  for await (const lines of linesOf(response, limit)) {
    const rows: Row[] = [];
    for (const text of lines) {
      const line = lineOf(text);
      if ("statistics" in line) {
        yield rows;
        return line;
      }
      rows.push(rowOfLine(line));
    }
    yield rows;
  }
  throw limit.failure("the answer broke off: it has no last line", undefined);
}

function lineOf(text: string): LineRow | LastLine {
  try {
    const line = parse(text) as LineRow | LastLine;
    if ("statistics" in line || "cells" in line) return line;
  } catch {}
  throw new ColonnadeError(`the answer has a line that is no row: ${JSON.stringify(text.slice(0, 200))}`, { code: "invalid_answer" });
}

/** readAll sends a read until its answer comes as a whole. */
export function readAll(transport: Transport, request: Request, call: CallOptions | undefined): Promise<{ rows: Row[]; last: LastLine }> {
  const limit = transport.limit(call);
  limit.start();
  const answer = transport.retry(request, limit, async (send) => {
    const answer = readRows(await send(), limit);
    const rows: Row[] = [];
    for (;;) {
      const { done, value } = await answer.next();
      if (done) return { rows, last: value };
      for (const row of value) rows.push(row);
    }
  });
  return answer.finally(() => limit.close());
}

/** The rows of a query, in the order of their keys. Each loop over them sends the query anew. */
export class Scan<C extends Cell | BareCell = Cell> implements AsyncIterable<Row<C>> {
  /** What the scan has cost, when a loop has come to its end; after a break, from there on. */
  stats: Statistics | undefined;
  /** How often the last loop went on after a broken connection. 0: all of its rows are as of one moment. */
  breaks = 0;

  /** @internal */
  constructor(
    private readonly transport: Transport,
    private readonly path: string,
    private readonly query: ScanQuery,
    private readonly call: CallOptions | undefined,
  ) {}

  /** All rows, in memory. */
  async toArray(): Promise<Array<Row<C>>> {
    const rows: Array<Row<C>> = [];
    for await (const row of this) rows.push(row);
    return rows;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Row<C>, void> {
    this.stats = undefined;
    this.breaks = 0;
    const limit = this.transport.limit(this.call, true);
    const attempts = this.transport.attempts("read", limit);
    let query: ScanQuery | undefined = this.query;
    try {
      while (query) {
        let last: Row | undefined;
        let rows = 0;
        let cells = 0;
        try {
          limit.start();
          const request = { kind: "read", method: "POST", path: this.path, lines: true } as const;
          const answer = readRows(await this.transport.send(request, print(encodeQuery(query)), limit), limit);
          for (;;) {
            const { done, value } = await answer.next();
            if (done) {
              this.stats = camel(value.statistics) as Statistics;
              return;
            }
            for (const row of value) {
              last = row;
              rows++;
              cells += row.cells.length;
              attempts.progress();
              yield row as unknown as Row<C>;
            }
          }
        } catch (error) {
          await attempts.again(error);
        }
        if (last) {
          query = this.goOn(query, last.keyBytes, rows, cells);
        }
      }
    } finally {
      limit.close();
    }
  }

  // goOn returns what is left of a query whose answer broke off behind some rows.
  private goOn(query: ScanQuery, last: Uint8Array, rows: number, cells: number): ScanQuery | undefined {
    if (query.sample !== undefined) {
      throw new ColonnadeError("the answer broke off, and a scan with a sample cannot go on behind a row: use pages", {
        code: "no_answer",
      });
    }
    this.breaks++;
    return behind(query, last, rows, cells);
  }
}
