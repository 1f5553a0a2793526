import { useEffect, useState } from "preact/hooks";
import { show, types } from "./bytes.js";
import { kinds } from "./question.js";

// Ask lets a person build a question by clicking. It is asked when it is sent.
export function Ask({ table, question, onAsk, verb = "Show", children }) {
  const [draft, setDraft] = useState(question);
  useEffect(() => setDraft(question), [question]);
  const change = (part) => setDraft((d) => ({ ...d, ...part }));
  const changeCondition = (i, part) => change({ conditions: draft.conditions.map((c, j) => (i === j ? { ...c, ...part } : c)) });
  function submit(event) {
    event.preventDefault();
    onAsk(draft);
  }
  function remove(i) {
    onAsk({ ...draft, conditions: draft.conditions.filter((_, j) => j !== i) });
  }
  function add(event) {
    const kind = event.target.value;
    event.target.value = "";
    change({ conditions: [...draft.conditions, { kind, ...kinds[kind].fresh }] });
  }
  const unused = Object.keys(kinds).filter((kind) => !draft.conditions.some((c) => c.kind === kind || (c.kind === "families" && kind === "column") || (c.kind === "column" && kind === "families")));
  return (
    <form class="ask" onSubmit={submit} aria-label="What to show">
      <div class="part">
        <select aria-label="Rows" value={draft.by} onChange={(e) => change({ by: e.target.value })}>
          <option value="all">All rows</option>
          <option value="prefix">Rows that begin with</option>
          <option value="range">Rows from … to</option>
          <option value="regex">Rows whose key matches</option>
        </select>
        {draft.by === "prefix" && <input class="mono" aria-label="Prefix" placeholder="prefix" value={draft.prefix ?? ""} onInput={(e) => change({ prefix: e.target.value })} />}
        {draft.by === "regex" && <input class="mono" aria-label="Regular expression of the row key" placeholder="user/.*" value={draft.regex ?? ""} onInput={(e) => change({ regex: e.target.value })} />}
        {draft.by === "range" && <>
          <Bound label="First row" placeholder="first row" value={draft.start} onChange={(start) => change({ start })} />
          <span>to</span>
          <Bound label="End, not included" placeholder="end, not included" value={draft.end} onChange={(end) => change({ end })} />
        </>}
      </div>
      {draft.conditions.map((c, i) => (
        <fieldset key={c.kind} class="part">
          <legend class="sr">{kinds[c.kind].name}</legend>
          <span>{kinds[c.kind].name}</span>
          <Condition table={table} condition={c} onChange={(part) => changeCondition(i, part)} />
          <button type="button" class="quiet" aria-label={"Remove: " + kinds[c.kind].name} onClick={() => remove(i)}>✕</button>
        </fieldset>
      ))}
      {unused.length > 0 && (
        <select class="add" aria-label="Add a condition" value="" onChange={add}>
          <option value="" disabled>+ Condition</option>
          {unused.map((kind) => <option key={kind} value={kind}>{kinds[kind].name}</option>)}
        </select>
      )}
      <label class="check"><input type="checkbox" checked={!!draft.reverse} onChange={(e) => onAsk({ ...draft, reverse: e.target.checked })} />Last first</label>
      <div class="ask-do">
        {children}
        <button type="submit" class="primary">{verb}</button>
      </div>
    </form>
  );
}

// Bound is a row key. One that is no UTF-8 can be taken away, not changed.
function Bound({ label, placeholder, value = "", onChange }) {
  if (typeof value === "string") return <input class="mono" aria-label={label} placeholder={placeholder} value={value} onInput={(e) => onChange(e.target.value)} />;
  return <button type="button" class="mono" aria-label={`Remove: ${label} ${show(value)}`} onClick={() => onChange("")}>{show(value)} ✕</button>;
}

function Condition({ table, condition: c, onChange }) {
  switch (c.kind) {
    case "families": {
      const flip = (name) => onChange({ families: c.families.includes(name) ? c.families.filter((f) => f !== name) : [...c.families, name] });
      return table.column_families.map((f) => (
        <label key={f.name} class="check mono"><input type="checkbox" checked={c.families.includes(f.name)} onChange={() => flip(f.name)} />{f.name}</label>
      ));
    }
    case "column":
      return <input class="mono" aria-label="Column key" placeholder="family:qualifier, or family:begin*" value={typeof c.key === "string" ? c.key : "(bytes)"} readonly={typeof c.key !== "string"} onInput={(e) => onChange({ key: e.target.value })} />;
    case "qualifier": case "matches":
      return <input class="mono" aria-label="Regular expression" placeholder="all of it matches, as in 20.*" value={c.regex} onInput={(e) => onChange({ regex: e.target.value })} />;
    case "time":
      return <>
        <input type="datetime-local" step="1" aria-label="From" value={c.start} onInput={(e) => onChange({ start: e.target.value })} />
        <span>and</span>
        <input type="datetime-local" step="1" aria-label="Until" value={c.end} onInput={(e) => onChange({ end: e.target.value })} />
      </>;
    case "value":
      return <>
        <select aria-label="Type" value={c.type} onChange={(e) => onChange({ type: e.target.value })}>{types.map((t) => <option key={t}>{t}</option>)}</select>
        <select aria-label="Comparison" value={c.op} onChange={(e) => onChange({ op: e.target.value })}>{["=", "!=", "<", "<=", ">", ">="].map((o) => <option key={o}>{o}</option>)}</select>
        <input class="mono" aria-label="Value" value={c.value} onInput={(e) => onChange({ value: e.target.value })} />
      </>;
  }
}
