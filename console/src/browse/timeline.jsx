import { useState } from "preact/hooks";
import { ago, time } from "../format.js";
import { Act } from "../rights.jsx";
import { showValue } from "./bytes.js";

// Timeline draws the versions of a column where they are in time, and lists them newest first. onUse is called with the
// version that somebody wants to write again.
export function Timeline({ versions, refusal, onUse }) {
  const [at, setAt] = useState(0);
  const newest = Number(versions[0].time);
  const oldest = Number(versions.at(-1).time);
  const place = (v) => (newest === oldest ? 50 : (100 * (Number(v.time) - oldest)) / (newest - oldest));
  return (
    <>
      {versions.length > 1 && (
        <div class="timeline" aria-hidden="true">
          <div class="axis">
            {versions.map((v, i) => <span key={String(v.time)} class={"tick" + (i === at ? " at" : "")} style={{ left: place(v) + "%" }} title={time(v.time)} onClick={() => setAt(i)} />)}
          </div>
          <div class="ends"><small>{ago(oldest)}</small><small>{ago(newest)}</small></div>
        </div>
      )}
      <ol class="version-list" aria-label="Versions, newest first">
        {versions.map((v, i) => (
          <li key={String(v.time)} class={i === at && versions.length > 1 ? "at" : ""} onMouseEnter={() => setAt(i)}>
            <time class="mono" title={String(v.time)}>{time(v.time)}</time>
            <span class="version-value mono">{showValue(v).slice(0, 200) || "empty"}</span>
            <small class="faint">{v.type}</small>
            {i > 0 && <Act class="quiet" aria-label={"Write again the version of " + time(v.time)} refusal={refusal} onClick={() => onUse(v)}>Write again</Act>}
          </li>
        ))}
      </ol>
    </>
  );
}
