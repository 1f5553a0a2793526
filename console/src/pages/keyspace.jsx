import { useState } from "preact/hooks";
import { call, curl, tablePath } from "../api.js";
import { bytes, count, time } from "../format.js";
import { useLoad } from "../hooks.js";
import { link } from "../route.js";
import { Bar, Code, Dialog, Empty, Failure, Loading } from "../parts.jsx";
import { HeatMap, Scale } from "../keyspace/heatmap.jsx";
import { highest, hottest, loadOf, measures, rangeText } from "../keyspace/heat.js";

const spans = [{ hours: 1, name: "Last hour" }, { hours: 6, name: "Last 6 hours" }, { hours: 24, name: "Last day" }];
const mostRanges = 10;
const least = 6e8; // of time on the map, in microseconds

// KeySpace shows where in the row keys the load of a table was, over time.
export function KeySpace({ table }) {
  const [measure, setMeasure] = useState(null); // null until somebody chooses
  const [hours, setHours] = useState(1);
  const [dialog, setDialog] = useState(false);
  const path = () => tablePath(table.name, `/keyspace?start=${(Date.now() - hours * 36e5) * 1000}`);
  const { value, error, loading, reload } = useLoad(async (signal) => ({ now: Date.now() * 1000, hours, ...(await call("GET", path(), undefined, { signal })) }), [table.name, hours]);
  return (
    <>
      <div class="heat-ask">
        <select aria-label="Time" value={hours} onChange={(e) => setHours(Number(e.target.value))}>
          {spans.map((s) => <option key={s.hours} value={s.hours}>{s.name}</option>)}
        </select>
        <select aria-label="What is counted" value={(measure ?? busiest(value)).field} onChange={(e) => setMeasure(measures.find((m) => m.field === e.target.value))}>
          {measures.map((m) => <option key={m.field} value={m.field}>{m.name}</option>)}
        </select>
        <div class="heat-do">
          <button type="button" onClick={() => setDialog(true)}>curl</button>
          <button type="button" onClick={reload}>Refresh</button>
        </div>
      </div>
      <Failure error={error} retry={reload} />
      {!value && loading && <Loading />}
      {value && !error && (value.windows.length === 0
        ? <Empty title="No load in this time"><p>Nobody has read or written rows of this table. The server remembers a day, and forgets it when it restarts.</p></Empty>
        : <Load table={table} keySpace={value} measure={measure ?? busiest(value)} />)}
      {dialog && <Dialog title="The load with curl" onClose={() => setDialog(false)}><Code label="Command" text={curl("GET", path())} /></Dialog>}
    </>
  );
}

// busiest is what is shown first: writes of a table that nobody reads.
const busiest = (k) => measures.find((m) => k?.windows.some((w) => w.loads.some((l) => l[m.field] > 0))) ?? measures[0];

function Load({ table, keySpace: k, measure }) {
  const [looked, setLooked] = useState({ of: null, at: null });
  const at = looked.of === k ? looked.at : null; // other answers have other ranges
  const to = Math.max(k.now, k.windows.at(-1).end);
  const from = Math.max(to - k.hours * 36e8, Math.min(k.windows[0].start, to - least)); // a server that has just started has not much to show
  const browse = (range) => `${link("table", table.name, "browse")}?${new URLSearchParams({ q: JSON.stringify({ by: "range", ...k.ranges[range], conditions: [] }) })}`;
  return (
    <>
      <section class="card heat" aria-label="Heat map">
        <div class="row">
          <Readout keySpace={k} at={at} />
          <Scale most={highest(k.windows, measure.field)} measure={measure} />
        </div>
        <HeatMap keySpace={k} from={from} to={to} measure={measure} at={at} onAt={(at) => setLooked({ of: k, at })} onChoose={(range) => (location.href = browse(range))} describedBy="heat-read" />
      </section>
      <section aria-labelledby="hottest">
        <h2 id="hottest">Hottest ranges</h2>
        <p class="hint">Estimates, made of samples. Ranges are narrow where the load is.</p>
        <Hottest keySpace={k} measure={measure} browse={browse} />
      </section>
    </>
  );
}

// Readout says what the cell is that is looked at.
function Readout({ keySpace: k, at }) {
  const window = at && k.windows[at.window];
  const load = window && loadOf(window, at.range);
  return (
    <div class="heat-read" id="heat-read" role="status">
      {window ? <>
        <strong class="mono">{rangeText(k.ranges[at.range])}</strong>
        <span>{time(window.start).slice(0, 16)} to {time(window.end).slice(11, 16)}</span>
        <span>{load ? `read ${count(load.rows_read)} rows, ${bytes(load.bytes_read)} · written ${count(load.rows_written)} rows, ${bytes(load.bytes_written)}` : "no load"}</span>
      </> : <span class="faint">Point at the map, or move in it with the arrow keys. A click, or a second tap, browses the range.</span>}
    </div>
  );
}

function Hottest({ keySpace: k, measure, browse }) {
  const list = hottest(k, measure.field, mostRanges);
  if (list.length === 0) return <p class="settled">{measure.name}: none in this time.</p>;
  const print = measure.field.startsWith("rows") ? count : bytes;
  return (
    <div class="card scroll" role="region" aria-labelledby="hottest" tabindex="0">
      <table class="list">
        <thead><tr><th>Rows</th><th class="number">{measure.name}</th><th class="wide">Share</th><th>Most at</th></tr></thead>
        <tbody>
          {list.map((s) => (
            <tr key={s.range}>
              <th scope="row" class="mono heat-range"><a href={browse(s.range)}>{rangeText(k.ranges[s.range])}</a></th>
              <td class="number">{print(s.sum)}</td>
              <td class="wide measured"><div><Bar part={s.share} whole={1} /><span class="number">{(100 * s.share).toFixed(1)} %</span></div></td>
              <td class="number">{time(s.window.start).slice(0, 16)}, {measure.print(s.most)}/s</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
