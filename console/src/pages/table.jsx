import { call, tablePath } from "../api.js";
import { useLoad, useTitle } from "../hooks.js";
import { link } from "../route.js";
import { Empty, Failure, Loading } from "../parts.jsx";
import { Browse } from "./browse.jsx";
import { KeySpace } from "./keyspace.jsx";
import { Queries } from "./queries.jsx";
import { Overview } from "./overview.jsx";

const tabs = [
  { path: "", name: "Overview", page: Overview },
  { path: "browse", name: "Browse", page: Browse },
  { path: "keyspace", name: "Key space", page: KeySpace },
  { path: "queries", name: "Queries", page: Queries },
];

// Table is a table under tabs, which share its description.
export function Table({ name, tab = "", query }) {
  useTitle(name);
  const { value, error, loading, reload } = useLoad((signal) => call("GET", tablePath(name), undefined, { signal }), [name]);
  const { page: Page } = tabs.find((t) => t.path === tab) ?? tabs[0];
  return (
    <>
      <nav class="crumbs" aria-label="Place"><a href="#/">Tables</a><span aria-hidden="true">/</span></nav>
      <div class="head">
        <h1 class="name">{name}</h1>
        {value?.deletion_protection && <span class="tag">protected</span>}
      </div>
      {tabs.length > 1 && (
        <nav class="tabs" aria-label="Views of the table">
          {tabs.map((t) => (
            <a key={t.path} href={t.path ? link("table", name, t.path) : link("table", name)} aria-current={t.path === tab ? "page" : undefined}>{t.name}</a>
          ))}
        </nav>
      )}
      {error?.code === "unknown_table"
        ? <Empty title="There is no such table"><p><a href="#/">All tables</a></p></Empty>
        : <Failure error={error} retry={reload} />}
      {!value && loading && <Loading what="Loading the table" />}
      {value && <Page table={value} reload={reload} query={query} />}
    </>
  );
}
