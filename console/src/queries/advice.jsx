import { useState } from "preact/hooks";
import { call, tablePath } from "../api.js";
import { bytes, count, plural, time } from "../format.js";
import { useLoad } from "../hooks.js";
import { Failure, Loading } from "../parts.jsx";
import { Act, useRefusal } from "../rights.jsx";
import { Stack } from "./stack.jsx";

// Advice shows what the queries of a table have read, and which families should move, each by a click.
export function Advice({ table, reload: reloadTable }) {
  const { value: a, error, reload } = useLoad((signal) => call("GET", tablePath(table.name, "/advice"), undefined, { signal }), [table.name]);
  const [failed, setFailed] = useState(null);
  const [moved, setMoved] = useState(null);
  const refusal = useRefusal("admin", table.name);
  async function apply(move) {
    setFailed(null);
    try {
      await call("PATCH", tablePath(table.name, "/column-family/" + encodeURIComponent(move.column_family)), move.body);
      setMoved(move.column_family);
      reload();
      reloadTable();
    } catch (e) {
      setFailed(e);
    }
  }
  if (error) return <Failure error={error} retry={reload} />;
  if (!a) return <Loading what="Measuring families" />;
  const moving = table.column_families.filter((f) => f.moving);
  return (
    <>
      <div class="row">
        <p class="hint">From the queries that the table has answered since {time(a.since).slice(0, 16)}.</p>
        <button type="button" onClick={() => { reload(); reloadTable(); }}>Refresh</button>
      </div>
      <Failure error={failed} />
      {moved && <div class="notice good" role="status"><p><code>{moved}</code> moves. It stays readable and writable meanwhile.</p></div>}
      {moving.map((f) => <div key={f.name} class="notice warn" role="status"><p><code>{f.name}</code> is on its way: {plural(f.moving.row_count, "row")}, {bytes(f.moving.bytes)} so far.{f.moving.error && " " + f.moving.error}</p></div>)}
      {refusal && a.moves.length > 0 && <p class="hint">{refusal}</p>}
      {a.moves.length > 0 ? (
        <ol class="moves">
          {a.moves.map((m, i) => (
            <li key={m.column_family} class="card">
              <div>
                <strong>Move <code>{m.column_family}</code> {place(m.body.locality_group, a)}</strong>
                <p class="hint">These queries would have read {saved(m.saves_bytes, bytes)}{m.saves_partitions !== 0 && <> and opened {saved(m.saves_partitions, (n) => plural(n, "partition"))}</>}. About {bytes(m.bytes)} move.</p>
              </div>
              <Act class="primary" refusal={refusal ?? (i > 0 ? "When the one before has arrived." : null)} onClick={() => apply(m)}>Move it</Act>
            </li>
          ))}
        </ol>
      ) : moving.length === 0 && <p class="settled">{a.queries.length === 0 ? "No query has been counted yet, so there is no advice." : "No move is worth while: the groups fit these queries."}</p>}
      {a.queries.length === 0 ? null : <Queries advice={a} />}
    </>
  );
}

const saved = (n, print) => (n >= 0 ? print(n) + " less" : print(-n) + " more");

function place(group, advice) {
  if (group === "new") return "into a group of its own";
  if (group === null) return "to the default partition";
  return "to " + (advice.column_families.filter((f) => f.locality_group === group).map((f) => f.name).join(", ") || group);
}

function Queries({ advice: a }) {
  const widest = Math.max(...a.queries.map((q) => q.bytes_read));
  return (
    <div class="card scroll" role="region" aria-label="Queries by families" tabindex="0">
      <table class="list">
        <thead><tr><th>Queries of</th><th class="number">Number</th><th class="wide">Read</th></tr></thead>
        <tbody>
          {a.queries.map((q) => (
            <tr key={q.column_families.join()}>
              <th scope="row" class="mono">{q.column_families.join(", ") || "no family"}</th>
              <td class="number">{count(q.query_count)}</td>
              <td class="wide"><Stack label="Bytes read" print={bytes} whole={widest} parts={[
                { name: "of their families", kind: "fill", value: Math.max(0, q.bytes_read - q.bytes_stepped_over) },
                { name: "of others", kind: "hue2", value: Math.min(q.bytes_read, q.bytes_stepped_over) },
              ]} /></td>
            </tr>
          ))}
        </tbody>
      </table>
      {a.other_query_count > 0 && <p class="hint">And {plural(a.other_query_count, "query", "queries")} of further sets of families.</p>}
    </div>
  );
}
