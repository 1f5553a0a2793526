// Bytes as the client takes them, and their forms in JSON.

/** Bytes. A string stands for its UTF-8. */
export type Bytes = string | Uint8Array;

const encoder = new TextEncoder();

/** toBytes returns the bytes themselves. */
export function toBytes(bytes: Bytes): Uint8Array {
  return typeof bytes === "string" ? encoder.encode(bytes) : bytes;
}

/** compareBytes compares as the server orders: by bytes, without regard to characters. */
export function compareBytes(a: Bytes, b: Bytes): number {
  const x = toBytes(a);
  const y = toBytes(b);
  for (let i = 0; i < x.length && i < y.length; i++) {
    if (x[i] !== y[i]) return x[i]! - y[i]!;
  }
  return x.length - y.length;
}

const alphabet = encoder.encode("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");

/** toBase64 encodes bytes: several times faster than btoa, which wants a string of them. */
export function toBase64(bytes: Uint8Array): string {
  const text = new Uint8Array(Math.ceil(bytes.length / 3) * 4).fill(0x3d); // =
  for (let i = 0, at = 0; i < bytes.length; i += 3) {
    const three = (bytes[i]! << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    text[at++] = alphabet[three >> 18]!;
    text[at++] = alphabet[(three >> 12) & 63]!;
    if (i + 1 < bytes.length) text[at++] = alphabet[(three >> 6) & 63]!;
    if (i + 2 < bytes.length) text[at++] = alphabet[three & 63]!;
  }
  return new TextDecoder().decode(text);
}

export function fromBase64(base64: string): Uint8Array {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** fromJson reads bytes of an answer: a string, or an object where they are not UTF-8. */
export function fromJson(json: string | { base64: string }): Bytes {
  return typeof json === "string" ? json : fromBase64(json.base64);
}
