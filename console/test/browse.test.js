import test, { after, before } from "node:test";
import assert from "node:assert/strict";
import { accessible, fits, open, startBrowser } from "./browser.js";
import { fill, startServer } from "./server.js";

// How many rows the large table has. `CONSOLE_ROWS=1000000 make console-test` takes some minutes.
const many = Number(process.env.CONSOLE_ROWS ?? 40000);

let browser, server;
before(async () => {
  [browser, server] = await Promise.all([startBrowser(), startServer()]);
  await server.api("PUT", "/table/empty", { column_families: [{ name: "f" }] });
  await fill(server, "ten", 10);
  await fill(server, "many", many);
});
after(async () => {
  await browser.close();
  await server.stop();
});

const rows = (page) => page.locator(".grid-row:not(.waiting)");
const counted = (page, text) => page.locator(".counted").filter({ hasText: text }).waitFor();

test("an empty table takes its first row", async () => {
  const { page, at, close } = await open(browser, server.url);
  await at("table/empty/browse");
  await page.getByRole("heading", { name: "This table is empty" }).waitFor();
  await accessible(page);
  await page.getByRole("button", { name: "New row" }).last().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Row key").fill("a");
  await dialog.getByLabel("Type").selectOption("i64");
  await dialog.getByLabel("Value").fill("9007199254740993");
  await accessible(page);
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("complementary", { name: "Row" }).getByText("9007199254740993").first().waitFor();
  await page.getByRole("button", { name: "New row" }).first().click();
  await dialog.getByLabel("Row key").fill("a");
  await dialog.getByLabel("Value").fill("x");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("There is such a row already").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  const { rows: [row] } = await server.api("POST", "/table/empty/scan", {});
  assert.equal(row.columns.f[""].length, 1);
  await close();
});

