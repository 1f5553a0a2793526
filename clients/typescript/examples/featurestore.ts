// Feature store: what models know of users.
//
// A row is a user, a column a feature, and its versions are what the feature was at each time. Features that are read
// with every request are in one locality group, embeddings, which are large, in another: a read of the first does not
// touch the second.

import { Colonnade } from "@colonnade-db/client";

const db = new Colonnade(process.env.COLONNADE_URL ?? "http://127.0.0.1:9876", { token: process.env.COLONNADE_TOKEN });
const users = await db.createTable("features", {
  families: { profile: { versionLimit: 100 }, embedding: { versionLimit: 1 } },
  groups: [["profile"], ["embedding"]],
});

// Features with the times at which they became true, not of the write.
const june = new Date("2026-06-01");
const july = new Date("2026-07-01");
const vector = Float32Array.of(0.25, -1, 3);
await users.write([
  {
    key: "user-1",
    cells: [
      { column: "profile:orders", value: 3n, time: june },
      { column: "profile:orders", value: 5n, time: july },
      { column: "profile:country", value: "is", time: june },
      { column: "embedding:v1", value: new Uint8Array(vector.buffer), time: june },
    ],
  },
  { key: "user-2", cells: [{ column: "profile:orders", value: 1n, time: july }] },
]);

// Serving: many users at once, as of one moment, the newest version of each feature.
const online = await users.getMany(["user-2", "user-1", "user-9"], { families: ["profile"], cellsPerColumn: 1 });
console.log(online.map((user) => user?.get("profile:orders", "i64"))); // → [ 1n, 5n, undefined ]

// Training: what was known at a past time, so that no label leaks from the future.
const then = await users.get("user-1", { families: ["profile"], times: { end: july }, cellsPerColumn: 1 });
console.log(then?.get("profile:orders"), then?.get("profile:country")); // → 3n is

// A vector is bytes.
const bytes = (await users.get("user-1", { columns: ["embedding:v1"] }))?.get("embedding:v1", "bytes");
if (bytes) console.log(Array.from(new Float32Array(bytes.buffer))); // → [ 0.25, -1, 3 ]

// The scan of one family reads one group.
const scan = users.scan({ families: ["profile"], cellsPerColumn: 1 });
await scan.toArray();
console.log(scan.stats?.affectedLocalityGroups, "group"); // → 1 group
