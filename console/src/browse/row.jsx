import { useEffect, useRef, useState } from "preact/hooks";
import { call, curl, lines, tablePath } from "../api.js";
import { ago, plural, time } from "../format.js";
import { useLoad } from "../hooks.js";
import { Code, Dialog, Failure, Loading } from "../parts.jsx";
import { Act, useRefusal } from "../rights.jsx";
import { columnKey, show, showValue, splitColumn } from "./bytes.js";
import { deleting, made } from "./change.js";
import { Editor } from "./editor.jsx";
import { Timeline } from "./timeline.jsx";

const firstVersions = 200;

// readRow is the request that reads so many versions of each family of a row.
const readRow = (row, families, limits) => ({
  items: families.map((f) => ({ row: { key: row, cell_limit: limits[f] ?? firstVersions }, column: { families: [f] } })),
});

// RowPanel shows a row whole: its families folded, their columns, and the versions of each as a timeline.
export function RowPanel({ table, row, onClose, onChanged, onGone, onAsk }) {
  const [limits, setLimits] = useState({});
  const [editing, setEditing] = useState(null);
  const [showing, setShowing] = useState(null); // "curl" or "delete"
  const families = table.column_families.map((f) => f.name);
  const request = readRow(row, families, limits);
  const { value, error, reload } = useLoad((signal) => families.length === 0 ? Promise.resolve({ rows: [] }) : lines(tablePath(table.name, "/rows"), request, { signal }), [JSON.stringify(request)]);
  const heading = useRef();
  const refusal = useRefusal("write", table.name);
  useEffect(() => heading.current.focus(), [JSON.stringify(row)]);
  function changed() {
    setEditing(null);
    reload();
    onChanged();
  }
  const cells = value?.rows.flatMap((r) => r.cells) ?? [];
  const groups = families.map((name) => ({ name, columns: columnsOf(cells, name) })).filter((g) => g.columns.length > 0);
  return (
    <aside class="card panel" aria-label="Row" onKeyDown={(e) => e.key === "Escape" && !e.target.closest("dialog") && onClose()}>
      <header>
        <h2 class="mono" tabindex="-1" ref={heading}>{show(row)}</h2>
        <button type="button" class="quiet" aria-label="Close the row" onClick={onClose}>✕</button>
      </header>
      <div class="panel-do">
        <Act refusal={refusal} onClick={() => setEditing({ fresh: true })}>Add a cell</Act>
        <button type="button" onClick={() => setShowing("curl")}>curl</button>
        <button type="button" onClick={reload}>Refresh</button>
        <Act class="danger" refusal={refusal} onClick={() => setShowing("delete")}>Delete row</Act>
      </div>
      {editing?.fresh && <Editor table={table} row={row} onDone={changed} onCancel={() => setEditing(null)} />}
      <Failure error={error} retry={reload} />
      {!value && !error && <Loading what="Loading the row" />}
      {value && groups.length === 0 && <p class="hint">This row has no cells any more.</p>}
      {groups.map((g) => {
        const versions = g.columns.reduce((n, c) => n + c.versions.length, 0);
        const limit = limits[g.name] ?? firstVersions;
        return (
          <details key={g.name} open={g.columns.length <= 24 || groups.length === 1}>
            <summary><span class="mono">{g.name}</span><small class="faint">{plural(g.columns.length, "column")}{versions >= limit && ", and more"}</small></summary>
            {g.columns.map((c) => (
              <Column key={JSON.stringify(c.qualifier)} table={table} row={row} column={c} onAsk={onAsk} refusal={refusal}
                editing={editing && !editing.fresh && JSON.stringify(editing.key) === JSON.stringify(c.key) ? editing : null}
                onEdit={(from) => setEditing({ key: c.key, from })} onCancel={() => setEditing(null)} onChanged={changed} />
            ))}
            {versions >= limit && <button type="button" onClick={() => setLimits({ ...limits, [g.name]: limit * 5 })}>Load more of {g.name}</button>}
          </details>
        );
      })}
      {showing === "curl" && <Dialog title="This row with curl" onClose={() => setShowing(null)}><Code label="Command" text={curl("POST", tablePath(table.name, "/rows"), request)} /></Dialog>}
      {showing === "delete" && <DeleteRow table={table} row={row} onClose={() => setShowing(null)} onDone={onGone} />}
    </aside>
  );
}

