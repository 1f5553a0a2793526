import { useState } from "preact/hooks";
import { tablePath } from "../api.js";
import { link } from "../route.js";
import { Dialog } from "../parts.jsx";
import { Field, Form, useChange } from "./form.jsx";
import { noSettings, settings } from "./gc.js";
import { GCFields } from "./gcfields.jsx";

const noFamily = { name: "", group: 0, gc: noSettings };

// NewTable makes a table with its families, and goes there.
export function NewTable({ onClose }) {
  const [name, setName] = useState("");
  const [families, setFamilies] = useState([noFamily]);
  const change = useChange(() => { location.hash = link("table", name); });
  const set = (i, part) => setFamilies(families.map((f, j) => (i === j ? { ...f, ...part } : f)));
  const groups = Math.max(0, ...families.map((f) => f.group));
  const request = { method: "PUT", path: tablePath(name), body: specOf(families) };
  return (
    <Dialog title="New table" onClose={onClose}>
      <Form label="New table" change={change} request={request} submit="Create" onCancel={onClose}
        places={["path", ...families.flatMap((_, i) => [`column_families[${i}].name`, `column_families[${i}].gc_settings`])]}>
        <Field label="Name of the table" at="path" error={change.error}>
          <input class="mono" autofocus spellcheck={false} value={name} onInput={(e) => setName(e.target.value)} />
        </Field>
        {families.map((f, i) => (
          <fieldset key={i} class="family">
            <legend>Family {i + 1}</legend>
            <div class="editor-line">
              <div class="grow">
                <Field label="Name" at={`column_families[${i}].name`} error={change.error}>
                  <input class="mono" spellcheck={false} value={f.name} onInput={(e) => set(i, { name: e.target.value })} />
                </Field>
              </div>
              <Field label="Stored in" at="">
                <select value={f.group} onChange={(e) => set(i, { group: Number(e.target.value) })}>
                  <option value={0}>the default partition</option>
                  {Array.from({ length: groups + 1 }, (_, g) => <option key={g} value={g + 1}>locality group {g + 1}</option>)}
                </select>
              </Field>
            </div>
            <GCFields value={f.gc} onChange={(gc) => set(i, { gc })} at={`column_families[${i}].gc_settings`} error={change.error} />
            <button type="button" class="quiet" aria-label={`Remove family ${i + 1}`} onClick={() => setFamilies(families.filter((_, j) => j !== i))}>Remove</button>
          </fieldset>
        ))}
        <button type="button" class="more" onClick={() => setFamilies([...families, noFamily])}>Add a family</button>
        <p class="hint">Families that are read together belong into one locality group, those that are large and read seldom into another. Both can be changed later.</p>
      </Form>
    </Dialog>
  );
}

// specOf returns what the server makes the table of. The groups stand in the order of their numbers.
export function specOf(families) {
  const numbers = [...new Set(families.map((f) => f.group).filter(Boolean))].sort((a, b) => a - b);
  return {
    column_families: families.map((f) => ({ name: f.name, gc_settings: settings(f.gc) })),
    locality_groups: numbers.map((n) => families.filter((f) => f.group === n).map((f) => f.name)),
  };
}
