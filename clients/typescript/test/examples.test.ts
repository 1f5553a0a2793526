// Each example prints what its comments say, and the code of README.md runs.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { before, test } from "node:test";
import { promisify } from "node:util";
import { type Server, startServer } from "./server.js";

const root = path.resolve(import.meta.dirname, "../..");
let server: Server;

before(async (t) => {
  server = await startServer(t as never);
});

async function run(program: string): Promise<string> {
  const env = { ...process.env, COLONNADE_URL: server.url, COLONNADE_TOKEN: server.token };
  const { stdout } = await promisify(execFile)(process.execPath, [path.join(root, "build", program)], { env });
  return stdout;
}

for (const name of readdirSync(path.join(root, "examples"))) {
  test(`example ${name}`, async () => {
    const source = readFileSync(path.join(root, "examples", name), "utf8");
    const want = Array.from(source.matchAll(/\/\/ → (.*)$/gm), ([, text]) => text);
    assert.ok(want.length > 3);
    assert.deepEqual((await run(`examples/${name.replace(/ts$/, "js")}`)).trimEnd().split("\n"), want);
  });
}

test("the code of README.md", async () => {
  const printed = await run("test/readme-code.js");
  for (const text of [
    "org.example/ Example\n",
    "the lock is mine\n",
    "1n\n",
    "4096\n8192\n10000\n",
    "Example 1256n\n",
    "org.example/ [ 'number' ]\n",
    "com.example/2042\n",
    "unknown_column_family items[0].cells[0].column_key\n",
    "'webtable' ]",
    "org.example/ 1 1256n\n",
  ]) {
    assert.ok(printed.includes(text), `${JSON.stringify(text)} is not in ${printed}`);
  }
});
