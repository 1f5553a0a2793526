import { useState } from "preact/hooks";
import { call, curl, tablePath } from "../api.js";
import { useLoad } from "../hooks.js";
import { remember } from "../route.js";
import { Code, Dialog, Empty, Failure, Loading } from "../parts.jsx";
import { Ask } from "../browse/ask.jsx";
import { body, listed, questionOf } from "../browse/question.js";
import { Advice } from "../queries/advice.jsx";
import { Slow } from "../queries/slow.jsx";
import { Explanation } from "../queries/explanation.jsx";

// Queries explains a query as a picture, and shows the advice on locality groups.
export function Queries({ table, query, reload }) {
  const [question, setQuestion] = useState(() => questionOf(query));
  const [whole, setWhole] = useState(false);
  const [dialog, setDialog] = useState(false);
  const [turn, setTurn] = useState(0);
  const request = { ...(whole ? body(question) : listed(question)), explain: "only" };
  const { value, error, loading, reload: again } = useLoad((signal) => call("POST", tablePath(table.name, "/scan"), request, { signal }), [table.name, JSON.stringify(request), turn]);
  if (table.column_families.length === 0) {
    return <Empty title="This table has no column family yet"><p>There is nothing to read, and so nothing to explain.</p></Empty>;
  }
  function ask(q) {
    setQuestion(q);
    setTurn((t) => t + 1);
    remember({ q: JSON.stringify(q) });
  }
  return (
    <>
      <section aria-labelledby="explain">
        <h2 id="explain">Explain a query</h2>
        <Ask table={table} question={question} onAsk={ask} verb="Explain">
          <label class="check"><input type="checkbox" checked={whole} onChange={(e) => setWhole(e.target.checked)} />All pages</label>
          <button type="button" onClick={() => setDialog(true)}>curl</button>
        </Ask>
        <Failure error={error} retry={again} />
        {!value && loading && <Loading what="Reading" />}
        {value && !error && <Explanation explain={value.explain} />}
      </section>
      <section aria-labelledby="slow">
        <h2 id="slow">Slow queries</h2>
        <Slow table={table.name} />
      </section>
      <section aria-labelledby="advice">
        <h2 id="advice">Advice on locality groups</h2>
        <Advice table={table} reload={reload} />
      </section>
      {dialog && <Dialog title="This explanation with curl" onClose={() => setDialog(false)}><Code label="Command" text={curl("POST", tablePath(table.name, "/scan"), request)} /></Dialog>}
    </>
  );
}
