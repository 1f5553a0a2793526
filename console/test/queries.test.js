import test, { after, before } from "node:test";
import assert from "node:assert/strict";
import path from "node:path";
import { accessible, fits, open, startBrowser } from "./browser.js";
import { fill, startServer, tokenFor } from "./server.js";

let browser, server;
const secrets = {};
before(async () => {
  [browser, server] = await Promise.all([startBrowser(), startServer((dir) => {
    const file = path.join(dir, "tokens.json");
    for (const scope of ["read", "admin"]) secrets[scope] = tokenFor(file, scope);
    return ["--tokens", file, "--slow-query-ms", "1"];
  })]);
  const { api } = server;
  server.api = (method, at, body) => api(method, at, body, secrets.admin);
  await server.api("PUT", "/table/empty", { column_families: [{ name: "f" }] });
  await server.api("PUT", "/table/none");
  await fill(server, "ten", 10);
  await fill(server, "many", 20000);
  await server.api("PUT", "/table/pages", { column_families: [{ name: "title" }, { name: "body" }] });
  await server.api("POST", "/table/pages/write", { items: Array.from({ length: 2000 }, (_, i) => ({ row_key: "r" + i, cells: [
    { column_key: "title:", type: "string", value: "t" }, { column_key: "body:", type: "string", value: "x".repeat(400) }] })) });
});
after(async () => {
  await browser.close();
  await server.stop();
});

async function signedIn(scope, options) {
  const opened = await open(browser, server.url, options);
  await opened.page.addInitScript((secret) => sessionStorage.setItem("colonnade.token", secret), secrets[scope]);
  return opened;
}

test("a query is explained, and says so at every size", async () => {
  for (const [width, colorScheme] of [[1280, "light"], [375, "dark"]]) {
    const { page, at, close } = await signedIn("read", { viewport: { width, height: 900 }, colorScheme });
    await at("table/ten/browse");
    await page.getByRole("link", { name: "Explain" }).click();
    const picture = page.getByRole("region", { name: "Scanned against returned" });
    await picture.getByText("10 rows and 40 cells scanned, 10 rows and 40 cells returned").waitFor();
    await picture.getByText("100 %").waitFor();
    await page.getByRole("heading", { name: "Advice on locality groups" }).waitFor();
    await page.getByLabel("Add a condition").selectOption("Value matches");
    await page.getByLabel("Regular expression").fill("north.*");
    await page.getByRole("button", { name: "Explain" }).click();
    await picture.getByText("2 cells returned").waitFor();
    await accessible(page);
    await fits(page);
    await at("table/many/queries");
    await picture.getByText("200 rows and 800 cells scanned").waitFor();
    await picture.getByText("the limit of rows was reached").waitFor();
    await page.getByLabel("All pages").check();
    await picture.getByText("20,000 rows and 80,000 cells scanned").waitFor();
    await page.getByRole("button", { name: "curl" }).click();
    await page.getByRole("dialog").getByText('"explain": "only"').waitFor();
    await page.getByRole("dialog").getByText("Authorization: Bearer $COLONNADE_TOKEN").waitFor();
    await page.keyboard.press("Escape");
    await at("table/empty/queries");
    await picture.getByText("0 rows and 0 cells scanned").waitFor();
    await page.getByText(/there is no advice|No move is worth while/).waitFor();
    await accessible(page);
    await at("table/none/queries");
    await page.getByRole("heading", { name: "This table has no column family yet" }).waitFor();
    await close();
  }
});

