import test, { after, before } from "node:test";
import assert from "node:assert/strict";
import { accessible, fits, open, startBrowser } from "./browser.js";
import { fill, startServer } from "./server.js";
import { hottest, labels, rangeText, ticks, warmth } from "../src/keyspace/heat.js";

const many = Number(process.env.CONSOLE_ROWS ?? 40000);

let browser, server;
before(async () => {
  [browser, server] = await Promise.all([startBrowser(), startServer()]);
  await server.api("PUT", "/table/empty", { column_families: [{ name: "f" }] });
  await fill(server, "ten", 10);
  await fill(server, "many", many);
  await server.api("POST", "/table/many/count", {});
});
after(async () => {
  await browser.close();
  await server.stop();
});

test("what is hottest, and how it is named", () => {
  const load = (range, rows_read) => ({ range, rows_read });
  const k = { windows: [{ start: 0, end: 6e7, loads: [load(0, 60), load(2, 600)] }, { start: 6e7, end: 66e7, loads: [load(0, 1200)] }] };
  const list = hottest(k, "rows_read", 5);
  assert.deepEqual(list.map((s) => [s.range, s.sum, s.most, s.window.start]), [[0, 1260, 2, 6e7], [2, 600, 10, 0]]);
  assert.equal(list[0].share, 1260 / 1860);
  assert.deepEqual([warmth(0, 4), warmth(1, 4), warmth(4, 4), warmth(0, 0)], [0, 0.5, 1, 0]);
  assert.equal(rangeText({}), "all rows");
  assert.equal(rangeText({ end: "b" }), "up to b");
  assert.equal(rangeText({ start: "b", end: { base64: "/wA=" } }), "b to \\xff\\x00");
  assert.equal(rangeText({ start: "b" }), "b and after");
  assert.deepEqual(labels([{ end: "user/a" }, { start: "user/a" }, { start: "user/b" }]), ["first", "…a", "…b"]);
  const hour = 1764313200000000; // a full hour in most places
  assert.deepEqual(ticks(hour + 1, hour + 36e8, 6), [1, 2, 3, 4, 5].map((n) => hour + n * 6e8));
});

test("the load of tables of every size is drawn, and said", async () => {
  for (const [width, colorScheme] of [[1280, "light"], [375, "dark"], [3840, "dark"]]) {
    const { page, at, close } = await open(browser, server.url, { viewport: { width, height: 900 }, colorScheme });
    await at("table/empty");
    await page.getByRole("link", { name: "Key space" }).click();
    await page.getByRole("heading", { name: "No load in this time" }).waitFor();
    await accessible(page);
    for (const [table, rows] of [["ten", 10], ["many", many]]) {
      await at(`table/${table}/keyspace`);
      const map = page.getByRole("application", { name: /^Heat map/ });
      await map.waitFor();
      await page.getByLabel("What is counted").selectOption("Rows written");
      await page.getByRole("region", { name: "Hottest ranges" }).getByRole("row").nth(1).waitFor();
      const { windows } = await server.api("GET", `/table/${table}/keyspace`);
      const written = windows.flatMap((w) => w.loads).reduce((n, l) => n + l.rows_written, 0);
      assert.ok(Math.abs(written / rows - 1) < 0.2, `${written} rows written of ${rows}`);
      await map.focus();
      await page.keyboard.press("ArrowDown");
      await page.getByRole("status").getByText(/^up to sensor\/00/).waitFor();
      await accessible(page);
      await fits(page);
      const asked = (hours) => page.waitForResponse((r) => Math.abs(Date.now() / 1000 - new URL(r.url()).searchParams.get("start") / 1e6 - 3600 * hours) < 60);
      await Promise.all([asked(24), page.getByLabel("Time", { exact: true }).selectOption("Last day")]);
      await Promise.all([asked(24), page.getByRole("button", { name: "Refresh" }).click()]);
    }
    await page.getByRole("button", { name: "curl" }).click();
    await page.getByRole("dialog").getByText("/v1/table/many/keyspace?start=").waitFor();
    await close();
  }
});

// A hot key moves on, as an answer of the server has it; the other half of the keys are no UTF-8.
const ranges = [{ end: "b" }, { start: "b", end: "c" }, { start: "c", end: { base64: "/wA=" } }, { start: { base64: "/wA=" } }];
const minute = Math.floor(Date.now() / 6e4) * 6e7;
function moving() {
  const load = (range, n) => ({ range, rows_read: n, rows_written: range, bytes_read: 100 * n, bytes_written: 10 * range });
  return { ranges, windows: [0, 1, 2, 3].map((i) => ({ start: minute + (i - 5) * 6e7, end: minute + (i - 4) * 6e7, loads: [load(i, 6000), ...(i === 2 ? [load(3, 60)] : [])] })) };
}

