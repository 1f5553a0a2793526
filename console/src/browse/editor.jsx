import { useState } from "preact/hooks";
import { call, curl, lines, tablePath } from "../api.js";
import { time } from "../format.js";
import { Code, Dialog, Failure } from "../parts.jsx";
import { columnKey, readValue, showValue, types } from "./bytes.js";
import { made, making, setting } from "./change.js";

// Editor writes a version of a column, if that still is what was seen. Without a column it makes one; without a row it
// makes that, too. from is the version whose value it begins with.
export function Editor({ table, row, column, from, onDone, onCancel }) {
  const [key, setKey] = useState("");
  const [family, setFamily] = useState(column?.family ?? table.column_families[0]?.name ?? "");
  const [qualifier, setQualifier] = useState(column?.qualifier ?? "");
  const [type, setType] = useState(from?.type ?? "string");
  const [text, setText] = useState(from ? showValue(from) : "");
  const [seen, setSeen] = useState(column?.versions[0]);
  const [error, setError] = useState(null);
  const [conflict, setConflict] = useState(null);
  const [showing, setShowing] = useState(false);
  const at = row ?? key;
  const value = readValue(type, text);
  const request = row === undefined ? making(at, family, qualifier, type, value) : setting(at, family, qualifier, seen, type, value);

  async function save(event) {
    event.preventDefault();
    setError(null);
    try {
      const answer = await call("POST", tablePath(table.name, "/check-and-mutate"), request);
      if (made(request, answer)) return onDone(at);
      setConflict(await newestOf(table, at, family, qualifier));
    } catch (e) {
      setError(e);
    }
  }
  function useTheirs() {
    setSeen(conflict ?? undefined);
    if (conflict) {
      setType(conflict.type);
      setText(showValue(conflict));
    }
    setConflict(null);
  }
  return (
    <form class="editor" onSubmit={save} aria-label={column ? "Edit a cell" : row === undefined ? "New row" : "New cell"}>
      {row === undefined && <label>Row key<input class="mono" required value={key} onInput={(e) => setKey(e.target.value)} autofocus /></label>}
      {!column && (
        <div class="editor-line">
          <label>Family<select value={family} onChange={(e) => setFamily(e.target.value)}>{table.column_families.map((f) => <option key={f.name}>{f.name}</option>)}</select></label>
          <label class="grow">Qualifier<input class="mono" value={qualifier} onInput={(e) => setQualifier(e.target.value)} placeholder="may be empty" /></label>
        </div>
      )}
      <div class="editor-line">
        <label>Type<select value={type} onChange={(e) => setType(e.target.value)}>{types.map((t) => <option key={t}>{t}</option>)}</select></label>
        <label class="grow">Value{type === "bytes" && " (base64)"}<Input type={type} text={text} onText={setText} /></label>
      </div>
      {conflict !== null && (
        <div class="notice warn" role="alert">
          <div>
            <strong>Somebody was faster</strong>
            <p>{row === undefined ? "There is such a row already." : conflict === undefined ? "The column has been deleted."
              : <>The column has <code>{showValue(conflict).slice(0, 200)}</code> now, written {time(conflict.time)}.</>} Nothing was changed.</p>
          </div>
          {row !== undefined && <button type="button" onClick={useTheirs}>Go on from that</button>}
        </div>
      )}
      <Failure error={error} />
      <div class="editor-do">
        <button type="button" class="quiet" onClick={onCancel}>Cancel</button>
        <button type="button" onClick={() => setShowing(true)}>curl</button>
        <button type="submit" class="primary">Save</button>
      </div>
      {showing && <Dialog title="This change with curl" onClose={() => setShowing(false)}><Code label="Command" text={curl("POST", tablePath(table.name, "/check-and-mutate"), request)} />
        <p class="hint">It is made only if the column still has what you saw.</p></Dialog>}
    </form>
  );
}

function Input({ type, text, onText }) {
  const props = { value: text, onInput: (e) => onText(e.target.value), spellcheck: false };
  switch (type) {
    case "boolean": return <select value={text === "true" ? "true" : "false"} onChange={(e) => onText(e.target.value)}><option>false</option><option>true</option></select>;
    case "string": case "bytes": return <textarea rows={Math.min(12, Math.max(2, text.split("\n").length + Math.floor(text.length / 60)))} {...props} />;
  }
  return <input class="mono" inputmode="decimal" required {...props} />;
}

// newestOf returns the newest version of a column, undefined if it has none.
async function newestOf(table, row, family, qualifier) {
  const { rows } = await lines(tablePath(table.name, "/rows"), { items: [{ row: { key: row }, column: { key: columnKey(family, qualifier), cell_limit: 1 } }] });
  return rows[0]?.cells[0];
}
