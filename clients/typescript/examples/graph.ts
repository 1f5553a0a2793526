// Graph: who follows whom.
//
// A row is a person, an edge a column: the qualifier is the person at its other end, the value what is known of the edge.
// An edge is written at both ends in one request, which is applied as a whole.

import { Colonnade, columnKey } from "@colonnade-db/client";

const db = new Colonnade(process.env.COLONNADE_URL ?? "http://127.0.0.1:9876", { token: process.env.COLONNADE_TOKEN });
const people = await db.createTable("people", { families: { follows: { versionLimit: 1 }, followers: { versionLimit: 1 } } });

async function follow(from: string, to: string, since: string) {
  await people.write([
    { key: from, cells: { [`follows:${to}`]: since } },
    { key: to, cells: { [`followers:${from}`]: since } },
  ]);
}
await follow("ann", "bob", "2024");
await follow("ann", "eve", "2025");
await follow("bob", "dan", "2023");
await follow("eve", "dan", "2025");
await follow("eve", "ann", "2026");

async function edges(family: "follows" | "followers", ...names: string[]): Promise<string[]> {
  const rows = await people.getMany(names, { families: [family] });
  return rows.flatMap((row) => row?.cells.map((edge) => edge.qualifier) ?? []);
}
console.log(await edges("follows", "ann")); // → [ 'bob', 'eve' ]
console.log(await edges("followers", "dan")); // → [ 'bob', 'eve' ]

// Two hops: one request for each hop, however many rows.
const friends = await edges("follows", "ann");
const suggestions = new Set(await edges("follows", ...friends));
for (const known of ["ann", ...friends]) suggestions.delete(known);
console.log([...suggestions]); // → [ 'dan' ]

// One edge, without the others of its row.
const edge = columnKey("follows", "eve");
console.log((await people.get("ann", { columns: [edge] }))?.get(edge)); // → 2025

// An edge ends at both ends.
await people.mutate([
  { key: "ann", mutations: [{ deleteColumn: "follows:bob" }] },
  { key: "bob", mutations: [{ deleteColumn: "followers:ann" }] },
]);
console.log(await edges("follows", "ann"), await edges("followers", "bob")); // → [ 'eve' ] []
