import { useEffect, useState } from "preact/hooks";
import { tablePath } from "../api.js";
import { bytes } from "../format.js";
import { Dialog, Failure } from "../parts.jsx";
import { Act, useRefusal } from "../rights.jsx";
import { Form, Field, useChange } from "./form.jsx";
import { settings, written } from "./gc.js";
import { GCFields } from "./gcfields.jsx";
import { garbage } from "./words.jsx";

const none = { ttl_secs: null, version_limit: null };

// Settings are those of a table as a whole, and what can be done to it.
export function Settings({ table, reload }) {
  const [dialog, setDialog] = useState(null);
  const refusal = useRefusal("admin", table.name);
  const guarded = table.deletion_protection;
  const protect = useChange(reload);
  const compact = useChange(reload);
  const compacting = table.partitions.filter((p) => p.compaction);
  const left = compacting.length > 0 ? compacting.reduce((n, p) => n + p.compaction.bytes_left, 0) : null;
  useEffect(() => { // how far it is
    if (left === null) return;
    const timer = setTimeout(reload, 1000);
    return () => clearTimeout(timer);
  }, [table]);
  const done = () => { setDialog(null); reload(); };
  return (
    <section aria-labelledby="settings">
      <h2 id="settings">Settings</h2>
      {refusal && <p class="hint">{refusal}</p>}
      <Failure error={protect.error ?? compact.error} />
      <div class="card settings">
        <div>
          <div><h3>Deletion protection</h3><p class="hint">{guarded ? "The table and its families cannot be deleted. Rows and cells can." : "Off: the table and its families can be deleted."}</p></div>
          <Act refusal={refusal} disabled={protect.busy} onClick={() => protect.send({ method: "PATCH", path: tablePath(table.name), body: { deletion_protection: !guarded } })}>{guarded ? "Lift the protection" : "Protect"}</Act>
        </div>
        <div>
          <div><h3>Garbage in new families</h3><p class="hint">Where a family is made without settings: {garbage(table.default_gc_settings ?? none)}.</p></div>
          <Act refusal={refusal} onClick={() => setDialog("default")}>Change</Act>
        </div>
        <div>
          <div><h3>Compaction</h3><p class="hint">{left === null
            ? "Rewrites the files without garbage and what was deleted. The server does so in time; this is for when the space is wanted now."
            : `The files are being rewritten, ${bytes(left)} are left. Reads and writes go on.`}</p></div>
          <Act refusal={refusal} disabled={compact.busy || left !== null} onClick={() => compact.send({ method: "POST", path: tablePath(table.name, "/compact") })}>Compact</Act>
        </div>
        <div>
          <div><h3>Drop the table</h3><p class="hint">With all its families and rows, {bytes(table.disk_space_in_bytes)} on disk.</p></div>
          <Act class="danger" refusal={refusal ?? (guarded ? "The table is protected from deletion." : null)} onClick={() => setDialog("drop")}>Drop table</Act>
        </div>
      </div>
      {dialog === "default" && <DefaultGC table={table} onClose={() => setDialog(null)} onDone={done} />}
      {dialog === "drop" && <Drop what="table" name={table.name} path={tablePath(table.name)} onClose={() => setDialog(null)} onDone={() => { location.hash = "#/"; }}>
        All rows of it go, in all families, and with them {bytes(table.disk_space_in_bytes)} on disk.
      </Drop>}
    </section>
  );
}

function DefaultGC({ table, onClose, onDone }) {
  const [gc, setGC] = useState(written(table.default_gc_settings ?? none));
  const change = useChange(onDone);
  const request = { method: "PATCH", path: tablePath(table.name), body: { default_gc_settings: settings(gc) } };
  return (
    <Dialog title="Garbage in new families" onClose={onClose}>
      <Form label="Garbage in new families" change={change} request={request} submit="Change" onCancel={onClose} places={["default_gc_settings"]}>
        <GCFields value={gc} onChange={setGC} at="default_gc_settings" error={change.error} />
        <p class="hint">Families that are there keep their settings.</p>
      </Form>
    </Dialog>
  );
}

// Drop deletes what a person has typed the name of.
export function Drop({ what, name, path, onClose, onDone, children }) {
  const [typed, setTyped] = useState("");
  const change = useChange(onDone);
  return (
    <Dialog title={`Drop the ${what}?`} onClose={onClose}>
      <Form label={`Drop the ${what}`} change={change} request={{ method: "DELETE", path }} submit={`Drop the ${what}`} danger ready={typed === name} onCancel={onClose}>
        <p>{children} This cannot be undone.</p>
        <Field label={<>Type <code>{name}</code> to confirm</>} at="">
          <input class="mono" autofocus autocomplete="off" spellcheck={false} value={typed} onInput={(e) => setTyped(e.target.value)} />
        </Field>
      </Form>
    </Dialog>
  );
}
