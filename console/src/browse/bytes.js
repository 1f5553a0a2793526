// Row keys, qualifiers and values as the interface has them: bytes are a string where they are UTF-8, otherwise
// {"base64": "…"}.

export const same = (a, b) => (typeof a === "string" || typeof b === "string" ? a === b : a.base64 === b.base64);

// show prints bytes on one line: what cannot be seen is escaped.
export function show(bytes) {
  if (typeof bytes === "string") return JSON.stringify(bytes).slice(1, -1).replaceAll('\\"', '"').replaceAll("\\\\", "\\");
  return atob(bytes.base64).replace(/[^\x20-\x7e]/g, (c) => "\\x" + c.charCodeAt(0).toString(16).padStart(2, "0"));
}

// splitColumn returns the family and the qualifier of a column key.
export function splitColumn(key) {
  const text = typeof key === "string" ? key : atob(key.base64);
  const at = text.indexOf(":");
  const qualifier = text.slice(at + 1);
  return { family: text.slice(0, at), qualifier: typeof key === "string" ? qualifier : { base64: btoa(qualifier) } };
}

export function columnKey(family, qualifier) {
  return typeof qualifier === "string" ? `${family}:${qualifier}` : { base64: btoa(`${family}:${atob(qualifier.base64)}`) };
}

export const types = ["string", "i64", "f64", "boolean", "bytes", "i32", "f32", "byte"];

// showValue prints a value as people write it.
export function showValue({ type, value }) {
  if (value === null) return "";
  if ((type === "f64" || type === "f32") && Number.isInteger(value)) return (Object.is(value, -0) ? "-0" : String(value)) + ".0";
  return String(value);
}

// readValue returns what a person wrote, as the interface takes it. The server checks it: what is no number goes there as
// it was written.
export function readValue(type, text) {
  switch (type) {
    case "boolean": return text === "true";
    case "i64": return text.trim();
    case "i32": case "byte": case "f64": case "f32": return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
  }
  return text;
}

// bytesOf returns the bytes by which a filter knows a value, null where that is not worth while.
export function bytesOf({ type, value }) {
  const fixed = { i64: 8, f64: 8, i32: 4, f32: 4, byte: 1, boolean: 1 }[type];
  if (!fixed) return value === "" || value.length > 8192 ? null : type === "bytes" ? { base64: value } : value;
  const view = new DataView(new ArrayBuffer(fixed));
  if (type === "i64") view.setBigInt64(0, BigInt(value));
  else if (type === "f64") view.setFloat64(0, value);
  else if (type === "i32") view.setInt32(0, value);
  else if (type === "f32") view.setFloat32(0, value);
  else view.setUint8(0, Number(value));
  return { base64: btoa(String.fromCharCode(...new Uint8Array(view.buffer))) };
}
