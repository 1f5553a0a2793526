// Builds the console into the directory that is named: `node build.js dist`. The same source gives the same bytes.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

const out = process.argv[2];
if (!out) throw new Error("usage: node build.js DIRECTORY");
await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });

const { metafile } = await build({
  entryPoints: ["src/main.jsx", "src/style/main.css", "src/icon.svg"],
  outdir: out,
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  bundle: true,
  splitting: true, // a page that few open is loaded when somebody opens it
  format: "esm",
  target: ["chrome114", "firefox128", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".svg": "copy" },
  minify: true,
  legalComments: "none",
  metafile: true,
});

// What is built in has licenses that want to go along.
let licenses = "";
for (const name of ["preact", "uplot"]) {
  licenses += `${name}\n\n${await readFile(`node_modules/${name}/LICENSE`, "utf8")}\n`;
}
const sum = createHash("sha256").update(licenses).digest("hex").slice(0, 8).toUpperCase();
await writeFile(path.join(out, `licenses-${sum}.txt`), licenses);

// The page names what was built of each entry point.
const built = {};
for (const [file, { entryPoint }] of Object.entries(metafile.outputs)) {
  if (entryPoint) built[path.basename(entryPoint)] = "/console/" + path.relative(out, file);
}
for (const file of Object.keys(metafile.outputs)) {
  if (file.endsWith(".svg")) built["icon.svg"] = "/console/" + path.relative(out, file);
}
const page = await readFile("src/index.html", "utf8");
await writeFile(path.join(out, "index.html"), page.replace(/\{\{(.*?)\}\}/g, (_, name) => {
  if (!built[name]) throw new Error(`nothing was built of ${name}`);
  return built[name];
}));
