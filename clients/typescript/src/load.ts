// Many rows, written in batches.

import { print, Raw } from "./json.js";
import { encodeRow, type RowInput } from "./write.js";

// A batch ends with this many rows, or characters of JSON.
const batchRows = 4096;
const batchLength = 1 << 20;

/** load writes rows in batches, one after the other. */
export async function load(
  rows: Iterable<RowInput> | AsyncIterable<RowInput>,
  write: (items: Raw[]) => Promise<unknown>,
  onBatch: ((written: number) => void) | undefined,
): Promise<number> {
  let written = 0;
  let batch: Raw[] = [];
  let length = 0;
  async function flush() {
    await write(batch);
    written += batch.length;
    batch = [];
    length = 0;
    onBatch?.(written);
  }
  for await (const row of rows) {
    const item = new Raw(print(encodeRow(row)));
    batch.push(item);
    length += item.text.length;
    if (batch.length >= batchRows || length >= batchLength) await flush();
  }
  if (batch.length > 0) await flush();
  return written;
}
