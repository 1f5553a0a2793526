// A server of the program in a directory of its own, for the tests.

import { spawn, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const program = process.env.COLONNADE ?? path.resolve(import.meta.dirname, "../../bin/colonnade");

export async function startServer(args = () => []) {
  const dir = mkdtempSync(path.join(tmpdir(), "console-"));
  const process = spawn(program, ["serve", "--data", path.join(dir, "data"), "--listen", "127.0.0.1:0", ...args(dir)], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => process.on("exit", resolve));
  const url = await new Promise((resolve, reject) => {
    process.stdout.on("data", (line) => resolve(String(line).trim().replace("listening on ", "")));
    process.on("exit", (code) => reject(new Error(`the server has ended with ${code}`)));
  });
  async function stop() {
    process.kill();
    await ended;
    rmSync(dir, { recursive: true });
  }
  async function api(method, at, body, token) {
    const answer = await fetch(url + "/v1" + at, {
      method,
      headers: { ...(body && { "Content-Type": typeof body === "string" ? "application/x-ndjson" : "application/json" }), ...(token && { Authorization: "Bearer " + token }) },
      body: body && (typeof body === "string" ? body : JSON.stringify(body)),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${at}: ${text}`);
    return typeof body === "string" ? text : JSON.parse(text).result;
  }
  return { url, api, stop, dir };
}

// tokenFor makes a token in the file of a server that is not started yet.
export function tokenFor(file, scope, table = "*") {
  return execFileSync(program, ["token", "create", "--tokens", file, "--scope", scope, "--table", table, "--name", scope]).toString().trim();
}

// fill makes a table of so many rows, in batches.
export async function fill(server, table, rows) {
  await server.api("PUT", "/table/" + table, { column_families: [{ name: "meta" }, { name: "reading", gc_settings: { version_limit: 5 } }], locality_groups: [["reading"]] });
  const sites = ["harbour", "north pier", "bakery roof", "station", "old mill"];
  for (let at = 0; at < rows; at += 20000) {
    let lines = "";
    for (let i = at; i < Math.min(rows, at + 20000); i++) {
      const time = 1763600000000000 + i * 1000;
      const cell = (column_key, type, value) => ({ column_key, type, value, time });
      lines += JSON.stringify({ row_key: `sensor/${String(i % 64).padStart(3, "0")}/${String(i).padStart(8, "0")}`, cells: [
        cell("reading:celsius", "f64", (i % 350) / 10 + 0.05), cell("reading:count", "i64", i * 7),
        cell("meta:site", "string", sites[i % 5]), cell("meta:ok", "boolean", i % 50 !== 0)] }) + "\n";
    }
    await server.api("POST", `/table/${table}/write`, lines);
  }
}