test("what an explanation can tell is all drawn", async () => {
  const { page, at, close } = await signedIn("read");
  const level = { level: 6, files: 9, files_read: 2, files_left_out: { deleted: 0, times: 3, bloom_filter: 1, families: 0 }, bloom_filters_asked: 1,
    blocks: { read: 4, cached: 5 }, value_blocks: { read: 1, cached: 0 }, blocks_left_out: { times: 6, columns: 1 }, bytes_decompressed: 7 };
  const explain = { rows: { scanned: 100, returned: 1 }, cells: { scanned: 1000, returned: 3, tombstones: 7, dropped: { columns: 10, later: 1, deleted: 20, overwritten: 30, garbage: 40, times: 50, values: 60, filter: 70 } },
    pushed_down: ["rows", "filter_times"], checked: ["filter"], ended: { cell_limit: 1 }, micros: { receive: 1, open: 2, read: 3000, write: 4, total: 3007 },
    partitions: [{ name: "_dat_ten", cells_scanned: 900, bytes_scanned: 5000, memtables: 2, levels: [level] }, { name: "_lg_x", cells_scanned: 100, bytes_scanned: 50, memtables: 1, levels: [] }] };
  await page.route("**/scan", (route) => route.fulfill({ json: { result: { explain }, message: "", status: 200, time_ms: 0 } }));
  await at("table/ten/queries");
  const picture = page.getByRole("region", { name: "Scanned against returned" });
  await picture.getByText("0.30 %").waitFor();
  assert.match(await picture.getByRole("img").getAttribute("aria-label"), /returned 3, of other columns 10, written since 1, deleted 20, overwritten 30, garbage 40, of other times 50, of other values 60, left out by the filter 70, tombstones 7, cut off 709/);
  const partition = page.getByRole("region", { name: "Partition _dat_ten" });
  assert.match(await partition.textContent(), /read2 files.*left out4 files.*not come to3 files.*from files5 blocks.*from the cache5 blocks.*left out7 blocks/);
  await accessible(page);
  await close();
});

test("advice is applied by a click, by a token that may", async () => {
  for (let i = 0; i < 5; i++) await server.api("POST", "/table/pages/count", { column: { families: ["title"] } });
  const reader = await signedIn("read");
  await reader.at("table/pages/queries");
  assert.equal(await reader.page.getByRole("button", { name: "Move it" }).first().getAttribute("aria-disabled"), "true");
  await reader.page.getByText("This needs a token of scope admin; yours has scope read.").first().waitFor();
  await accessible(reader.page);
  await reader.close();
  const { page, at, close } = await signedIn("admin", { viewport: { width: 375, height: 800 } });
  await at("table/pages/queries");
  await page.getByText(/Move (title|body) into a group of its own/).waitFor();
  await accessible(page);
  await fits(page);
  await page.getByRole("button", { name: "Move it" }).first().click();
  await page.getByText("It stays readable and writable meanwhile").waitFor();
  await page.getByRole("button", { name: "Refresh" }).last().click();
  assert.equal((await server.api("GET", "/table/pages")).locality_groups.length, 1);
  await close();
});

test("slow queries are listed, and open as a picture", async () => {
  await server.api("POST", "/table/many/scan", { column: { families: ["meta"] }, cell: { value: { op: "=", type: "string", value: "harbour" } } });
  for (const [width, colorScheme] of [[1280, "light"], [375, "dark"], [3840, "light"]]) {
    const { page, at, close } = await signedIn("admin", { viewport: { width, height: 900 }, colorScheme });
    await at("");
    await page.getByRole("link", { name: "Queries", exact: true }).click();
    await page.getByText("Queries that took 1.00 ms or longer").waitFor();
    const line = page.getByRole("row").filter({ hasText: "scan of all rows, families meta, values string =" }).filter({ hasText: "4,000" }).first();
    await line.getByRole("link", { name: "many" }).waitFor();
    await accessible(page);
    await fits(page);
    await line.getByRole("button").focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("region", { name: "Scanned against returned" }).getByText("4,000 rows and 4,000 cells returned").waitFor();
    await dialog.getByText("by admin").waitFor();
    await accessible(page);
    await fits(page);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Refresh" }).click();
    await at("table/many/queries");
    await page.getByRole("region", { name: "Slow queries" }).last().getByText("values string =").first().waitFor();
    await close();
  }
  const reader = await signedIn("read");
  await reader.at("queries");
  await reader.page.getByText("This needs a token of scope admin; yours has scope read.").waitFor();
  await reader.close();
});

test("a server that keeps no slow queries says how to keep them", async (t) => {
  const plain = await startServer();
  t.after(plain.stop);
  const { page, at, close } = await open(browser, plain.url);
  await at("queries");
  await page.getByText("colonnade serve --slow-query-ms 100").waitFor();
  await accessible(page);
  await close();
});
