import { useState } from "preact/hooks";
import { bytes, short, time } from "../format.js";
import { useEvery, useTitle } from "../hooks.js";
import { Failure, Loading } from "../parts.jsx";
import { Chart } from "../live/chart.jsx";
import { every, history, scrape, state } from "../live/history.js";

const mostRoutes = 6;

const seconds = (n) => (n < 0.001 ? `${Math.round(n * 1e6)} µs` : n < 1 ? `${(n * 1000).toPrecision(3)} ms` : `${n.toFixed(2)} s`);
const perSecond = (n) => short(n) + "/s";
const bytesPerSecond = (n) => bytes(n) + "/s";
const brief = (route) => route.replace("/v1/table/{table}/", "");
const share = (n) => Math.round(n * 1000) / 10 + " %";

// Live shows what the server does now, from its metrics.
export function Live() {
  useTitle("Live");
  const [, draw] = useState(0);
  const [error, setError] = useState(null);
  const [paused, setPaused] = useState(false);
  const [route, setRoute] = useState("");
  useEvery(every, async () => {
    if (paused || error?.status === 403) return;
    try {
      await scrape();
      setError(null);
    } catch (e) {
      setError(e);
    }
    draw((n) => n + 1);
  });
  const { samples, last } = history;
  const times = samples.map((s) => s.time);
  const line = (name, value) => ({ name, values: samples.map((s) => value(s) ?? null) });
  const routes = busiest(samples);
  const quantile = (i) => (s) => s.latency[route]?.[i];
  const reasons = [...new Set(samples.flatMap((s) => Object.keys(s.stalls).filter((r) => s.stalls[r] > 0)))];
  return (
    <>
      <div class="head">
        <h1>Live</h1>
        <p class="hint">{samples.length > 0 && `since ${time(times[0] * 1e6).slice(11, 19)}, every ${every / 1000} s`}</p>
        <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>{paused ? "Go on" : "Pause"}</button>
      </div>
      <Failure error={error} retry={() => setError(null)} />
      {state(last).map((text) => <div key={text} class="notice bad" role="alert"><p>{text}</p></div>)}
      {samples.length === 0 && !error && <Loading what="The first rates need two looks at the metrics" />}
      {samples.length > 0 && (
        <div class="charts">
          <Chart title="Requests" times={times} print={perSecond} lines={routes.length > 0 ? routes.map((r) => line(brief(r), (s) => (r === "others" ? others(s, routes) : s.requests[r] ?? 0))) : [line("all", () => 0)]} />
          <div class="with-route">
            <Chart title={route ? `Latency of ${brief(route)}` : "Latency"} times={times} print={seconds} least={0.001} lines={[line("median", quantile(0)), line("95 %", quantile(1)), line("99 %", quantile(2))]} />
            <select aria-label="Latency of" value={route} onChange={(e) => setRoute(e.target.value)}>
              <option value="">all routes</option>
              {[...new Set(samples.flatMap((s) => Object.keys(s.latency)))].filter(Boolean).sort().map((r) => <option key={r} value={r}>{brief(r)}</option>)}
            </select>
          </div>
          <Chart title="Commits" times={times} print={perSecond} lines={[line("changes", (s) => s.commits), line("cells", (s) => s.entries)]} />
          <Chart title="Sync of the log" times={times} print={seconds} least={0.001} lines={[line("median", (s) => s.sync[0]), line("99 %", (s) => s.sync[1])]} />
          <Chart title="Bytes written" times={times} print={bytesPerSecond} least={1024} binary lines={[line("by clients", (s) => s.written.clients), line("flushes", (s) => s.written.flushes), line("compactions", (s) => s.written.compactions)]} />
          <Chart title="Compaction debt" times={times} print={bytes} least={1024} binary lines={[line("due", (s) => s.debt)]} />
          <Chart title="Stalls of writes" times={times} print={(n) => seconds(n) + "/s"} least={0.001} lines={reasons.length > 0 ? reasons.map((r) => line(r, (s) => s.stalls[r])) : [line("none", () => 0)]} />
          <Chart title="Blocks from the cache" times={times} print={share} least={1} top={1} lines={[line("share", (s) => s.cache)]} />
          <Chart title="Cells read" times={times} print={perSecond} lines={[line("scanned", (s) => s.scanned), line("returned", (s) => s.returned)]} />
          <Chart title="Memory" times={times} print={bytes} least={1024} binary lines={[line("memtables", (s) => s.memory.memtables), line("cache", (s) => s.memory.cache), line("requests", (s) => s.memory.requests)]} />
        </div>
      )}
    </>
  );
}

// busiest returns the routes with the most requests, and "others" if there are more.
function busiest(samples) {
  const sums = {};
  for (const s of samples) for (const [r, n] of Object.entries(s.requests)) sums[r] = (sums[r] ?? 0) + n;
  const used = Object.keys(sums).filter((r) => sums[r] > 0).sort((a, b) => sums[b] - sums[a]);
  return used.length > mostRoutes ? [...used.slice(0, mostRoutes), "others"] : used;
}

const others = (s, routes) => Object.entries(s.requests).reduce((n, [r, v]) => (routes.includes(r) ? n : n + v), 0);
