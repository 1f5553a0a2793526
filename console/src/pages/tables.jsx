import { call } from "../api.js";
import { bytes, count, plural } from "../format.js";
import { useLoad, useTitle } from "../hooks.js";
import { link } from "../route.js";
import { Bar, Code, Empty, Failure, Loading, Stat } from "../parts.jsx";
import { Act, someTable, useRefusal } from "../rights.jsx";
import { NewTable } from "../schema/newtable.jsx";
import { useState } from "preact/hooks";

// Tables lists those that the token may read.
export function Tables() {
  useTitle("Tables");
  const { value, error, loading, reload } = useLoad((signal) => call("GET", "/v1/table", undefined, { signal }), []);
  const [wanted, setWanted] = useState("");
  const [making, setMaking] = useState(false);
  const refusal = useRefusal("admin", someTable);
  if (error) return <Failure error={error} retry={reload} />;
  if (!value) return loading && <Loading what="Loading the tables" />;
  const tables = value.tables.items;
  const dialog = making && <NewTable onClose={() => setMaking(false)} />;
  const make = <Act class="primary" refusal={refusal} onClick={() => setMaking(true)}>New table</Act>;
  if (tables.length === 0) return <>{dialog}<NoTables make={make} refusal={refusal} /></>;
  const shown = tables.filter((t) => t.name.includes(wanted));
  const disk = tables.reduce((sum, t) => sum + t.disk_space_in_bytes, 0);
  const largest = Math.max(...tables.map((t) => t.disk_space_in_bytes));
  return (
    <>
      <div class="head">
        <h1>Tables</h1>
        <button type="button" onClick={reload}>Refresh</button>
        {make}
      </div>
      {dialog}
      <dl class="stats">
        <Stat name="Tables" value={count(tables.length)} />
        <Stat name="On disk" value={bytes(disk)} />
        <Stat name="Block cache" value={bytes(value.cache_stats.memory_usage_in_bytes)} note={plural(value.cache_stats.block_count, "block")} />
      </dl>
      {tables.length > 8 && (
        <input type="search" class="find" aria-label="Find a table" placeholder="Find a table" value={wanted} onInput={(e) => setWanted(e.target.value)} />
      )}
      {shown.length === 0 ? <p class="hint">No table has “{wanted}” in its name.</p> : <List tables={shown} largest={largest} />}
    </>
  );
}

function List({ tables, largest }) {
  return (
    <div class="card scroll" role="region" aria-label="Tables" tabindex="0">
      <table class="list">
        <thead><tr><th>Name</th><th class="number">Families</th><th class="number">Groups</th><th class="number wide">On disk</th></tr></thead>
        <tbody>
          {tables.map((t) => (
            <tr key={t.name}>
              <th scope="row">
                <a href={link("table", t.name)}>{t.name}</a>
                {t.deletion_protection && <span class="tag">protected</span>}
                {t.column_families.some((f) => f.moving) && <span class="tag warn">moving</span>}
              </th>
              <td class="number">{count(t.column_families.length)}</td>
              <td class="number">{count(t.locality_groups.length)}</td>
              <td class="number wide measured">
                <div><Bar part={t.disk_space_in_bytes} whole={largest} /><span>{bytes(t.disk_space_in_bytes)}</span></div>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function NoTables({ make, refusal }) {
  const { origin } = location;
  return (
    <Empty title="There is no table yet">
      <p>{make}</p>
      {refusal && <p class="hint">{refusal}</p>}
      <p>Or make one with two column families by a command. Families are created before they are written.</p>
      <Code label="Command that makes a table" text={`curl -X PUT ${origin}/v1/table/webtable \\\n  -d '{"column_families": [{"name": "title"}, {"name": "anchor"}]}'`} />
      <p>Or import a file, one row a line.</p>
      <Code label="Command that imports a file" text={`colonnade import examples/webtable.ndjson --url ${origin} \\\n  --table webtable --create-table --create-families`} />
    </Empty>
  );
}
