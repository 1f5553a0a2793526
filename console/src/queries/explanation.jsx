import { bytes, count, micros, plural } from "../format.js";
import { Stack } from "./stack.jsx";

// What became of the cells that a query stepped over.
const dropped = {
  columns: ["of other columns", "hue1", "not of the selected columns"],
  overwritten: ["overwritten", "hue3", "by a later write of the same time"],
  garbage: ["garbage", "hue4", "by the settings of the family, or of a family that was deleted"],
  deleted: ["deleted", "bad", "by a tombstone"],
  times: ["of other times", "hue2", "not of the selected times"],
  values: ["of other values", "hue5", "the comparison or the expression does not select them"],
  filter: ["left out by the filter", "hue5", "by the filter tree"],
  later: ["written since", "hue0", "after the read began"],
};

const names = {
  rows: "rows", families: "families", columns: "columns", times: "times", versions: "newest versions", values: "values", without_values: "no values",
  filter: "filter", filter_rows: "rows of the filter", filter_columns: "columns of the filter", filter_times: "times of the filter", filter_limits: "limits of the filter",
};

const ends = {
  rows: "all rows of the selection were looked at", filter_rows: "all rows that the filter leaves were looked at", row_limit: "the limit of rows was reached",
  cell_limit: "the limit of cells was reached", offset: "all rows were passed over by the offset", nothing_selected: "nothing was selected",
};

// Explanation draws what a query read against what it returned.
export function Explanation({ explain: x }) {
  const { cells, rows } = x;
  const lost = Object.entries(cells.dropped).map(([why, value]) => ({ name: dropped[why]?.[0] ?? why, kind: dropped[why]?.[1] ?? "hue0", why: dropped[why]?.[2], value }));
  const rest = Math.max(0, cells.scanned - cells.returned - cells.tombstones - lost.reduce((n, p) => n + p.value, 0));
  const share = cells.scanned > 0 ? (100 * cells.returned) / cells.scanned : 100;
  const widest = Math.max(1, ...x.partitions.map((p) => p.cells_scanned));
  return (
    <div class="explanation">
      <section class="card picture" aria-labelledby="scanned">
        <div class="row">
          <h2 id="scanned">Scanned against returned</h2>
          <p class="verdict"><b>{share >= 10 ? Math.round(share) : share.toPrecision(2)} %</b> of the cells that it scanned are in the answer</p>
        </div>
        <Stack label="Cells scanned" print={count} parts={[
          { name: "returned", kind: "fill", value: cells.returned }, ...lost,
          { name: "tombstones", kind: "bad", value: cells.tombstones },
          { name: "cut off", kind: "hue0", value: rest, why: "by limits, offset or sample" },
        ]} />
        <p class="hint">{plural(rows.scanned, "row")} and {plural(cells.scanned, "cell")} scanned, {plural(rows.returned, "row")} and {plural(cells.returned, "cell")} returned
          {Object.keys(x.ended).map((why) => `; it ended because ${ends[why] ?? why}`)}.</p>
        <Parts name="The server does not even read other" parts={x.pushed_down} />
        <Parts name="It checks on each cell that it reads" parts={x.checked} />
      </section>
      <section class="card picture" aria-labelledby="took">
        <h2 id="took">Time</h2>
        <Stack label="Time" print={micros} parts={["receive", "open", "read", "write"].map((part, i) => ({ name: part, kind: ["hue0", "hue3", "fill", "hue1"][i], value: x.micros[part] }))} />
        <p class="hint">{micros(x.micros.total)} in all.</p>
      </section>
      {x.partitions.map((p) => <Partition key={p.name} partition={p} widest={widest} />)}
    </div>
  );
}

function Parts({ name, parts }) {
  if (parts.length === 0) return null;
  return <p class="parts">{name}: {parts.map((p) => <span key={p} class="tag">{names[p] ?? p}</span>)}</p>;
}

function Partition({ partition: p, widest }) {
  return (
    <section class="card picture" aria-label={"Partition " + p.name}>
      <h2 class="mono">{p.name}</h2>
      <Stack label="Cells stepped over" print={count} whole={widest} parts={[{ name: "cells stepped over", kind: "fill", value: p.cells_scanned }]} />
      <p class="hint">{bytes(p.bytes_scanned)} of keys, times and values; {p.memtables > 0 ? plural(p.memtables, "memtable") : "no memtable"}{p.levels.length === 0 && ", no sorted file"}.</p>
      {p.levels.map((l) => <Level key={l.level} level={l} />)}
    </section>
  );
}

function Level({ level: l }) {
  const out = Object.entries(l.files_left_out).reduce((n, [, value]) => n + value, 0);
  return (
    <div class="explain-level">
      <h3>Level {l.level}</h3>
      <div>
        <Stack label={`Files of level ${l.level}`} print={(n) => plural(n, "file")} parts={[
          { name: "read", kind: "fill", value: l.files_read },
          { name: "left out", kind: "hue1", value: out, why: Object.entries(l.files_left_out).filter(([, n]) => n > 0).map(([why, n]) => `${why}: ${n}`).join(", ") },
          { name: "not come to", kind: "hue0", value: Math.max(0, l.files - l.files_read - out) },
        ]} />
        <Stack label={`Blocks of level ${l.level}`} print={(n) => plural(n, "block")} parts={[
          { name: "from files", kind: "hue2", value: l.blocks.read + l.value_blocks.read },
          { name: "from the cache", kind: "fill", value: l.blocks.cached + l.value_blocks.cached },
          { name: "left out", kind: "hue1", value: l.blocks_left_out.times + l.blocks_left_out.columns },
        ]} />
      </div>
    </div>
  );
}
