// JSON with integers of 64 bits: those that a double cannot hold are BigInt on both ways.

export function parse(text) {
  return JSON.parse(text, (_, value, context) => {
    if (typeof value !== "number" || Number.isSafeInteger(value) || !context || !/^-?\d+$/.test(context.source)) return value;
    return BigInt(context.source);
  });
}

export function print(value, indent) {
  return JSON.stringify(value, (_, v) => (typeof v === "bigint" ? JSON.rawJSON(String(v)) : v), indent);
}
