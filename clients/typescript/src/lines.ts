// Answers as lines of JSON, read while they come.

import type { Limit } from "./limit.js";

/** linesOf yields the whole lines of an answer, those of one part of it at a time. It reads no part before it is asked. */
export async function* linesOf(response: Response, limit: Limit): AsyncGenerator<string[]> {
  const reader = response.body!.getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let begun: string[] = []; // of the line that has not ended
  for (;;) {
    const part = await read(reader, limit);
    if (!part) return;
    const lines = decoder.decode(part, { stream: true }).split("\n");
    const rest = lines.pop()!;
    if (lines.length > 0) {
      lines[0] = begun.join("") + lines[0];
      begun = [];
      yield lines;
    }
    begun.push(rest);
  }
}

async function read(reader: ReadableStreamDefaultReader<Uint8Array>, limit: Limit): Promise<Uint8Array | undefined> {
  limit.start();
  try {
    return (await reader.read()).value;
  } catch (error) {
    throw limit.failure("the answer broke off", error);
  } finally {
    limit.stop();
  }
}
