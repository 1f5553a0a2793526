import { useMemo, useState } from "preact/hooks";
import { curl, tablePath } from "../api.js";
import { count, plural } from "../format.js";
import { link, remember } from "../route.js";
import { Code, Dialog, Empty } from "../parts.jsx";
import { Act, useRefusal } from "../rights.jsx";
import { Ask } from "../browse/ask.jsx";
import { Editor } from "../browse/editor.jsx";
import { Grid } from "../browse/grid.jsx";
import { RowPanel } from "../browse/row.jsx";
import { listed, noQuestion, questionOf } from "../browse/question.js";

// Browse shows the rows that a person asks for, and one of them whole.
export function Browse({ table, query }) {
  const [question, setQuestion] = useState(() => questionOf(query));
  const [row, setRow] = useState(undefined);
  const [status, setStatus] = useState({ count: 0 });
  const [turn, setTurn] = useState(0);
  const [changes, setChanges] = useState(0);
  const [dialog, setDialog] = useState(null);
  const refusal = useRefusal("write", table.name);
  const request = useMemo(() => listed(question), [question]);
  function ask(q) {
    setQuestion(q);
    remember({ q: JSON.stringify(q) });
  }
  // A condition from a row takes the place of one of its kind.
  function askFor(...conditions) {
    const kept = question.conditions.filter((c) => !conditions.some((n) => n.kind === c.kind) && c.kind !== "families");
    ask({ ...question, conditions: [...kept, ...conditions] });
  }
  const chosen = question.conditions.find((c) => c.kind === "families" && c.families.length > 0);
  const families = table.column_families.map((f) => f.name).filter((f) => !chosen || chosen.families.includes(f));
  const asked = question.by !== "all" || question.conditions.length > 0;
  const follow = (s) => (s.count !== status.count || s.whole !== status.whole || s.statistics !== status.statistics) && setStatus(s);
  if (table.column_families.length === 0) {
    return <Empty title="This table has no column family yet"><p>Rows are written into families: <a href={link("table", table.name)}>make one</a> first.</p></Empty>;
  }
  return (
    <>
      <Ask table={table} question={question} onAsk={ask}>
        <Act refusal={refusal} onClick={() => setDialog("row")}>New row</Act>
        <button type="button" onClick={() => setDialog("curl")}>curl</button>
        <a class="button" href={`${link("table", table.name, "queries")}?${new URLSearchParams({ q: JSON.stringify(question) })}`}>Explain</a>
      </Ask>
      <p class="counted" role="status">
        {status.whole ? plural(status.count, "row") : status.count > 0 ? `${count(status.count)} rows so far` : " "}
        {status.statistics && <span class="faint"> · the last page scanned {plural(status.statistics.cells_scanned, "cell")} for {plural(status.statistics.cell_count, "cell")}</span>}
      </p>
      <div class={"browse" + (row === undefined ? "" : " with-row")}>
        <div class="browse-list">
          <Grid key={turn} table={table.name} families={families} request={request} chosen={row === undefined ? undefined : JSON.stringify(row)} changes={changes} onChoose={setRow} onStatus={follow}
            empty={asked
              ? <Empty title="No row fits"><p><button type="button" onClick={() => ask(noQuestion)}>Show all rows</button></p></Empty>
              : <Empty title="This table is empty"><p>Write the first row here, or import a file.</p><p><Act class="primary" refusal={refusal} onClick={() => setDialog("row")}>New row</Act></p></Empty>} />
        </div>
        {row !== undefined && <RowPanel key={JSON.stringify(row)} table={table} row={row} onClose={() => setRow(undefined)} onChanged={() => setChanges((n) => n + 1)} onGone={() => { setRow(undefined); setTurn((t) => t + 1); }} onAsk={askFor} />}
      </div>
      {dialog === "curl" && <Dialog title="These rows with curl" onClose={() => setDialog(null)}>
        <Code label="Command" text={curl("POST", tablePath(table.name, "/scan"), request)} />
        <p class="hint">The answer has a <code>next_page_token</code> for the page after it.</p>
      </Dialog>}
      {dialog === "row" && <Dialog title="New row" onClose={() => setDialog(null)}>
        <Editor table={table} onCancel={() => setDialog(null)} onDone={(key) => { setDialog(null); setTurn((t) => t + 1); setRow(key); }} />
      </Dialog>}
    </>
  );
}
