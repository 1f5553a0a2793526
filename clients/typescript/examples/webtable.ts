// Web table: pages of a crawler.
//
// The key is the URL with its domain reversed, so that all pages of a domain, and of the domains below it, are side by
// side. Contents are kept in three versions. Links are columns: the qualifier is the URL that a link comes from.

import { Colonnade } from "@colonnade-db/client";

const db = new Colonnade(process.env.COLONNADE_URL ?? "http://127.0.0.1:9876", { token: process.env.COLONNADE_TOKEN });
const web = await db.createTable("web", {
  families: { title: { versionLimit: 1 }, contents: { versionLimit: 3 }, anchor: {} },
  groups: [["contents"]],
});

function keyOf(url: string): string {
  const { hostname, pathname } = new URL(url);
  return hostname.split(".").reverse().join(".") + pathname;
}
console.log(keyOf("https://www.example.org/about")); // → org.example.www/about

async function crawled(url: string, title: string, html: string, links: Record<string, string>) {
  await web.write([
    { key: keyOf(url), cells: { "title:": title, "contents:": html } },
    ...Object.entries(links).map(([to, text]) => ({ key: keyOf(to), cells: { [`anchor:${url}`]: text } })),
  ]);
}
await crawled("https://www.example.org/", "Example", "<p>one", { "https://docs.example.org/": "the manual" });
await crawled("https://www.example.org/", "Example", "<p>two", {});
await crawled("https://docs.example.org/", "Manual", "<p>how", { "https://www.example.org/": "home" });
await crawled("https://www.example.net/", "Other", "<p>else", { "https://docs.example.org/": "good docs" });

// All of a domain. Contents are in a group of their own, which this does not read.
for await (const row of web.scan({ prefix: "org.example.", families: ["title"] })) console.log(row.key, row.get("title:"));
// → org.example.docs/ Manual
// → org.example.www/ Example

// What a page was, newest first.
const page = await web.get("org.example.www/", { families: ["contents"] });
console.log(page?.versions("contents:").map((v) => v.value)); // → [ '<p>two', '<p>one' ]

// Who links to a page, and with which words.
const linked = await web.get(keyOf("https://docs.example.org/"), { families: ["anchor"] });
for (const link of linked?.cells ?? []) console.log(link.qualifier, link.value);
// → https://www.example.net/ good docs
// → https://www.example.org/ the manual
