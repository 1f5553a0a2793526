import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { plural } from "../format.js";
import { Empty, Failure } from "../parts.jsx";
import { show, showValue, splitColumn } from "./bytes.js";
import { Pager } from "./pager.js";
import { rowCells } from "./question.js";

const rowHeight = 36;
// Browsers bound how high an element may be: beyond this, a pixel of the scroll bar is more than one of the rows.
const maxHeight = 12_000_000;
const shownFamilies = 8;

// Grid lists the rows of a scan. Only those that are seen are elements.
export function Grid({ table, families, request, chosen, changes, onChoose, onStatus, empty }) {
  const [, draw] = useState(0);
  const pager = useRef();
  const view = useRef();
  const [top, setTop] = useState(0); // in pixels of rows
  const [active, setActive] = useState(0);
  const asked = JSON.stringify(request);

  useLayoutEffect(() => {
    pager.current = new Pager(table, request, () => draw((n) => n + 1));
    setTop(0);
    setActive(0);
    if (view.current) view.current.scrollTop = 0;
    pager.current.look(0, 0);
    return () => pager.current.close();
  }, [table, asked]);

  const p = pager.current;
  const height = view.current?.clientHeight ?? 600;
  const total = (p?.count ?? 0) * rowHeight;
  const drawn = Math.min(total, maxHeight);
  const scale = drawn > height ? (total - height) / (drawn - height) : 1;
  const first = Math.max(0, Math.floor(top / rowHeight) - 4);
  const last = Math.min(p?.count ?? 0, Math.ceil((top + height) / rowHeight) + 4);

  useEffect(() => {
    p?.look(first, last);
    if (p) onStatus({ count: p.count, whole: p.whole, statistics: p.statistics });
  });

  useEffect(() => {
    if (changes > 0) p?.renew(first, last);
  }, [changes]);

  // Where a pixel of the scroll bar is more than one of the rows, more rows must not move those that are seen.
  useLayoutEffect(() => {
    if (scale > 1 && Math.abs(view.current.scrollTop * scale - top) > rowHeight) view.current.scrollTop = top / scale;
  }, [scale]);

  function move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: Math.floor(height / rowHeight) - 1, PageUp: 1 - Math.floor(height / rowHeight), Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "Enter" && p.row(active)) onChoose(p.row(active).row_key);
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(p.count - 1, active + step));
    setActive(next);
    const y = next * rowHeight;
    if (y < top) scrollTo(y);
    else if (y + rowHeight > top + height - rowHeight) scrollTo(y + 2 * rowHeight - height);
  }

  function scrollTo(y) {
    view.current.scrollTop = y / scale;
    setTop(y);
  }

  if (p?.error && p.count === 0) return <Failure error={p.error} retry={() => p.retry(0, 0)} />;
  if (p?.whole && p.count === 0) return empty;
  const columns = families.slice(0, shownFamilies);
  const n = Math.max(columns.length, 1);
  const template = { gridTemplateColumns: `minmax(var(--key), 1.3fr) repeat(${n}, minmax(11rem, 1fr))` };
  const least = `calc(var(--key) + ${11 * n}rem)`;
  const rows = [];
  for (let i = first; i < last; i++) {
    rows.push(<Row key={i} id={"row-" + i} index={i} row={p.row(i)} gone={p.gone(i)} columns={columns} template={template} active={i === active}
      chosen={chosen !== undefined && JSON.stringify(p.row(i)?.row_key) === chosen} onChoose={() => { setActive(i); onChoose(p.row(i).row_key); }} />);
  }
  return (
    <>
      {p?.error && <Failure error={p.error} retry={() => p.retry(first, last)} />}
      <div class="card grid" role="grid" aria-label="Rows" aria-rowcount={p?.whole ? p.count + 1 : -1} aria-activedescendant={p?.count ? "row-" + active : undefined}
        tabindex="0" ref={view} onKeyDown={move} onScroll={() => setTop(view.current.scrollTop * scale)}>
        <div class="grid-head" role="row" aria-rowindex="1" style={{ ...template, minWidth: least }}>
          <span role="columnheader">Row key</span>
          {columns.map((f) => <span key={f} role="columnheader" class="mono">{f}</span>)}
          {columns.length === 0 && <span role="columnheader">Cells</span>}
        </div>
        <div class="grid-body" role="rowgroup" style={{ height: drawn + "px", minWidth: least }}>
          <div class="grid-seen" role="presentation" style={{ transform: `translateY(${first * rowHeight - top + top / scale}px)` }}>{rows}</div>
        </div>
      </div>
      {families.length > shownFamilies && <p class="hint">{plural(families.length - shownFamilies, "more family", "more families")} in the rows: choose families to see them here.</p>}
    </>
  );
}

function Row({ id, index, row, gone, columns, template, active, chosen, onChoose }) {
  if (!row) return <div id={id} role="row" aria-rowindex={index + 2} class="grid-row waiting" style={template}><span role="gridcell">{gone ? "deleted meanwhile" : "…"}</span></div>;
  const cut = row.cells.length >= rowCells;
  const groups = new Map();
  for (const cell of row.cells) {
    const { family, qualifier } = splitColumn(cell.column_key);
    if (!groups.has(family)) groups.set(family, []);
    groups.get(family).push({ qualifier, cell });
  }
  const reached = cut ? [...groups.keys()].at(-1) : null;
  return (
    <div id={id} role="row" aria-rowindex={index + 2} aria-selected={chosen} class={"grid-row" + (active ? " active" : "") + (chosen ? " chosen" : "")} style={template} onClick={onChoose}>
      <span role="rowheader" class="mono">{show(row.row_key)}</span>
      {columns.map((f) => <Fold key={f} cells={groups.get(f)} cut={cut && (f >= reached)} />)}
    </div>
  );
}

// Fold shows the cells of a family on one line.
function Fold({ cells, cut }) {
  if (!cells) return <span role="gridcell" class="faint">{cut ? "…" : ""}</span>;
  return (
    <span role="gridcell">
      {cells.length > 1 || cut ? <b class="many">{cells.length}{cut && "+"}</b> : null}
      {cells.slice(0, 4).map(({ qualifier, cell }, i) => (
        <span key={i} class="pair">{qualifier !== "" && <i>{show(qualifier)}</i>}{short(showValue(cell))}</span>
      ))}
    </span>
  );
}

const short = (text) => (text.length > 120 ? text.slice(0, 120) + "…" : text);
