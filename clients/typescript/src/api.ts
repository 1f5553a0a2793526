// Made by tools/generate.js of the server's OpenAPI document. Do not edit.

import type { Bytes } from "./bytes.js";
import type { Time } from "./time.js";

/** A filter tree. docs/api.md says what each filter does. An object has one of these fields. */
export type Filter =
  | { applyLabelTransformer: string }
  | { blockAllFilter: true }
  | { cellsPerColumnLimitFilter: number }
  | { cellsPerRowLimitFilter: number }
  | { cellsPerRowOffsetFilter: number }
  | { chain: {
    filters: Filter[];
  } }
  | { columnQualifierRegexFilter: Bytes }
  | { columnRangeFilter: {
    endQualifierClosed?: Bytes;
    endQualifierOpen?: Bytes;
    familyName: string;
    startQualifierClosed?: Bytes;
    startQualifierOpen?: Bytes;
  } }
  | { condition: {
    falseFilter?: Filter;
    predicateFilter: Filter;
    trueFilter?: Filter;
  } }
  | { familyNameRegexFilter: string }
  | { interleave: {
    filters: Filter[];
  } }
  | { passAllFilter: true }
  | { rowKeyRegexFilter: Bytes }
  | { rowSampleFilter: number }
  | { sink: true }
  | { stripValueTransformer: true }
  | { timestampRangeFilter: {
    endTimestampMicros?: Time;
    startTimestampMicros?: Time;
  } }
  | { valueRangeFilter: {
    endValueClosed?: Bytes;
    endValueOpen?: Bytes;
    startValueClosed?: Bytes;
    startValueOpen?: Bytes;
  } }
  | { valueRegexFilter: Bytes };

/** What a read has returned, and what the server has stepped over for it. */
export interface Statistics {
  affectedLocalityGroups: number;
  bytesScanned: number;
  cellCount: number;
  cellsScanned: number;
  micros: number;
  microsPerRow: number;
  rowCount: number;
  rowsScanned: number;
}

/** How many rows and versions a query selects, and what it cost to count them. */
export interface Count {
  bytesScanned: number;
  cellCount: number;
  cellsScanned: number;
  micros: number;
  microsPerRow: number;
  rowCount: number;
}

/** Which versions of a family are garbage; null is no limit. */
export interface StoredGcSettings {
  mode?: "intersection";
  ttlSecs: number | null;
  versionLimit: number | null;
}

/** How far a family is on its way to another locality group. */
export interface Move {
  bytes: number;
  cellCount: number;
  error?: string;
  from: string | null;
  localityGroup: string | null;
  rowCount: number;
}

/** A table as listed. */
export interface TableSummary {
  columnFamilies: Array<{
    gcSettings: StoredGcSettings;
    moving?: Move;
    name: string;
  }>;
  defaultGcSettings?: StoredGcSettings;
  deletionProtection?: true;
  diskSpaceInBytes: number;
  localityGroups: Array<{
    columnFamilies: string[];
    id: string;
  }>;
  name: string;
  partitions: Array<{
    name: string;
    path: string;
  }>;
}

/** A table with the state of its partitions. */
export interface TableInfo {
  columnFamilies: Array<{
    gcSettings: StoredGcSettings;
    moving?: Move;
    name: string;
  }>;
  defaultGcSettings?: StoredGcSettings;
  deletionProtection?: true;
  diskSpaceInBytes: number;
  localityGroups: Array<{
    columnFamilies: string[];
    id: string;
  }>;
  name: string;
  partitions: Array<{
    cells: number;
    compaction: {
      bytesLeft: number;
    } | null;
    diskSpaceInBytes: number;
    error: string | null;
    levels: Array<{
      bytes: number;
      files: number;
    }>;
    memtableBytes: number;
    name: string;
    path: string;
  }>;
}

/** Which families should move to other locality groups, going by the queries that the table has answered. */
export interface Advice {
  bytesPerPartition: number;
  columnFamilies: Array<{
    bytes: number;
    localityGroup: string | null;
    name: string;
  }>;
  moves: Array<{
    body: {
      localityGroup: string | null;
    };
    bytes: number;
    columnFamily: string;
    savesBytes: number;
    savesPartitions: number;
  }>;
  otherQueryCount: number;
  queries: Array<{
    bytesRead: number;
    bytesSteppedOver: number;
    columnFamilies: string[];
    partitionsRead: number;
    queryCount: number;
  }>;
  since: number;
}

/** What the token of a client allows. */
export interface TokenInfo {
  expires: number | null;
  id: string;
  name: string;
  scope: "read" | "write" | "admin";
  tables: string[];
}

/** Where in the row keys of a table the load was, over time. The counts are estimates, made of samples. */
export interface KeySpace {
  ranges: Array<{
    end?: Bytes;
    start?: Bytes;
  }>;
  windows: Array<{
    end: number;
    loads: Array<{
      bytesRead: number;
      bytesWritten: number;
      range: number;
      rowsRead: number;
      rowsWritten: number;
    }>;
    start: number;
  }>;
}

/** What the server did for a query. The numbers are for people, and may change with any release. */
export interface Explanation {
  cells: {
    dropped: {
      columns: number;
      deleted: number;
      filter: number;
      garbage: number;
      later: number;
      overwritten: number;
      times: number;
      values: number;
    };
    returned: number;
    scanned: number;
    tombstones: number;
  };
  checked: Array<"rows" | "families" | "columns" | "times" | "values" | "versions" | "without_values" | "filter" | "filter_rows" | "filter_columns" | "filter_times" | "filter_limits">;
  ended: {
    cellLimit?: number;
    failed?: number;
    filterRows?: number;
    nothingSelected?: number;
    offset?: number;
    rowLimit?: number;
    rows?: number;
    stopped?: number;
  };
  micros: {
    open: number;
    read: number;
    receive: number;
    total: number;
    write: number;
  };
  partitions: Array<{
    bytesScanned: number;
    cellsScanned: number;
    levels: Array<{
      blocks: {
        cached: number;
        read: number;
      };
      blocksLeftOut: {
        columns: number;
        times: number;
      };
      bloomFiltersAsked: number;
      bytesDecompressed: number;
      files: number;
      filesLeftOut: {
        bloomFilter: number;
        deleted: number;
        families: number;
        times: number;
      };
      filesRead: number;
      level: number;
      valueBlocks: {
        cached: number;
        read: number;
      };
    }>;
    memtables: number;
    name: string;
  }>;
  pushedDown: Array<"rows" | "families" | "columns" | "times" | "values" | "versions" | "without_values" | "filter" | "filter_rows" | "filter_columns" | "filter_times" | "filter_limits">;
  rows: {
    returned: number;
    scanned: number;
  };
}
