import test, { after, before } from "node:test";
import assert from "node:assert/strict";
import path from "node:path";
import { accessible, fits, open, startBrowser } from "./browser.js";
import { startServer, tokenFor } from "./server.js";
import { settings, written } from "../src/schema/gc.js";

let browser, server;
before(async () => {
  [browser, server] = await Promise.all([startBrowser(), startServer()]);
});
after(async () => {
  await browser.close();
  await server.stop();
});

test("settings are written as they are read", () => {
  for (const gc of [
    { version_limit: null, ttl_secs: null }, { version_limit: 3, ttl_secs: null }, { version_limit: null, ttl_secs: 90 }, { version_limit: null, ttl_secs: 7200 },
    { version_limit: 1, ttl_secs: 86400, mode: "intersection" }, { version_limit: 9223372036854775807n, ttl_secs: null },
  ]) assert.deepEqual(settings(written(gc)), gc);
  assert.equal(written({ version_limit: null, ttl_secs: 172800 }).unit, "days");
  assert.deepEqual(settings({ limit: "many", age: "1.5", unit: "days", mode: "union" }), { version_limit: "many", ttl_secs: "1.5", mode: "union" });
  assert.deepEqual(settings({ limit: " ", age: "-1", unit: "hours", mode: "union" }), { version_limit: null, ttl_secs: -3600 });
});

