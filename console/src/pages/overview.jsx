import { bytes, count, duration, plural } from "../format.js";
import { Bar, Empty, Stat } from "../parts.jsx";

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
      <Families table={table} />
      <Partitions table={table} />
    </>
  );
}

function Families({ table }) {
  const families = table.column_families;
  const groupOf = (name) => table.locality_groups.findIndex((g) => g.column_families.includes(name));
  return (
    <section aria-labelledby="families">
      <h2 id="families">Column families</h2>
      {families.length === 0 ? (
        <Empty title="No column family yet"><p>Cells are written into families, so a table needs one: see <code>POST …/column-family</code>.</p></Empty>
      ) : (
        <div class="card scroll" role="region" aria-labelledby="families" tabindex="0">
          <table class="list families">
            <thead><tr><th>Name</th><th>Locality group</th><th>Garbage</th></tr></thead>
            <tbody>
              {families.map((f) => (
                <tr key={f.name}>
                  <th scope="row" class="mono">{f.name}</th>
                  <td class="group"><Group index={groupOf(f.name)} group={table.locality_groups[groupOf(f.name)]} moving={f.moving} /></td>
                  <td>{garbage(f.gc_settings)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
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

// garbage says in words which versions go.
export function garbage({ ttl_secs: age, version_limit: limit, mode }) {
  const parts = [];
  if (limit !== null) parts.push(limit === 1 ? "older than the newest" : `beyond the newest ${limit}`);
  if (age !== null) parts.push(`older than ${duration(age)}`);
  if (parts.length === 0) return <span class="faint">every version stays</span>;
  return parts.join(mode === "intersection" ? " and " : " or ");
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
      <footer>{bytes(p.disk_space_in_bytes)} on disk · {plural(p.cells, "cell")}</footer>
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
