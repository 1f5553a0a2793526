import { useState } from "preact/hooks";
import { call, text } from "../api.js";
import { ago, bytes, count, plural, time } from "../format.js";
import { useLoad, useTitle } from "../hooks.js";
import { parse, sum } from "../live/metrics.js";
import { Code, Failure, Loading, Stat } from "../parts.jsx";
import { Act, allTables, useRefusal } from "../rights.jsx";
import { useChange } from "../schema/form.jsx";

// Backups shows what there is to restore from, as far as the server knows it.
export function Backups() {
  useTitle("Backups");
  const refusal = useRefusal("admin", allTables);
  return (
    <>
      <div class="head"><h1>Backups</h1></div>
      {refusal ? <p class="hint">{refusal}</p> : <><Checkpoints /><Archive /><Commands /></>}
    </>
  );
}

function Checkpoints() {
  const { value, error, reload } = useLoad((signal) => call("GET", "/v1/checkpoint", undefined, { signal }), []);
  const change = useChange(reload);
  const all = value?.checkpoints ?? [];
  return (
    <section aria-labelledby="checkpoints">
      <div class="row">
        <h2 id="checkpoints">Checkpoints</h2>
        <span class="row-do">
          <button type="button" onClick={reload}>Refresh</button>
          <Act class="primary" disabled={change.busy} onClick={() => change.send({ method: "POST", path: "/v1/checkpoint" })}>New checkpoint</Act>
        </span>
      </div>
      <p class="hint">Files on the machine of the server that are a copy of the store as of one moment, for programs that make backups. Each goes ten minutes after it was last read.</p>
      <Failure error={change.error ?? error} />
      {!value && !error && <Loading what="Loading the checkpoints" />}
      {value && all.length === 0 && <p class="settled">There is none.</p>}
      {all.length > 0 && (
        <div class="card scroll" role="region" aria-labelledby="checkpoints" tabindex="0">
          <table class="list">
            <thead><tr><th>Made of</th><th>Tables</th><th class="number">Files</th><th>Goes</th><th>Directory</th><th><span class="sr">Changes</span></th></tr></thead>
            <tbody>
              {all.map((c) => (
                <tr key={c.id}>
                  <th scope="row">{time(c.time).slice(0, 19)}</th>
                  <td>{c.tables.length > 3 ? plural(c.tables.length, "table") : c.tables.join(", ") || "none"}</td>
                  <td class="number">{count(c.file_count)}, {bytes(c.bytes)}</td>
                  <td>{c.expires === null ? "is being read" : ago(c.expires)}</td>
                  <td class="mono">{c.path}</td>
                  <td><div class="row-do"><Act class="danger" aria-label={`Delete the checkpoint ${c.id}`} onClick={() => change.send({ method: "DELETE", path: "/v1/checkpoint/" + encodeURIComponent(c.id) })}>Delete</Act></div></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Archive() {
  const { value, error, reload } = useLoad(async (signal) => ({ metrics: parse(await text("/metrics", { signal })), at: Date.now() }), []);
  const of = (name) => sum(value.metrics, "colonnade_archive_" + name);
  const known = value && ["segments_total", "failures_total", "gaps_total", "stopped", "lag_seconds"].some((name) => of(name) > 0);
  return (
    <section aria-labelledby="archive">
      <div class="row"><h2 id="archive">Archive of the log</h2><button type="button" onClick={reload}>Ask again</button></div>
      <Failure error={error} />
      {value && !known && <p class="settled">Nothing has been archived since the server was started: it has no <code>--archive</code>, or nothing was written.</p>}
      {known && <>
        {of("stopped") > 0 && <div class="notice bad" role="alert"><p>The log is not archived any more: another server writes to the same place.</p></div>}
        {of("gaps_total") > 0 && <div class="notice bad" role="alert"><p>The archive has {plural(of("gaps_total"), "gap")}: make a backup, so that later times can be restored.</p></div>}
        <dl class="stats">
          <Stat name="Restorable until" value={time((value.at - of("lag_seconds") * 1000) * 1000).slice(0, 19)} note="with a backup before it" />
          <Stat name="Behind" value={`${of("lag_seconds").toFixed(1)} s`} />
          <Stat name="Archived" value={bytes(of("bytes_total"))} note={plural(of("segments_total"), "segment")} />
          <Stat name="Failures" value={count(of("failures_total"))} note="tried again" />
        </dl>
      </>}
    </section>
  );
}

function Commands() {
  const { origin } = location;
  return (
    <section aria-labelledby="commands">
      <h2 id="commands">Commands</h2>
      <p class="hint">Backups are kept in a repository, a directory or <code>s3://BUCKET/PREFIX</code>, and restored by the command line.</p>
      <Code label="Command that makes a backup" text={`colonnade backup create /backup/colonnade --url ${origin}`} />
      <p class="hint">What there is, and a restore of the newest backup, into a directory that a server can serve:</p>
      <Code label="Commands that list and restore backups" text={"colonnade backup list /backup/colonnade\ncolonnade backup restore /backup/colonnade /var/lib/colonnade-restored"} />
      <p class="hint">With an archive beside the backups, to the last second that it has:</p>
      <Code label="Command that restores to the last second" text="colonnade backup restore /backup/colonnade /var/lib/colonnade-latest --until latest" />
    </section>
  );
}