test("a table from its first family to its end", async () => {
  for (const [width, colorScheme] of [[1280, "light"], [375, "dark"], [3840, "light"]]) {
    const { page, at, close } = await open(browser, server.url, { viewport: { width, height: 900 }, colorScheme });
    const dialog = page.getByRole("dialog");
    await at("");
    await page.getByRole("button", { name: "New table" }).click();
    await dialog.getByLabel("Name of the table").fill("_web");
    await dialog.getByLabel("Name", { exact: true }).fill("title");
    await dialog.getByRole("button", { name: "Add a family" }).click();
    const second = dialog.getByRole("group", { name: "Family 2" });
    await second.getByLabel("Name").fill("title");
    await second.getByLabel("Stored in").selectOption("locality group 1");
    await dialog.getByRole("button", { name: "Add a family" }).click();
    await dialog.getByRole("button", { name: "Remove family 3" }).click();
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.locator(".field").filter({ hasText: "Name of the table" }).getByRole("alert").waitFor();
    await accessible(page);
    await fits(page);
    await dialog.getByLabel("Name of the table").fill("web");
    await dialog.getByRole("button", { name: "Create" }).click();
    await second.getByRole("alert").waitFor();
    assert.equal(await second.getByLabel("Name").getAttribute("aria-invalid"), "true");
    await second.getByLabel("Name").fill("body");
    await second.getByLabel("Newest versions to keep").fill("0");
    await dialog.getByRole("button", { name: "Create" }).click();
    await second.locator(".field").filter({ hasText: "Newest versions" }).getByRole("alert").waitFor();
    await second.getByLabel("Newest versions to keep").fill("3");
    await second.getByLabel("Age to keep").fill("2");
    await second.getByLabel("A version is garbage").selectOption("only if it is both");
    await dialog.getByRole("button", { name: "curl" }).click();
    await page.getByLabel("Command", { exact: true }).getByText("/v1/table/web").waitFor();
    await page.keyboard.press("Escape");
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "web", exact: true }).waitFor();
    const table = await server.api("GET", "/table/web");
    assert.deepEqual(table.column_families.map((f) => [f.name, f.gc_settings]), [
      ["body", { ttl_secs: 172800, version_limit: 3, mode: "intersection" }], ["title", { ttl_secs: null, version_limit: null }]]);
    assert.deepEqual(table.locality_groups.map((g) => g.column_families), [["body"]]);

    // What is there already is said at the field, and so is what a family is refused for.
    await at("");
    await page.getByRole("button", { name: "New table" }).click();
    await dialog.getByLabel("Name of the table").fill("web");
    await dialog.getByRole("button", { name: "Remove family 1" }).click();
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByRole("alert").getByText("already").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("link", { name: "web" }).click();

    await page.getByRole("button", { name: "New family" }).click();
    await dialog.getByLabel("Name").fill("title");
    await dialog.getByRole("button", { name: "Add" }).click();
    await dialog.getByRole("alert").getByText("already").waitFor();
    await dialog.getByLabel("Name").fill("anchor");
    await dialog.getByLabel("In a locality group of its own").check();
    await accessible(page);
    await dialog.getByRole("button", { name: "Add" }).click();
    await page.getByRole("rowheader", { name: "anchor" }).waitFor();
    assert.equal((await server.api("GET", "/table/web")).locality_groups.length, 2);

    // The figures stand before the change.
    const cells = Array.from({ length: 4 }, (_, i) => ({ column_key: "title:", type: "i64", value: i, time: 1000 + i }));
    await server.api("POST", "/table/web/write", { items: ["a", "b"].map((row_key) => ({ row_key, cells })) });
    await page.getByRole("button", { name: "Change the garbage of title" }).click();
    await dialog.getByLabel("Newest versions to keep").fill("some");
    await dialog.getByRole("button", { name: "Count what goes" }).click();
    await dialog.locator(".field").filter({ hasText: "Newest versions" }).getByRole("alert").waitFor();
    await dialog.getByLabel("Newest versions to keep").fill("1");
    await dialog.getByRole("button", { name: "Count what goes" }).click();
    await dialog.getByText("6 cells in 2 rows go").waitFor();
    assert.deepEqual((await server.api("GET", "/table/web")).column_families[2].gc_settings, { ttl_secs: null, version_limit: null });
    await accessible(page);
    await fits(page);
    await dialog.getByLabel("Newest versions to keep").fill("9");
    await dialog.getByText("6 cells in 2 rows go").waitFor({ state: "detached" });
    await dialog.getByRole("button", { name: "Count what goes" }).click();
    await dialog.getByText("Nothing goes of what reads return now").waitFor();
    await dialog.getByLabel("Newest versions to keep").fill("1");
    await dialog.getByRole("button", { name: "Count what goes" }).click();
    await dialog.getByRole("button", { name: "Change", exact: true }).click();
    await page.getByRole("cell", { name: "older than the newest" }).waitFor();

    await page.getByRole("button", { name: "Protect" }).click();
    await page.getByRole("button", { name: "Lift the protection" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Drop table" }).getAttribute("aria-disabled"), "true");
    await page.getByRole("button", { name: "Drop title" }).click({ force: true });
    assert.equal(await dialog.count(), 0);
    await accessible(page);
    await page.getByRole("button", { name: "Lift the protection" }).click();
    await page.getByRole("button", { name: "Protect", exact: true }).waitFor();
    await page.locator(".settings").getByRole("button", { name: "Change" }).click();
    await dialog.getByLabel("Age to keep").fill("0");
    await dialog.getByRole("button", { name: "Change" }).click();
    await dialog.getByRole("alert").waitFor();
    await dialog.getByLabel("Age to keep").fill("12");
    await dialog.getByLabel("Unit of age").selectOption("hours");
    await dialog.getByRole("button", { name: "Change" }).click();
    await page.getByText("older than 12 hours").waitFor();

    await page.getByRole("button", { name: "Drop anchor" }).click();
    const drop = dialog.getByRole("button", { name: "Drop the family" });
    await dialog.getByLabel(/confirm/).fill("anchors");
    assert.ok(await drop.isDisabled());
    await page.keyboard.press("Enter");
    await dialog.getByLabel(/confirm/).fill("anchor");
    await accessible(page);
    await drop.click();
    await page.getByRole("rowheader", { name: "anchor" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Drop table" }).click();
    await dialog.getByLabel(/confirm/).fill("web");
    await fits(page);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "There is no table yet" }).waitFor();
    await close();
  }
});

