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
    return ["--tokens", file, "--archive", path.join(dir, "archive"), "--archive-interval", "100ms"];
  })]);
  const { api } = server;
  server.api = (method, at, body) => api(method, at, body, secrets.admin);
  await fill(server, "ten", 10);
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

test("checkpoints are made, listed and deleted, and the archive says how far it is", async () => {
  for (const [width, colorScheme] of [[1280, "light"], [375, "dark"], [3840, "light"]]) {
    const { page, at, close } = await signedIn("admin", { viewport: { width, height: 900 }, colorScheme });
    await at("");
    await page.getByRole("link", { name: "Backups" }).click();
    await page.getByText("There is none.").waitFor();
    await page.getByRole("button", { name: "New checkpoint" }).click();
    await page.getByRole("cell", { name: "ten", exact: true }).waitFor();
    await page.getByRole("cell", { name: /in (9|10) minutes/ }).waitFor();
    assert.equal((await server.api("GET", "/checkpoint")).checkpoints.length, 1);
    while (!(await page.getByText("Restorable until").count())) {
      await page.getByRole("button", { name: "Ask again" }).click();
      await page.waitForTimeout(100);
    }
    await accessible(page);
    await fits(page);
    await page.getByRole("button", { name: "Copy" }).first().click();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^colonnade backup create \/backup\/colonnade --url http:/);
    await page.getByRole("button", { name: /^Delete the checkpoint/ }).click();
    await page.getByText("There is none.").waitFor();
    await close();
  }
  const { page, at, close } = await signedIn("read");
  await at("backups");
  await page.getByText("This needs a token of scope admin; yours has scope read.").waitFor();
  await close();
});
