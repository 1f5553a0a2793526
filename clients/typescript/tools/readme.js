// Writes the code of README.md to test/readme-code.ts, which the tests compile and run.

import { readFileSync, writeFileSync } from "node:fs";

const blocks = readFileSync("README.md", "utf8").matchAll(/^```ts\n(.*?)^```$/gms);
const code = Array.from(blocks, ([, block]) => block).join("\n");
writeFileSync("test/readme-code.ts", code.replace('"http://127.0.0.1:9876"', "process.env.COLONNADE_URL!"));
