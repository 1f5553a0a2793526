// What a table is made of: families, locality groups, settings.

import type { Advice, KeySpace, Move, TableInfo } from "./api.js";
import { camel } from "./json.js";
import { known } from "./strict.js";
import { encodeTimes, type Times } from "./time.js";
import type { CallOptions, Transport } from "./transport.js";

/** Which versions of a family's cells are garbage, which reads do not return. */
export interface GcSettings {
  /** A version of this age is garbage. */
  readonly ttlSecs?: number | null;
  /** So are all but the newest versions of each cell. */
  readonly versionLimit?: number | null;
  /** "union", the default: either reason is enough. "intersection": both are needed. */
  readonly mode?: "union" | "intersection";
}

/** Families by name, with their settings; {} takes those of the table. */
export type Families = Readonly<Record<string, GcSettings>>;

export interface TableSpec {
  readonly families?: Families;
  /** Families that get a locality group, which is stored apart. */
  readonly groups?: ReadonlyArray<readonly string[]>;
}

export interface TableSettings {
  /** Keeps the table and its families from being deleted. */
  readonly deletionProtection?: boolean;
  /** The settings of families that are created without any from now on. */
  readonly defaultGcSettings?: GcSettings;
}

/** The part of a Table that changes its schema. A change without an answer is not sent again: see outcomeUnknown. */
export class Schema {
  protected readonly path: string;

  /** @internal */
  constructor(
    protected readonly transport: Transport,
    readonly name: string,
  ) {
    this.path = `/v1/table/${encodeURIComponent(name)}`;
  }

  /** Creates the table, with all of its families or not at all. */
  async create(spec: TableSpec = {}, options?: CallOptions): Promise<void> {
    known(spec, "a table to create", "families", "groups");
    await this.alter("PUT", "", { columnFamilies: listOf(spec.families ?? {}), localityGroups: spec.groups }, options);
  }

  /** Describes the table and its partitions. */
  async describe(options?: CallOptions): Promise<TableInfo> {
    return camel(await this.transport.call({ kind: "read", method: "GET", path: this.path }, options)) as TableInfo;
  }

  /** Changes settings of the table. One that is left out stays as it is. */
  async configure(settings: TableSettings, options?: CallOptions): Promise<void> {
    await this.alter("PATCH", "", settings, options);
  }

  /** Deletes the table. A later one of the name starts empty. */
  async drop(options?: CallOptions): Promise<void> {
    await this.alter("DELETE", "", undefined, options);
  }

  /** Creates families, all or none; with a group, in a locality group of their own. */
  async createFamilies(families: Families, options?: CallOptions & { readonly group?: boolean }): Promise<void> {
    await this.alter("POST", "/column-family", { columnFamilies: listOf(families), localityGroup: options?.group }, options);
  }

  /** Replaces the settings of a family as a whole. */
  async setGcSettings(family: string, settings: GcSettings, options?: CallOptions): Promise<void> {
    await this.alter("PATCH", familyPath(family), { gcSettings: settings }, options);
  }

  /** Counts what would become garbage under other settings, of what reads return now. */
  async previewGcSettings(
    family: string,
    settings: GcSettings,
    options?: CallOptions,
  ): Promise<{ rowCount: number; cellCount: number; bytes: number }> {
    const body = { gcSettings: settings, dryRun: true };
    const result = await this.transport.call({ kind: "read", method: "PATCH", path: this.path + familyPath(family), body }, options);
    return camel(result) as { rowCount: number; cellCount: number; bytes: number };
  }

  /**
   * Begins to move a family to a locality group: its id, "new" for one of its own, or null for the default partition.
   * It returns how far the move is, or undefined if the family is there.
   */
  async moveFamily(family: string, group: string | null, options?: CallOptions): Promise<Move | undefined> {
    const move = camel(await this.alter("PATCH", familyPath(family), { localityGroup: group }, options)) as Move;
    return "rowCount" in move ? move : undefined;
  }

  /** Deletes a family and its cells. A later one of the name starts empty. */
  async dropFamily(family: string, options?: CallOptions): Promise<void> {
    await this.alter("DELETE", familyPath(family), undefined, options);
  }

  /** Which families should move to other locality groups, by the queries that were answered. */
  async advice(options?: CallOptions): Promise<Advice> {
    return camel(await this.transport.call({ kind: "read", method: "GET", path: `${this.path}/advice` }, options)) as Advice;
  }

  /** Where in the row keys the load of the table was, as far as the server remembers it. */
  async keySpace(times?: Times, options?: CallOptions): Promise<KeySpace> {
    const parameters = Object.entries(encodeTimes(times) ?? {}).filter(([, time]) => time !== undefined);
    const path = `${this.path}/keyspace?${new URLSearchParams(parameters.map(([name, time]) => [name, String(time)]))}`;
    return camel(await this.transport.call({ kind: "read", method: "GET", path }, options)) as KeySpace;
  }

  private alter(
    method: "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    body: object | undefined,
    options: CallOptions | undefined,
  ): Promise<unknown> {
    return this.transport.call({ kind: "once", method, path: this.path + path, body }, options);
  }
}

function familyPath(family: string): string {
  return `/column-family/${encodeURIComponent(family)}`;
}

function listOf(families: Families): object[] {
  return Object.entries(families).map(([name, gc]) => ({ name, gcSettings: Object.keys(gc).length > 0 ? gc : undefined }));
}
