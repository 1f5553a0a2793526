// Client of Colonnade, a wide-column table service. README.md is a tour.

export type { Aggregate, AggregateFunction, AggregateQuery, AggregateResults, Group } from "./aggregate.js";
export type {
  Advice,
  Count,
  Explanation,
  Filter,
  KeySpace,
  Move,
  Statistics,
  StoredGcSettings,
  TableInfo,
  TableSummary,
  TokenInfo,
} from "./api.js";
export type { Bytes } from "./bytes.js";
export { Colonnade } from "./client.js";
export { ColonnadeError } from "./error.js";
export type { CellSelection, ColumnSelection, Query, Range, RowSelection, ScanQuery } from "./query.js";
export { type BareCell, type Cell, columnKey, type JsonCell, type Row } from "./row.js";
export type { Scan } from "./scan.js";
export type { Families, GcSettings, TableSettings, TableSpec } from "./schema.js";
export type { Check, Deletion, Page, PageQuery, Table } from "./table.js";
export { dateOf, type Time, type Times } from "./time.js";
export type { CallOptions, ChangeOptions, ClientOptions } from "./transport.js";
export { byte, f32, i32, type Type, type TypedValue, type Value, type ValueInput, type ValueTypes } from "./value.js";
export type { CellInput, Cells, Mutation, RowInput, RowMutations, Rule } from "./write.js";
