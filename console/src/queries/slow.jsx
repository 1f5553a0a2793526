import { useState } from "preact/hooks";
import { call } from "../api.js";
import { ago, bytes, count, micros, plural, time } from "../format.js";
import { useLoad } from "../hooks.js";
import { link } from "../route.js";
import { Bar, Code, Dialog, Failure, Loading } from "../parts.jsx";
import { allTables, useRefusal } from "../rights.jsx";
import { Explanation } from "./explanation.jsx";

// Slow lists the last slow queries, of one table or of all. A click opens the picture of one.
export function Slow({ table }) {
  const refusal = useRefusal("admin", allTables);
  const { value, error, loading, reload } = useLoad((signal) => (refusal ? Promise.resolve(null) : call("GET", "/v1/slow-query", undefined, { signal })), [refusal]);
  const [open, setOpen] = useState(null);
  if (refusal) return <p class="hint">{refusal}</p>;
  if (error) return <Failure error={error} retry={reload} />;
  if (!value) return loading && <Loading what="Loading the slow queries" />;
  const queries = value.queries.filter((q) => !table || q.table === table);
  const widest = Math.max(1, ...queries.map((q) => q.explain.cells.scanned));
  return (
    <>
      <div class="row">
        <p class="hint">{value.limit_micros === null
          ? <>The server keeps none: start it with <code>--slow-query-ms</code>, as in the command below.</>
          : <>Queries that took {micros(value.limit_micros)} or longer, the newest first.</>}</p>
        <button type="button" onClick={reload}>Refresh</button>
      </div>
      {value.limit_micros === null && queries.length === 0 && <Code label="Command that keeps slow queries" text="colonnade serve --slow-query-ms 100" />}
      {value.limit_micros !== null && queries.length === 0 && <p class="settled">No query has been slow{table && " here"} since the server was started.</p>}
      {queries.length > 0 && (
        <div class="card scroll" role="region" aria-label="Slow queries" tabindex="0">
          <table class="list slow">
            <thead><tr><th>Took</th>{!table && <th>Table</th>}<th>Query</th><th class="wide">Cells scanned and returned</th><th>When</th></tr></thead>
            <tbody>{queries.map((q, i) => <Query key={q.time + "-" + i} query={q} widest={widest} withTable={!table} onOpen={() => setOpen(q)} />)}</tbody>
          </table>
        </div>
      )}
      {open && <Dialog wide title={<>{micros(open.took_micros)} in <code>{open.table}</code></>} onClose={() => setOpen(null)}>
        <p class="hint">{way(open.route)} of {shapeOf(open)}, {time(open.time)}{open.token && <>, by {open.token_name || open.token}</>}. {bytes(open.bytes_out)} were answered, with status {open.status}.</p>
        <Explanation explain={open.explain} />
      </Dialog>}
    </>
  );
}

function Query({ query: q, widest, withTable, onOpen }) {
  const { scanned, returned } = q.explain.cells;
  return (
    <tr>
      <th scope="row"><button type="button" aria-label={`${micros(q.took_micros)}: open the picture`} onClick={onOpen}>{micros(q.took_micros)}</button></th>
      {withTable && <td><a href={link("table", q.table)}>{q.table}</a></td>}
      <td>{way(q.route)} <span class="faint">of {shapeOf(q)}</span></td>
      <td class="wide">
        <span class="against">
          <Bar part={scanned} whole={widest} kind="scanned" label={`${count(scanned)} scanned`} />
          <Bar part={returned} whole={widest} label={`${count(returned)} returned`} />
        </span>
        <small>{count(returned)} of {count(scanned)} returned</small>
      </td>
      <td title={time(q.time)}>{ago(q.time)}</td>
    </tr>
  );
}

// way is the last word of a route.
const way = (route) => route.split("/").at(-1);

// shapeOf says in words what a query selects by. The server keeps nothing of a row.
export function shapeOf({ query: s, items }) {
  const parts = [s.rows === "all" ? "all rows" : [s.rows.keys && plural(s.rows.keys, "row key"), s.rows.ranges && plural(s.rows.ranges, "range")].filter(Boolean).join(" and ") || "no rows"];
  if (items) parts.unshift(plural(items, "item") + ", the first:");
  if (s.families) parts.push(`families ${s.families.join(", ")}`);
  if (s.columns && s.columns !== s.families?.length) parts.push(plural(s.columns, "range of columns", "ranges of columns"));
  if (s.times) parts.push("some times");
  if (s.value) parts.push(`values ${s.value}`);
  if (s.filter) parts.push(s.filter);
  for (const name of ["row_limit", "row_cell_limit", "column_cell_limit", "cell_limit", "offset", "sample"]) if (s[name] !== undefined) parts.push(`${name.replaceAll("_", " ")} ${s[name]}`);
  for (const [name, words] of [["strip_value", "without values"], ["reverse", "last first"], ["later_page", "a later page"]]) if (s[name]) parts.push(words);
  return parts.join(", ");
}
