import test, { after, before } from "node:test";
import assert from "node:assert/strict";
import path from "node:path";
import { accessible, fits, open, startBrowser } from "./browser.js";
import { fill, startServer, tokenFor } from "./server.js";
import { parse, quantiles, sum } from "../src/live/metrics.js";

let browser, server;
before(async () => {
  [browser, server] = await Promise.all([startBrowser(), startServer()]);
  await fill(server, "ten", 10);
});
after(async () => {
  await browser.close();
  await server.stop();
});

test("metrics are read, and quantiles are those of Prometheus", () => {
  const before = parse('h_bucket{le="1"} 0\nh_bucket{le="2"} 0\nh_bucket{le="+Inf"} 0\n');
  const now = parse('# HELP h x\nh_bucket{le="1"} 50\nh_bucket{le="2"} 100\nh_bucket{le="+Inf"} 100\nc{a="x\\"y",b="1"} 3\nc{a="z",b="2"} 4 \nplain 1e+06\n');
  assert.deepEqual(quantiles(before, now, "h", [0.25, 0.5, 0.75], () => true), [0.5, 1, 1.5]);
  assert.deepEqual(quantiles(now, now, "h", [0.5], () => true), [null]);
  assert.equal(sum(now, "c"), 7);
  assert.equal(sum(now, "c", (l) => l.b === "2"), 4);
  assert.equal(sum(now, "plain"), 1e6);
  assert.equal(sum(now, "none"), 0);
});

test("what the server does is drawn, and said", async () => {
  for (const [width, colorScheme] of [[1280, "light"], [375, "dark"]]) {
    const { page, at, close } = await open(browser, server.url, { viewport: { width, height: 900 }, colorScheme });
    await at("");
    await page.getByRole("link", { name: "Live" }).click();
    const chart = (name) => page.getByRole("region", { name });
    for (let i = 0; ; i++) { // until the page has looked twice
      await server.api("POST", "/table/ten/write", { items: [{ row_key: "r" + i, cells: [{ column_key: "meta:a", type: "i64", value: i }] }] });
      await server.api("POST", "/table/ten/scan", {});
      if (await chart("Requests").getByText("POST scan").count()) break;
      await page.waitForTimeout(50);
    }
    assert.match(await chart("Latency").textContent(), /median\d.*(µs|ms|s)/);
    assert.match(await chart("Commits").textContent(), /cells\d/);
    for (const name of ["Sync of the log", "Bytes written", "Compaction debt", "Stalls of writes", "Blocks from the cache", "Cells read", "Memory"]) {
      await chart(name).locator("canvas").waitFor();
    }
    await accessible(page);
    await fits(page);
    await page.getByLabel("Latency of").selectOption("POST /v1/table/{table}/scan");
    await chart("Latency of POST scan").locator("canvas").waitFor();
    await chart("Commits").locator(".u-over").hover();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByRole("button", { name: /^Theme/ }).click();
    await page.getByRole("link", { name: "Tables" }).click();
    await page.getByRole("link", { name: "ten" }).first().waitFor();
    await close();
  }
});

test("a token of one table does not see the metrics of all", async () => {
  let secret;
  const guarded = await startServer((dir) => {
    secret = tokenFor(path.join(dir, "tokens.json"), "read", "web*");
    return ["--tokens", path.join(dir, "tokens.json")];
  });
  const { page, at, close } = await open(browser, guarded.url);
  await at("live");
  await page.getByLabel("Token").fill(secret);
  await page.keyboard.press("Enter");
  await page.getByText("Your token does not allow this").waitFor();
  await accessible(page);
  await close();
  await guarded.stop();
});
