// The browser of the tests: Debian's Chromium, or what CHROMIUM names.

import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import assert from "node:assert/strict";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export function startBrowser() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
}

// open opens a page that fails its test for whatever it complains about: an error, a breach of the policy, or a request
// to another host.
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: url });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(error.stack));
  page.on("console", (m) => m.type() === "error" && !/status of (400|401|403|404|409|429)/.test(m.text()) && complaints.push(m.text()));
  page.on("request", (r) => r.url().startsWith(url) || r.url().startsWith("data:") || complaints.push("request to " + r.url()));
  const at = async (hash) => {
    await page.goto(url + "/#/" + hash);
    await page.locator("main").waitFor();
  };
  const close = async () => {
    await context.close();
    assert.deepEqual(complaints, []);
  };
  return { page, at, close };
}

// accessible checks that axe finds nothing serious. The policy of the page does not let it load a script, so the browser
// runs it beside the page.
export async function accessible(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const serious = violations.filter((v) => v.impact === "serious" || v.impact === "critical");
  assert.deepEqual(serious.map((v) => `${v.id}: ${v.nodes.map((n) => n.html + " " + n.any.map((a) => a.message).join()).join("\n")}`), []);
}

// fits checks that a page is not wider than its window.
export async function fits(page) {
  const [width, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(width <= window, `the page is ${width} px wide in a window of ${window} px`);
}
