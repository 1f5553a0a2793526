// A server and its tables.

import type { TableSummary, TokenInfo } from "./api.js";
import { ColonnadeError } from "./error.js";
import { camel } from "./json.js";
import type { TableSpec } from "./schema.js";
import { Table } from "./table.js";
import { type CallOptions, type ClientOptions, Transport } from "./transport.js";

/** A server. Make one for each, and keep it. */
export class Colonnade {
  readonly #transport: Transport;

  /** The URL is that of the server, such as http://127.0.0.1:9876. */
  constructor(url: string | URL, options: ClientOptions = {}) {
    this.#transport = new Transport(url, options);
  }

  /** The table of a name, without asking the server for it. */
  table(name: string): Table {
    return new Table(this.#transport, name);
  }

  /** Creates a table, with all of its families or not at all. */
  async createTable(name: string, spec?: TableSpec, options?: CallOptions): Promise<Table> {
    const table = this.table(name);
    await table.create(spec, options);
    return table;
  }

  /** All tables, by name. */
  async tables(options?: CallOptions): Promise<TableSummary[]> {
    const result = await this.#transport.call({ kind: "read", method: "GET", path: "/v1/table" }, options);
    return (camel(result) as { tables: { items: TableSummary[] } }).tables.items;
  }

  /** What the token allows; null where there is no access control. */
  async token(options?: CallOptions): Promise<TokenInfo | null> {
    const result = await this.#transport.call({ kind: "read", method: "GET", path: "/v1/token" }, options);
    return (camel(result) as { token: TokenInfo | null }).token;
  }

  /** Whether the server takes requests, and what it says of itself: why it refuses writes, if it does. */
  async health(options?: CallOptions): Promise<{ ready: boolean; message: string }> {
    try {
      const { message } = await this.#transport.answer({ kind: "probe", method: "GET", path: "/readyz" }, options);
      return { ready: true, message };
    } catch (error) {
      if (error instanceof ColonnadeError) return { ready: false, message: error.message };
      throw error;
    }
  }
}
