// Inbox: the newest messages of a user first, each read once.
//
// The key is the user, then the time counted down from a far one: a scan by prefix finds the newest first. A message is
// marked as read by check-and-mutate, so that of two devices one has read it first.

import { Colonnade, type Filter } from "@colonnade-db/client";

const db = new Colonnade(process.env.COLONNADE_URL ?? "http://127.0.0.1:9876", { token: process.env.COLONNADE_TOKEN });
const inbox = await db.createTable("inbox", { families: { msg: {}, state: { versionLimit: 1 } } });

const far = 10n ** 16n;
const keyOf = (user: string, micros: bigint) => `${user}/${String(far - micros).padStart(16, "0")}`;

async function deliver(user: string, micros: bigint, from: string, subject: string) {
  const key = keyOf(user, micros);
  await inbox.write({ key, cells: { "msg:from": from, "msg:subject": subject, "state:": "unread" } });
  return key;
}
await deliver("ann", 1767225600000000n, "bob", "Happy new year");
await deliver("ann", 1767312000000000n, "eve", "Lunch?");
const last = await deliver("ann", 1767398400000000n, "bob", "Tomorrow");
await deliver("anna", 1767398400000000n, "bob", "Not for ann");

// A page of the newest messages. The token goes to the browser, and comes back for the next page.
const query = { prefix: "ann/", families: ["msg"], limit: 2 };
const page = await inbox.page(query);
for (const m of page.rows) console.log(m.get("msg:from"), m.get("msg:subject"));
// → bob Tomorrow
// → eve Lunch?
const next = await inbox.page({ ...query, pageToken: page.nextPageToken });
console.log(next.rows[0]?.get("msg:subject"), next.nextPageToken); // → Happy new year undefined

// Two devices open a message: the one that finds it unread has read it.
const unread: Filter = { chain: { filters: [{ familyNameRegexFilter: "state" }, { valueRegexFilter: "unread" }] } };
const open = () => inbox.checkAndMutate(last, { if: unread, then: [{ set: { "state:": "read" } }] });
const devices = await Promise.all([open(), open()]);
console.log(devices.filter((d) => d.matched).length, "was first"); // → 1 was first

// How many are left, without reading them.
console.log((await inbox.count({ prefix: "ann/", filter: unread })).rowCount, "unread"); // → 2 unread