test("what a token does not allow is not offered, and the page says why", async (t) => {
  const secrets = {};
  const guarded = await startServer((dir) => {
    const file = path.join(dir, "tokens.json");
    for (const scope of ["read", "write", "admin"]) secrets[scope] = tokenFor(file, scope, scope === "admin" ? "*" : "w*b");
    return ["--tokens", file];
  });
  t.after(guarded.stop);
  await guarded.api("PUT", "/table/web", { column_families: [{ name: "f" }] }, secrets.admin);
  await guarded.api("POST", "/table/web/write", { items: [{ row_key: "a", cells: [{ column_key: "f:q", type: "i64", value: 1 }] }] }, secrets.admin);
  const admins = ["New family", "Change the garbage of f", "Drop f", "Protect", "Drop table"];
  const writers = ["New row", "Add a cell", "Delete row", "Edit q"];
  for (const [scope, withheld] of [["read", [...admins, ...writers]], ["write", admins], ["admin", []]]) {
    const { page, at, close } = await open(browser, guarded.url);
    await page.addInitScript((secret) => sessionStorage.setItem("colonnade.token", secret), secrets[scope]);
    await at("");
    await page.getByText(`${scope} · ${scope}`).waitFor();
    const state = (name) => page.getByRole("button", { name, exact: true }).first().getAttribute("aria-disabled");
    assert.equal(await state("New table"), scope === "admin" ? null : "true");
    await at("table/web");
    for (const name of admins) assert.equal(await state(name), withheld.includes(name) ? "true" : null, `${name} for ${scope}`);
    if (scope !== "admin") {
      await page.getByText(`This needs a token of scope admin; yours has scope ${scope}.`).last().waitFor();
      await page.getByRole("button", { name: "New family" }).focus();
      await page.keyboard.press("Enter");
      assert.equal(await page.getByRole("dialog").count(), 0);
    }
    await accessible(page);
    await at("table/web/browse");
    await page.locator(".grid-row:not(.waiting)").first().click();
    await page.getByRole("button", { name: "Delete row" }).waitFor();
    await page.getByRole("button", { name: "Edit q" }).waitFor();
    for (const name of writers) assert.equal(await state(name), withheld.includes(name) ? "true" : null, `${name} for ${scope}`);
    await accessible(page);
    await close();
  }
});

test("a table is compacted", async () => {
  await server.api("PUT", "/table/versions", { column_families: [{ name: "f", gc_settings: { version_limit: 1 } }] });
  for (let time = 1; time <= 3; time++) {
    await server.api("POST", "/table/versions/write", { items: [{ row_key: "a", cells: [{ column_key: "f:q", type: "i64", value: time, time }] }] });
  }
  const { page, at, close } = await open(browser, server.url);
  await at("table/versions");
  await page.getByRole("button", { name: "Compact" }).click();
  for (;;) { // until it has ended
    const table = await server.api("GET", "/table/versions");
    if (table.partitions.every((p) => p.compaction === null) && table.partitions[1].cells === 1) break;
    await page.waitForTimeout(50);
  }
  await page.getByText("1 cell", { exact: false }).first().waitFor();
  await page.getByText("this is for when the space is wanted now").waitFor();
  await close();

  // What takes longer is drawn while it goes on.
  const slow = await open(browser, server.url);
  let asked = 0;
  await slow.page.route("**/v1/table/versions", async (route) => {
    const answer = await route.fetch();
    const json = await answer.json();
    if (asked++ === 0) json.result.partitions[1].compaction = { bytes_left: 2048 };
    await route.fulfill({ json });
  });
  await slow.at("table/versions");
  await slow.page.getByText("The files are being rewritten, 2.0 KiB are left").waitFor();
  await slow.page.getByText("compacting, 2.0 KiB left").waitFor();
  await accessible(slow.page);
  await slow.page.getByText("this is for when the space is wanted now").waitFor();
  await slow.close();
});