test("rows by prefix, range and expression, and by conditions", async () => {
  const { page, at, close } = await open(browser, server.url);
  await at("table/ten/browse");
  await counted(page, "10 rows");
  assert.equal(await rows(page).count(), 10);
  const show = () => page.getByRole("button", { name: "Show", exact: true }).click();
  await page.getByRole("combobox", { name: "Rows" }).selectOption("prefix");
  await page.getByLabel("Prefix").fill("sensor/003");
  await show();
  await counted(page, /^1 row/);
  await page.getByRole("combobox", { name: "Rows" }).selectOption("range");
  await page.getByLabel("First row").fill("sensor/002");
  await page.getByLabel("End, not included").fill("sensor/005");
  await page.keyboard.press("Enter");
  await counted(page, /^3 rows/);
  await page.getByRole("combobox", { name: "Rows" }).selectOption("regex");
  await page.getByLabel("Regular expression of the row key").fill("sensor/00[0-4]/.*");
  await show();
  await counted(page, /^5 rows/);
  await page.getByLabel("Last first").check();
  await rows(page).first().getByText("sensor/004/").waitFor();
  await page.getByRole("combobox", { name: "Rows" }).selectOption("all");
  await page.getByLabel("Last first").uncheck();
  const add = (kind) => page.getByLabel("Add a condition").selectOption(kind);
  await add("Value compares");
  await page.getByLabel("Type").selectOption("i64");
  await page.getByLabel("Comparison").selectOption(">");
  await page.getByLabel("Value", { exact: true }).fill("48");
  await show();
  await counted(page, /^3 rows/);
  await page.getByLabel("Value", { exact: true }).fill("many");
  await show();
  await page.getByRole("alert").getByText(/cell\.value/).waitFor();
  await page.getByRole("button", { name: "Remove: Value compares" }).click();
  await counted(page, "10 rows");
  await add("Families");
  await page.getByLabel("meta").check();
  await show();
  await page.getByRole("columnheader", { name: "reading" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Remove: Families" }).click();
  await add("Column");
  await page.getByLabel("Column key").fill("reading:c*");
  await show();
  await counted(page, "10 rows");
  await page.getByRole("button", { name: "Remove: Column" }).click();
  await add("Value matches");
  await page.getByLabel("Regular expression").fill("north.*");
  await show();
  await counted(page, /^2 rows/);
  await page.reload();
  await counted(page, /^2 rows/);
  await page.getByRole("button", { name: "Remove: Value matches" }).click();
  await add("Qualifier matches");
  await page.getByLabel("Regular expression").fill("none");
  await show();
  await page.getByRole("heading", { name: "No row fits" }).waitFor();
  await accessible(page);
  await page.getByRole("button", { name: "Show all rows" }).click();
  await counted(page, "10 rows");
  await add("Written between");
  await page.getByLabel("Until").fill("2020-01-01T00:00:00");
  await show();
  await page.getByRole("heading", { name: "No row fits" }).waitFor();
  await close();
});

test("requests are shown as commands", async () => {
  const { page, at, close } = await open(browser, server.url);
  await at("table/ten/browse");
  await page.getByRole("button", { name: "curl" }).click();
  const command = await page.getByRole("dialog").locator("pre").textContent();
  assert.match(command, /^curl '.*\/v1\/table\/ten\/scan' \\\n {2}-d '\{/);
  await page.getByRole("dialog").getByRole("button", { name: "Copy" }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), command);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await rows(page).first().click();
  const panel = page.getByRole("complementary", { name: "Row" });
  await panel.getByRole("button", { name: "curl" }).click();
  await page.getByRole("dialog").getByText("/v1/table/ten/rows").waitFor();
  await page.getByRole("button", { name: "Close", exact: true }).click();
  await close();
});

test("a row: versions, typed editing, lost updates", async () => {
  const key = "sensor/005/00000005";
  const write = (value) => server.api("POST", "/table/ten/write", { items: [{ row_key: key, cells: [{ column_key: "reading:count", type: "i64", value }] }] });
  await write(1);
  const { page, at, close } = await open(browser, server.url);
  await at("table/ten/browse");
  await rows(page).filter({ hasText: key }).click();
  const panel = page.getByRole("complementary", { name: "Row" });
  await panel.getByRole("heading", { name: key }).waitFor();
  await panel.getByRole("button", { name: "count", exact: true }).click();
  assert.equal(await panel.locator(".tick").count(), 2);
  await panel.locator(".tick").last().click();
  await accessible(page);
  const edit = panel.getByRole("form", { name: "Edit a cell" });
  const column = (name) => panel.locator(".column").filter({ has: page.getByRole("button", { name, exact: true }) });
  await panel.getByRole("button", { name: "Edit count" }).click();
  await edit.getByLabel("Value").fill("2");
  await write(10);
  await edit.getByRole("button", { name: "Save" }).click();
  await panel.getByText("Somebody was faster").waitFor();
  await accessible(page);
  await panel.getByRole("button", { name: "Go on from that" }).click();
  assert.equal(await edit.getByLabel("Value").inputValue(), "10");
  await edit.getByLabel("Value").fill("11");
  await edit.getByRole("button", { name: "curl" }).click();
  await page.getByRole("dialog").getByText("check-and-mutate").waitFor();
  await page.keyboard.press("Escape");
  await edit.getByRole("button", { name: "Save" }).click();
  await edit.waitFor({ state: "detached" });
  const count = async () => (await server.api("POST", "/table/ten/scan", { row: { key }, column: { key: "reading:count" } })).rows[0].columns.reading.count.map((v) => v.value);
  assert.deepEqual(await count(), [11, 10, 1, 35]);
  await panel.locator(".tick").nth(3).waitFor(); // the row has been loaded again
  await panel.getByRole("button", { name: /^Write again/ }).last().click();
  await edit.getByRole("button", { name: "Save" }).click();
  await edit.waitFor({ state: "detached" });
  assert.deepEqual(await count(), [35, 11, 10, 1, 35]);
  await panel.getByRole("button", { name: "Edit count" }).click();
  await edit.getByLabel("Value").fill("much");
  await edit.getByRole("button", { name: "Save" }).click();
  await edit.getByText("This did not work").waitFor();
  await edit.getByRole("button", { name: "Cancel" }).click();
  // Of each type a value comes back as it was written.
  for (const [type, text, want] of [["f64", "0.5", 0.5], ["i32", "-7", -7], ["f32", "1.5", 1.5], ["byte", "200", 200], ["boolean", "true", true], ["bytes", "/wA=", "/wA="], ["string", "zwei\nZeilen", "zwei\nZeilen"]]) {
    await panel.getByRole("button", { name: "Add a cell" }).click();
    const fresh = panel.getByRole("form", { name: "New cell" });
    await fresh.getByLabel("Family").selectOption("meta");
    await fresh.getByLabel("Qualifier").fill("t-" + type);
    await fresh.getByLabel("Type").selectOption(type);
    if (type === "boolean") await fresh.getByLabel("Value").selectOption(text);
    else await fresh.getByLabel("Value").fill(text);
    await fresh.getByRole("button", { name: "Save" }).click();
    await fresh.waitFor({ state: "detached" });
    await panel.getByRole("button", { name: "Edit t-" + type }).click();
    await edit.getByRole("button", { name: "Save" }).click(); // the check finds what was written
    await edit.waitFor({ state: "detached" });
    const { rows: [row] } = await server.api("POST", "/table/ten/scan", { row: { key }, column: { key: "meta:t-" + type } });
    assert.deepEqual(row.columns.meta["t-" + type].map((v) => [v.type, v.value]), [[type, want], [type, want]]);
  }
  await panel.getByRole("button", { name: "t-bytes", exact: true }).click();
  await column("t-bytes").getByRole("button", { name: "Delete column" }).click();
  await panel.getByRole("button", { name: "t-bytes", exact: true }).waitFor({ state: "detached" });
  await panel.getByRole("button", { name: "site", exact: true }).click();
  await column("site").getByRole("button", { name: "Rows with this value" }).click();
  await counted(page, /^2 rows/);
  await column("site").getByRole("button", { name: "Show only this column" }).click();
  await panel.getByRole("button", { name: "Delete row" }).click();
  await page.getByRole("button", { name: "Keep it" }).click();
  await panel.getByRole("button", { name: "Refresh" }).click();
  await panel.getByRole("button", { name: "Delete row" }).click();
  await page.getByRole("button", { name: "Delete the row" }).click();
  await panel.waitFor({ state: "detached" });
  assert.equal((await server.api("POST", "/table/ten/scan", { row: { key } })).rows.length, 0);
  await close();
});

test("a wide row is folded, and loaded as far as it is wanted", async () => {
  await server.api("POST", "/table/empty/write", { items: [{ row_key: "wide", cells: Array.from({ length: 500 }, (_, i) => ({ column_key: "f:" + String(i).padStart(3, "0"), type: "i64", value: i })) }] });
  await server.api("POST", "/table/empty/write", { items: [{ row_key: { base64: "/wA=" }, cells: [{ column_key: { base64: "ZjrA" }, type: "bytes", value: "/w==" }] }] });
  const { page, at, close } = await open(browser, server.url, { viewport: { width: 375, height: 760 } });
  await at("table/empty/browse");
  await rows(page).filter({ hasText: "wide" }).getByText("64+").waitFor();
  await fits(page);
  await rows(page).filter({ hasText: "wide" }).click();
  const panel = page.getByRole("complementary", { name: "Row" });
  await panel.getByText("200 columns, and more").waitFor();
  await panel.getByRole("button", { name: "Load more of f" }).click();
  await panel.getByText("500 columns").waitFor();
  await accessible(page);
  await fits(page);
  await panel.getByText("200 columns").waitFor({ state: "detached" });
  await panel.getByRole("button", { name: "Close the row" }).click();
  await rows(page).filter({ hasText: "\\xff\\x00" }).click();
  await panel.getByRole("button", { name: "\\xc0", exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
  await close();
});

test("many rows: only those that are seen are elements", async (t) => {
  const { page, at, close } = await open(browser, server.url);
  await at("table/many/browse");
  await rows(page).first().waitFor();
  await accessible(page);
  const grid = page.getByRole("grid", { name: "Rows" });
  await grid.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("PageDown");
  await page.keyboard.press("Enter");
  await page.getByRole("complementary", { name: "Row" }).waitFor();
  await page.keyboard.press("Escape");
  // It scrolls a few hundred rows each frame, to the end, and looks how long frames take.
  const found = await page.evaluate(async () => {
    const grid = document.querySelector(".grid");
    const frames = [];
    let elements = 0;
    const whole = () => /^[\d,]+ rows ·/.test(document.querySelector(".counted").textContent);
    const ended = () => whole() && grid.scrollTop + grid.clientHeight >= grid.scrollHeight - 1;
    for (let last = await new Promise(requestAnimationFrame); !ended(); ) {
      grid.scrollTop += 7200;
      const now = await new Promise(requestAnimationFrame);
      frames.push(now - last);
      last = now;
      elements = Math.max(elements, document.querySelectorAll(".grid-row").length);
    }
    await new Promise(requestAnimationFrame);
    const sum = frames.reduce((a, b) => a + b);
    frames.sort((a, b) => a - b);
    const at = (share) => Math.round(frames[Math.floor(frames.length * share)] * 10) / 10;
    return { seen: Number(document.querySelector(".grid-row:last-child").getAttribute("aria-rowindex")) - 1, elements, seconds: Math.round(sum / 1000), frames: frames.length,
      milliseconds: { median: at(0.5), p95: at(0.95), p99: at(0.99) }, memoryMiB: Math.round(performance.memory.usedJSHeapSize / 2 ** 20) };
  });
  t.diagnostic(JSON.stringify(found));
  assert.equal(found.seen, many);
  assert.ok(found.elements < 80, `${found.elements} rows are elements`);
  // Up again: pages that were dropped come back by their tokens.
  await page.evaluate(() => (document.querySelector(".grid").scrollTop = 0));
  await rows(page).filter({ hasText: "sensor/000/00000000" }).waitFor();
  await close();
});
