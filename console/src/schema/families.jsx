import { useState } from "preact/hooks";
import { tablePath } from "../api.js";
import { bytes, plural } from "../format.js";
import { Dialog } from "../parts.jsx";
import { Field, Form, useChange } from "./form.jsx";
import { settings, written } from "./gc.js";
import { GCFields } from "./gcfields.jsx";

export const familyPath = (table, family) => tablePath(table, "/column-family/" + encodeURIComponent(family));

// NewFamily adds a family to a table.
export function NewFamily({ table, onClose, onDone }) {
  const [name, setName] = useState("");
  const [group, setGroup] = useState(false);
  const [gc, setGC] = useState(written(table.default_gc_settings ?? { ttl_secs: null, version_limit: null }));
  const change = useChange(onDone);
  const request = { method: "POST", path: tablePath(table.name, "/column-family"), body: { column_families: [{ name, gc_settings: settings(gc) }], locality_group: group } };
  return (
    <Dialog title="New family" onClose={onClose}>
      <Form label="New family" change={change} request={request} submit="Add" onCancel={onClose} places={["column_families[0].name", "column_families[0].gc_settings"]}>
        <Field label="Name" at="column_families[0].name" error={change.error}>
          <input class="mono" autofocus spellcheck={false} value={name} onInput={(e) => setName(e.target.value)} />
        </Field>
        <GCFields value={gc} onChange={setGC} at="column_families[0].gc_settings" error={change.error} />
        <label class="check"><input type="checkbox" checked={group} onChange={(e) => setGroup(e.target.checked)} />In a locality group of its own</label>
      </Form>
    </Dialog>
  );
}

// FamilySettings changes which versions of a family are garbage. Before it does, the server counts what would go.
export function FamilySettings({ table, family, onClose, onDone }) {
  const [gc, setGC] = useState(written(family.gc_settings));
  const [counted, setCounted] = useState(null); // what would go, and by which settings
  const change = useChange(onDone);
  const path = familyPath(table.name, family.name);
  const body = { gc_settings: settings(gc) };
  const by = JSON.stringify(gc);
  const figures = counted?.by === by ? counted : null;
  const count = useChange((result) => setCounted({ by, ...result }));
  const request = { method: "PATCH", path, body };
  const looked = Boolean(figures) || count.busy;
  function submit() {
    if (looked) change.send(request);
    else count.send({ ...request, body: { ...body, dry_run: true } });
  }
  const shown = { ...change, error: change.error ?? count.error, busy: change.busy };
  return (
    <Dialog title={<>What is garbage in <code>{family.name}</code></>} onClose={onClose}>
      <Form label="Garbage" change={shown} request={request} submit={figures ? "Change" : count.busy ? "Change without counting" : "Count what goes"} danger={figures?.cell_count > 0} onCancel={onClose} onSubmit={submit} places={["gc_settings"]}>
        <GCFields value={gc} onChange={setGC} at="gc_settings" error={shown.error} />
        {count.busy && <p class="loading" role="status">The server reads the family, to count what would go…</p>}
        {figures && (figures.cell_count === 0
          ? <div class="notice good" role="status"><p>Nothing goes of what reads return now.</p></div>
          : <div class="notice warn" role="status"><p><strong>{plural(figures.cell_count, "cell")} in {plural(figures.row_count, "row")} go</strong>, {bytes(figures.bytes)} in all. Reads do not return them from that moment on, and compaction frees their space.</p></div>)}
      </Form>
    </Dialog>
  );
}