test("pointer and keyboard say what is there, and lead to the rows", async () => {
  const { page, at, close } = await open(browser, server.url);
  await page.clock.setFixedTime(minute / 1000 + 3e4); // the map ends in the middle of a minute
  await page.route("**/keyspace?*", (route) => route.fulfill({ json: { result: moving(), message: "", status: 200, time_ms: 0 } }));
  await at("table/ten/keyspace");
  const map = page.getByRole("application");
  const status = page.getByRole("status");
  await map.focus();
  await page.keyboard.press("ArrowLeft"); // the newest window, the first range
  await status.getByText("up to b").waitFor();
  await status.getByText("no load").waitFor();
  await page.keyboard.press("End");
  await status.getByText("\\xff\\x00 and after").waitFor();
  await status.getByText("read 6,000 rows, 586 KiB · written 3 rows, 30 B").waitFor();
  await page.keyboard.press("ArrowLeft");
  await status.getByText("read 60 rows").waitFor();
  await accessible(page);
  await page.keyboard.press("Escape");
  await status.getByText("Point at the map").waitFor();
  // The colours: what is hot is far from what is not, and a tenth of it in between.
  const colour = (range, ago) => page.evaluate(([range, ago]) => {
    const canvas = document.querySelector(".heat-box canvas");
    const x = (1 - ago / 10) * canvas.width;
    const to = canvas.getContext("2d");
    return [...to.getImageData(Math.round(x), Math.round(((range + 0.5) / 4) * canvas.height), 1, 1).data].slice(0, 3).reduce((a, b) => a + b);
  }, [range, ago]);
  const [hot, warm, cold] = [await colour(2, 3), await colour(3, 3), await colour(0, 3)];
  assert.ok(hot < warm && warm < cold, `hot ${hot}, warm ${warm}, cold ${cold}`);
  // The pointer.
  const box = await map.boundingBox();
  await page.mouse.move(box.x + (1 - (3) / 10) * box.width, box.y + 0.6 * box.height);
  await status.getByText("c to \\xff\\x00").waitFor();
  await page.getByLabel("What is counted").selectOption("Bytes written");
  const hottestRanges = page.getByRole("region", { name: "Hottest ranges" }).getByRole("rowheader");
  assert.deepEqual(await hottestRanges.allTextContents(), ["\\xff\\x00 and after", "c to \\xff\\x00", "b to c"]);
  await page.mouse.click(box.x + box.width / 4, box.y + 0.6 * box.height);
  await page.getByRole("grid", { name: "Rows" }).or(page.getByRole("heading", { name: "No row fits" })).waitFor();
  assert.deepEqual(JSON.parse(new URLSearchParams(page.url().split("?")[1]).get("q")), { by: "range", ...ranges[2], conditions: [] });
  assert.equal(await page.getByLabel("First row").inputValue(), "c");
  await page.getByRole("button", { name: "Remove: End, not included \\xff\\x00" }).click();
  await page.getByRole("button", { name: "Show", exact: true }).click();
  await page.getByText(/^10 rows/).waitFor();
  await accessible(page);
  await page.goBack();
  await map.focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await page.getByLabel("End, not included").waitFor();
  assert.equal(await page.getByLabel("End, not included").inputValue(), "b");
  await close();
});

test("a finger looks first", async () => {
  const { page, at, close } = await open(browser, server.url, { viewport: { width: 375, height: 800 }, hasTouch: true });
  await page.route("**/keyspace?*", (route) => route.fulfill({ json: { result: moving(), message: "", status: 200, time_ms: 0 } }));
  await at("table/ten/keyspace");
  const box = await page.getByRole("application").boundingBox();
  const tap = () => page.touchscreen.tap(box.x + 0.72 * box.width, box.y + 0.4 * box.height);
  await tap();
  await page.getByRole("status").getByText("b to c").waitFor();
  await tap();
  await page.getByLabel("First row").waitFor();
  await close();
});

test("a refusal is said, and asked again", async () => {
  const { page, at, close } = await open(browser, server.url);
  await at("table/ten/keyspace");
  await page.getByRole("application").waitFor();
  await page.route("**/keyspace?*", (route) => route.fulfill({ status: 403, json: { error: { code: "insufficient_scope", at: "header" }, message: "not this table", result: null, status: 403, time_ms: 0 } }));
  await page.getByRole("button", { name: "Refresh" }).click();
  await page.getByText("Your token does not allow this").waitFor();
  await page.unroute("**/keyspace?*");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("application").waitFor();
  await page.getByRole("button", { name: /^Theme/ }).click();
  await close();
});
