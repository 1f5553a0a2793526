import { text } from "../api.js";
import { by, parse, quantiles, sum } from "./metrics.js";

// How many samples are kept: ten minutes of them.
export const every = 2000;
const kept = 300;

// What this page asks itself is not what the server does for others.
const own = new Set(["GET /metrics", "GET /"]);
const foreign = (labels) => !own.has(labels.route);

// The history begins when the page is first opened, and lives as long as the tab.
export const history = { samples: [], last: null, at: 0 };

export const clear = () => Object.assign(history, { samples: [], last: null, at: 0 });

// scrape adds a sample: rates since the one before it, and what is so now.
export async function scrape() {
  const now = parse(await text("/metrics"));
  const at = performance.now() / 1000;
  const { last } = history;
  if (last) history.samples.push(sample(last, now, at - history.at));
  if (history.samples.length > kept) history.samples.shift();
  Object.assign(history, { last: now, at });
}

function sample(before, now, seconds) {
  // A counter that has fallen was begun anew, by a restart.
  const rate = (a, b) => (b < a ? null : (b - a) / seconds);
  const rateOf = (name, fits) => rate(sum(before, name, fits), sum(now, name, fits));
  const ratesBy = (name, label) => {
    const old = by(before, name, label);
    return Object.fromEntries([...by(now, name, label)].map(([key, n]) => [key, rate(old.get(key) ?? 0, n)]));
  };
  const latency = (fits) => quantiles(before, now, "colonnade_request_duration_seconds", [0.5, 0.95, 0.99], fits);
  const requests = ratesBy("colonnade_requests_total", "route");
  for (const route of own) delete requests[route];
  const hits = rateOf("colonnade_cache_requests_total", (l) => l.result === "hit");
  const asked = rateOf("colonnade_cache_requests_total");
  return {
    time: Date.now() / 1000,
    requests,
    refused: rateOf("colonnade_requests_refused_total"),
    latency: { "": latency(foreign), ...Object.fromEntries(Object.keys(requests).filter((r) => requests[r] > 0).map((r) => [r, latency((l) => l.route === r)])) },
    commits: rateOf("colonnade_batches_total"),
    entries: rateOf("colonnade_entries_written_total"),
    sync: quantiles(before, now, "colonnade_log_sync_duration_seconds", [0.5, 0.99], () => true),
    written: { clients: rateOf("colonnade_batch_bytes_total"), flushes: rateOf("colonnade_flush_written_bytes_total"), compactions: rateOf("colonnade_compaction_written_bytes_total") },
    debt: sum(now, "colonnade_compaction_debt_bytes"),
    stalls: ratesBy("colonnade_write_stall_seconds_total", "reason"),
    cache: asked > 0 ? hits / asked : null,
    returned: rateOf("colonnade_cells_returned_total"),
    scanned: rateOf("colonnade_cells_scanned_total"),
    memory: { memtables: sum(now, "colonnade_memtable_bytes"), cache: sum(now, "colonnade_cache_bytes"), requests: sum(now, "colonnade_request_memory_bytes") },
  };
}

// state returns what is wrong with the store now, as sentences.
export function state(now) {
  const wrong = [];
  for (const { labels, value } of now?.get("colonnade_store_refuses_writes") ?? []) {
    if (value === 1) wrong.push(refusals[labels.reason] ?? `The store refuses writes: ${labels.reason}.`);
  }
  const damage = sum(now ?? new Map(), "colonnade_damage");
  if (damage > 0) wrong.push(`${damage} partitions or files are damaged: run colonnade check, and see the page of each table.`);
  return wrong;
}

const refusals = {
  read_only: "The store takes no writes until a restart: its log or its manifest could not be written. Look at the disk first.",
  disk_full: "The disk is full: writes are refused until there is room.",
  slow_disk: "The disk does not answer: writes are refused until it does.",
};
