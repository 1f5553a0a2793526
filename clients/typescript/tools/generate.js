// Prints src/api.ts: the types that read well when they are made from the OpenAPI document of a server. The names of
// fields are those of the document, in camelCase.
//
//   node tools/generate.js http://127.0.0.1:9876 > src/api.ts

const document = await (await fetch(`${process.argv[2]}/v1/openapi.json`)).json();

// The names under which the client has schemas of the document, and types of its own in place of schemas.
const named = { RowFilter: "Filter", Explain: "Explanation", Move: "Move", StoredGCSettings: "StoredGcSettings" };
const ours = { Bytes: "Bytes" };

const result = (path, method) => document.paths[path][method].responses[200].content["application/json"].schema.properties.result;
const lastLine = document.paths["/v1/table/{table}/scan"].post.responses[200].content["application/x-ndjson"]["x-line"].anyOf[1].anyOf[0];
const schemas = document.components.schemas;

const types = [
  ["Filter", schemas.RowFilter, "A filter tree. docs/api.md says what each filter does. An object has one of these fields."],
  ["Statistics", lastLine.properties.statistics, "What a read has returned, and what the server has stepped over for it."],
  [
    "Count",
    withoutExplain(result("/v1/table/{table}/count", "post")),
    "How many rows and versions a query selects, and what it cost to count them.",
  ],
  ["StoredGcSettings", schemas.StoredGCSettings, "Which versions of a family are garbage; null is no limit."],
  ["Move", schemas.Move, "How far a family is on its way to another locality group."],
  ["TableSummary", result("/v1/table", "get").properties.tables.properties.items.items, "A table as listed."],
  ["TableInfo", result("/v1/table/{table}", "get"), "A table with the state of its partitions."],
  [
    "Advice",
    result("/v1/table/{table}/advice", "get"),
    "Which families should move to other locality groups, going by the queries that the table has answered.",
  ],
  ["TokenInfo", result("/v1/token", "get").properties.token.anyOf[0], "What the token of a client allows."],
  [
    "KeySpace",
    result("/v1/table/{table}/keyspace", "get"),
    "Where in the row keys of a table the load was, over time. The counts are estimates, made of samples.",
  ],
  ["Explanation", schemas.Explain, "What the server did for a query. The numbers are for people, and may change with any release."],
];

console.log("// Made by tools/generate.js of the server's OpenAPI document. Do not edit.\n");
console.log('import type { Bytes } from "./bytes.js";\nimport type { Time } from "./time.js";');
for (const [name, schema, comment] of types) {
  console.log(`\n/** ${comment} */`);
  if (oneField(schema)) console.log(`export type ${name} =\n${union(schema)};`);
  else console.log(`export interface ${name} ${object(schema, "")}`);
}

function withoutExplain(schema) {
  const [plain] = schema.anyOf ?? [schema];
  const { explain, ...properties } = plain.properties;
  return { ...plain, properties };
}

// oneField reports whether an object has exactly one of its fields.
function oneField(schema) {
  return schema.minProperties === 1 && schema.maxProperties === 1;
}

function union(schema) {
  return Object.entries(schema.properties)
    .map(([name, s]) => `  | { ${camel(name)}: ${type(s, "  ", name)} }`)
    .join("\n");
}

function object(schema, indent) {
  const fields = Object.entries(schema.properties).map(([name, s]) => {
    const optional = schema.required?.includes(name) ? "" : "?";
    return `${indent}  ${camel(name)}${optional}: ${type(s, `${indent}  `, name)};\n`;
  });
  return `{\n${fields.join("")}${indent}}`;
}

function type(s, indent, name) {
  if (s.$ref) {
    const to = s.$ref.split("/").pop();
    return ours[to] ?? named[to] ?? type(schemas[to], indent, name);
  }
  if ("const" in s) return JSON.stringify(s.const);
  if (s.enum) return s.enum.map((v) => JSON.stringify(v)).join(" | ");
  if (s.anyOf) return s.anyOf.map((a) => type(a, indent, name)).join(" | ");
  switch (s.type) {
    case "object":
      return s.properties ? object(s, indent) : "Record<string, unknown>";
    case "array": {
      const of = type(s.items, indent, name);
      return /^\w+$/.test(of) ? `${of}[]` : `Array<${of}>`;
    }
    case "integer":
      return name.endsWith("_timestamp_micros") ? "Time" : "number";
    default:
      return s.type;
  }
}

function camel(name) {
  return name.replace(/_([a-z])/g, (_, c) => c.toUpperCase());
}