// columnsOf returns the columns of a family with their versions, in the order of the answer.
function columnsOf(cells, name) {
  const columns = [];
  for (const cell of cells) {
    const { family, qualifier } = splitColumn(cell.column_key);
    if (family !== name) continue;
    const last = columns.at(-1);
    if (last && JSON.stringify(last.qualifier) === JSON.stringify(qualifier)) last.versions.push(cell);
    else columns.push({ key: columnKey(family, qualifier), family, qualifier, versions: [cell] });
  }
  return columns;
}

function Column({ table, row, column: c, refusal, editing, onEdit, onCancel, onChanged, onAsk }) {
  const [open, setOpen] = useState(false);
  const [error, setError] = useState(null);
  const newest = c.versions[0];
  const name = c.qualifier === "" ? c.family + ":" : show(c.qualifier);
  async function remove() {
    const request = deleting(row, c.family, c.qualifier, newest);
    try {
      const answer = await call("POST", tablePath(table.name, "/check-and-mutate"), request);
      if (made(request, answer)) onChanged();
      else setError({ message: "Somebody has changed this column since you loaded it, so nothing was deleted. Refresh the row to see what it has now." });
    } catch (e) {
      setError(e);
    }
  }
  return (
    <div class="column">
      <div class="column-head">
        <button type="button" class="quiet column-name mono" aria-expanded={open} onClick={() => setOpen(!open)}>{name}</button>
        <span class="faint"><small>{newest.type}</small>{c.versions.length > 1 && <small> · {plural(c.versions.length, "version")}</small>}</span>
        <Act class="quiet" aria-label={"Edit " + name} refusal={refusal} onClick={() => onEdit(newest)}>Edit</Act>
      </div>
      <Value cell={newest} />
      <small class="faint" title={time(newest.time)}>{ago(newest.time)}</small>
      {open && (
        <div class="versions">
          <Timeline versions={c.versions} refusal={refusal} onUse={onEdit} />
          <div class="column-do">
            <button type="button" onClick={() => onAsk({ kind: "column", key: c.key })}>Show only this column</button>
            <button type="button" onClick={() => onAsk({ kind: "column", key: c.key }, { kind: "value", op: "=", type: newest.type, value: showValue(newest) })}>Rows with this value</button>
            <Act class="danger" refusal={refusal} onClick={remove}>Delete column</Act>
          </div>
        </div>
      )}
      <Failure error={error} />
      {editing && <Editor table={table} row={row} column={c} from={editing.from} onDone={onChanged} onCancel={onCancel} />}
    </div>
  );
}

function Value({ cell }) {
  const [whole, setWhole] = useState(false);
  const text = showValue(cell);
  if (text === "") return <p class="value faint">empty</p>;
  return (
    <>
      <p class={"value" + (cell.type === "string" ? "" : " mono")}>{whole ? text : text.slice(0, 400)}{!whole && text.length > 400 && "…"}</p>
      {text.length > 400 && <button type="button" class="quiet" onClick={() => setWhole(!whole)}>{whole ? "Less" : `All ${plural(text.length, "character")}`}</button>}
    </>
  );
}

function DeleteRow({ table, row, onClose, onDone }) {
  const [error, setError] = useState(null);
  async function remove() {
    try {
      await call("POST", tablePath(table.name, "/mutate"), { items: [{ row_key: row, mutations: [{ delete_row: true }] }] });
      onDone();
    } catch (e) {
      setError(e);
    }
  }
  return (
    <Dialog title="Delete this row?" onClose={onClose}>
      <p>All cells of <code>{show(row)}</code> go, in all families, with all versions.</p>
      <Failure error={error} />
      <div class="dialog-do">
        <button type="button" onClick={onClose}>Keep it</button>
        <button type="button" class="danger" onClick={remove}>Delete the row</button>
      </div>
    </Dialog>
  );
}
