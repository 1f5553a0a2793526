import { useTitle } from "../hooks.js";
import { Slow } from "../queries/slow.jsx";

// SlowQueries lists the slow queries of all tables.
export function SlowQueries() {
  useTitle("Slow queries");
  return (
    <>
      <div class="head"><h1>Slow queries</h1></div>
      <section aria-label="Slow queries of all tables"><Slow /></section>
    </>
  );
}
