import test, { after, before } from "node:test";
import assert from "node:assert/strict";
import path from "node:path";
import { accessible, fits, open, startBrowser } from "./browser.js";
import { fill, startServer, tokenFor } from "./server.js";

let browser, server;
before(async () => {
  [browser, server] = await Promise.all([startBrowser(), startServer()]);
});
after(async () => {
  await browser.close();
  await server.stop();
});

test("a server without tables says how to make one", async () => {
  const { page, at, close } = await open(browser, server.url);
  await at("");
  await page.getByRole("heading", { name: "There is no table yet" }).waitFor();
  await accessible(page);
  await page.getByRole("button", { name: "Copy" }).first().click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^curl -X PUT http:.*\/v1\/table\/webtable/);
  await close();
});

test("tables and what they are made of", async () => {
  await server.api("PUT", "/table/empty");
  await fill(server, "ten", 10);
  await fill(server, "many", 30000);
  await server.api("PATCH", "/table/ten", { deletion_protection: true });
  for (const [width, colorScheme] of [[1280, "light"], [375, "dark"], [3840, "light"]]) {
    const { page, at, close } = await open(browser, server.url, { viewport: { width, height: 900 }, colorScheme });
    await at("");
    await page.getByRole("link", { name: "many" }).waitFor();
    assert.equal(await page.locator("tbody tr").count(), 3);
    await page.getByText("protected").waitFor();
    await accessible(page);
    await fits(page);
    await page.getByRole("button", { name: "Refresh" }).click();
    await page.getByRole("link", { name: "ten", exact: true }).click();
    await page.getByRole("heading", { name: "Partitions" }).waitFor();
    assert.match(await page.locator("main").textContent(), /beyond the newest 5/);
    assert.equal(await page.locator(".partition").count(), 3);
    await page.getByRole("button", { name: "Refresh" }).click();
    await accessible(page);
    await fits(page);
    await page.getByRole("link", { name: "Tables" }).first().click();
    await page.getByRole("link", { name: "empty" }).click();
    await page.getByRole("heading", { name: "No column family yet" }).waitFor();
    await accessible(page);
    await at("table/none");
    await page.getByRole("heading", { name: "There is no such table" }).waitFor();
    await at("nothing");
    await page.getByRole("heading", { name: "There is no such page" }).waitFor();
    await close();
  }
});

// Reported, and not a limit of this test: how long it takes depends on the machine.
test("the first paint", async (t) => {
  const paints = [];
  for (let i = 0; i < 5; i++) {
    const { page, at, close } = await open(browser, server.url);
    await at("");
    await page.getByRole("link", { name: "many" }).waitFor();
    paints.push(Math.round(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime)));
    await close();
  }
  t.diagnostic(`first paint after ${paints.sort((a, b) => a - b).join(", ")} ms`);
});

test("the keyboard reaches everything, the theme is kept", async () => {
  const { page, at, close } = await open(browser, server.url);
  await at("");
  await page.getByRole("link", { name: "many" }).waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to content");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.getByRole("button", { name: "Theme: system" }).click();
  assert.equal(await ground(), light);
  await page.getByRole("button", { name: "Theme: light" }).click();
  const dark = await ground();
  assert.notEqual(dark, light);
  await page.reload();
  await page.getByRole("button", { name: "Theme: dark" }).waitFor();
  assert.equal(await ground(), dark);
  await accessible(page);
  await page.getByRole("button", { name: "Theme: dark" }).click();
  assert.equal(await ground(), light);
  await close();
});

test("many tables can be searched", async () => {
  for (let i = 0; i < 8; i++) await server.api("PUT", "/table/log-" + i);
  const { page, at, close } = await open(browser, server.url);
  await at("");
  await page.getByRole("searchbox", { name: "Find a table" }).fill("log-7");
  assert.equal(await page.locator("tbody tr").count(), 1);
  await page.getByRole("searchbox").fill("nothing");
  await page.getByText("No table has").waitFor();
  await close();
});

test("access control: the page asks for a token and says what it does not allow", async () => {
  const secrets = {};
  const guarded = await startServer((dir) => {
    const file = path.join(dir, "tokens.json");
    for (const scope of ["read", "admin"]) secrets[scope] = tokenFor(file, scope, scope === "read" ? "web*" : "*");
    return ["--tokens", file];
  });
  await guarded.api("PUT", "/table/web1", undefined, secrets.admin);
  await guarded.api("PUT", "/table/other", undefined, secrets.admin);
  const { page, at, close } = await open(browser, guarded.url);
  await at("");
  await page.getByRole("heading", { name: "This server needs a token" }).waitFor();
  await accessible(page);
  await page.getByLabel("Token").fill("cln_aaaaaaaa_aaaaaaaaaaaaaaaaaaaaaaaaaa");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "The server does not know this token" }).waitFor();
  await page.getByLabel("Token").fill(secrets.read);
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "web1" }).waitFor();
  assert.equal(await page.locator("tbody tr").count(), 1);
  await page.reload();
  await page.getByRole("link", { name: "web1" }).waitFor();
  await at("table/other");
  await page.getByText("Your token does not allow this").waitFor();
  await page.getByText(/needs a token of scope read for table "other"/).waitFor();
  await accessible(page);
  assert.equal(await page.evaluate(() => Object.values(localStorage).join() + document.cookie), "");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "This server needs a token" }).waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  await at("table/%zz");
  await page.getByLabel("Token").waitFor();
  await close();
  await guarded.stop();
});

test("after too many tries a valid token still signs in", async () => {
  let secret;
  const guarded = await startServer((dir) => {
    secret = tokenFor(path.join(dir, "tokens.json"), "admin");
    return ["--tokens", path.join(dir, "tokens.json"), "--auth-failures", "1"];
  });
  const { page, at, close } = await open(browser, guarded.url);
  await at("");
  for (let i = 0; i < 2; i++) {
    await page.getByLabel("Token").fill("cln_aaaaaaaa_aaaaaaaaaaaaaaaaaaaaaaaaaa");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
  }
  await page.getByRole("heading", { name: "Too many tries without a valid token" }).waitFor();
  await page.getByLabel("Token").fill(secret);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "There is no table yet" }).waitFor();
  await close();
  await guarded.stop();
});
