import { useState } from "preact/hooks";
import { bytes, count, plural } from "../format.js";
import { Bar, Empty, Stat } from "../parts.jsx";
import { Act, useRefusal } from "../rights.jsx";
import { familyPath, FamilySettings, NewFamily } from "../schema/families.jsx";
import { Drop, Settings } from "../schema/settings.jsx";
import { garbage } from "../schema/words.jsx";

// Overview shows of what a table is made: families, and the partitions that hold them, to scale.
export function Overview({ table, reload }) {
  const sum = (field) => table.partitions.reduce((n, p) => n + p[field], 0);
  const damaged = table.partitions.filter((p) => p.error);
  return (
    <>
      {damaged.map((p) => (
        <div key={p.name} class="notice bad" role="alert">
          <div><strong>{p.name} is damaged</strong><p>{p.error}</p></div>
        </div>
      ))}
      <div class="row">
        <dl class="stats">
          <Stat name="On disk" value={bytes(table.disk_space_in_bytes)} />
          <Stat name="In memory" value={bytes(sum("memtable_bytes"))} note="not in sorted files yet" />
          <Stat name="Cells in files" value={count(sum("cells"))} note="versions and tombstones" />
          <Stat name="Damage" value={damaged.length === 0 ? "none" : plural(damaged.length, "partition")} />
        </dl>
        <button type="button" onClick={reload}>Refresh</button>
      </div>
      <Families table={table} reload={reload} />
      <Partitions table={table} />
      <Settings table={table} reload={reload} />
    </>
  );
}

function Families({ table, reload }) {
  const [dialog, setDialog] = useState(null); // {kind, family}
  const refusal = useRefusal("admin", table.name);
  const close = () => setDialog(null);
  const done = () => { close(); reload(); };
  const families = table.column_families;
  const groupOf = (name) => table.locality_groups.findIndex((g) => g.column_families.includes(name));
  return (
    <section aria-labelledby="families">
      <div class="row">
        <h2 id="families">Column families</h2>
        <Act refusal={refusal} onClick={() => setDialog({ kind: "new" })}>New family</Act>
      </div>
      {families.length === 0 ? (
        <Empty title="No column family yet"><p>Cells are written into families, so a table needs one.</p></Empty>
      ) : (
        <div class="card scroll" role="region" aria-labelledby="families" tabindex="0">
          <table class="list families">
            <thead><tr><th>Name</th><th>Locality group</th><th>Garbage</th><th><span class="sr">Changes</span></th></tr></thead>
            <tbody>
              {families.map((f) => (
                <tr key={f.name}>
                  <th scope="row" class="mono">{f.name}</th>
                  <td class="group"><Group index={groupOf(f.name)} group={table.locality_groups[groupOf(f.name)]} moving={f.moving} /></td>
                  <td>{garbage(f.gc_settings)}</td>
                  <td><div class="row-do">
                    <Act aria-label={`Change the garbage of ${f.name}`} refusal={refusal} onClick={() => setDialog({ kind: "garbage", family: f })}>Change</Act>
                    <Act class="danger" aria-label={`Drop ${f.name}`} refusal={refusal ?? (table.deletion_protection ? "The table is protected from deletion." : null)} onClick={() => setDialog({ kind: "drop", family: f })}>Drop</Act>
                  </div></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {dialog?.kind === "new" && <NewFamily table={table} onClose={close} onDone={done} />}
      {dialog?.kind === "garbage" && <FamilySettings table={table} family={dialog.family} onClose={close} onDone={done} />}
      {dialog?.kind === "drop" && <Drop what="family" name={dialog.family.name} path={familyPath(table.name, dialog.family.name)} onClose={close} onDone={done}>
        All cells of this family go, in all rows of <code>{table.name}</code>.
      </Drop>}
    </section>
  );
}

function Group({ index, group, moving }) {
  return (
    <>
      <span class={"dot hue" + ((index + 1) % 6)} aria-hidden="true" />
      {group ? <span class="mono">{group.id}</span> : "default"}
      {moving && <span class="tag warn" title={moving.error ?? ""}>moving, {plural(moving.row_count, "row")} so far{moving.error ? ": stuck" : ""}</span>}
    </>
  );
}

function Partitions({ table }) {
  const scale = Math.max(1, ...table.partitions.flatMap((p) => [p.memtable_bytes, ...p.levels.map((l) => l.bytes)]));
  return (
    <section aria-labelledby="partitions">
      <h2 id="partitions">Partitions</h2>
      <p class="hint">Each is a tree of its own: a memtable, and levels of sorted files. All bars have one scale.</p>
      <div class="partitions">
        {table.partitions.map((p) => <Partition key={p.name} table={table} partition={p} scale={scale} />)}
      </div>
    </section>
  );
}

function Partition({ table, partition: p, scale }) {
  const index = table.locality_groups.findIndex((g) => p.name === "_lg_" + g.id);
  return (
    <article class={"card partition" + (p.error ? " damaged" : "")}>
      <header>
        <h3 class="mono">{p.name}</h3>
        <p>{p.name.startsWith("_man_") ? "metadata of the table" : <><span class={"dot hue" + ((index + 1) % 6)} aria-hidden="true" />{familiesIn(table, index)}</>}</p>
      </header>
      <div class="levels">
        <Level name="Memtable" bytes={p.memtable_bytes} scale={scale} kind="memory" note="" />
        {p.levels.map((l, i) => (l.files > 0 || i === 0) && <Level key={i} name={"Level " + i} bytes={l.bytes} scale={scale} note={plural(l.files, "file")} />)}
      </div>
      <footer>{bytes(p.disk_space_in_bytes)} on disk · {plural(p.cells, "cell")}{p.compaction && <span class="tag warn">compacting, {bytes(p.compaction.bytes_left)} left</span>}</footer>
    </article>
  );
}

function familiesIn(table, index) {
  if (index >= 0) return table.locality_groups[index].column_families.join(", ");
  const grouped = new Set(table.locality_groups.flatMap((g) => g.column_families));
  const rest = table.column_families.map((f) => f.name).filter((name) => !grouped.has(name));
  return rest.length > 0 ? rest.join(", ") : "no family";
}

function Level({ name, bytes: size, scale, kind, note }) {
  return (
    <div class="level">
      <span>{name}</span>
      <Bar part={size} whole={scale} kind={kind} label={`${name}: ${bytes(size)}`} />
      <span class="number">{bytes(size)}</span>
      <span class="number faint">{note}</span>
    </div>
  );
}
