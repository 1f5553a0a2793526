import { Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import { usePlace } from "./route.js";
import { chooseTheme, theme, themes } from "./theme.js";
import * as session from "./session.js";
import { SignIn } from "./signin.jsx";
import { useLoad } from "./hooks.js";
import { Empty, Failure, Loading } from "./parts.jsx";
import { Tables } from "./pages/tables.jsx";
import { Backups } from "./pages/backups.jsx";
import { SlowQueries } from "./pages/slow.jsx";
import { Table } from "./pages/table.jsx";
import { useRights, WithRights } from "./rights.jsx";

const sections = [
  { path: "", name: "Tables" },
  { path: "queries", name: "Queries" },
  { path: "backups", name: "Backups" },
  { path: "live", name: "Live" },
];

export function App() {
  const { path, query } = usePlace();
  const [, draw] = useState(0);
  useEffect(() => session.watch(() => draw((n) => n + 1)), []);
  const refusal = session.needed();
  const Rights = refusal ? Fragment : WithRights;
  const section = path[0] === "table" ? "" : path[0] ?? "";
  return (
    <Rights>
      <a class="skip" href="#main" onClick={focusMain}>Skip to content</a>
      <header class="top">
        <a class="brand" href="#/"><Mark />Colonnade</a>
        <nav aria-label="Sections">
          {sections.map((s) => <a key={s.path} href={"#/" + s.path} aria-current={s.path === section ? "page" : undefined}>{s.name}</a>)}
        </nav>
        <div class="tools">
          {session.token() && <Who />}
          {session.token() && <button type="button" class="quiet" onClick={session.signOut}>Sign out</button>}
          <Theme />
        </div>
      </header>
      <main id="main" tabindex="-1">
        {refusal ? <SignIn refusal={refusal} /> : <Page path={path} query={query} />}
      </main>
    </Rights>
  );
}

// Who says whose token this tab has.
function Who() {
  const token = useRights()?.token;
  return token ? <span class="who" title={`Scope ${token.scope}, for ${token.tables.join(", ")}`}>{token.name || token.id} · {token.scope}</span> : null;
}

function Page({ path, query }) {
  if (!useRights()) return <Loading />;
  switch (path[0]) {
    case undefined: return <Tables />;
    case "backups": return <Backups />;
    case "queries": return <SlowQueries />;
    case "live": return <Later load={() => import("./pages/live.jsx").then((m) => m.Live)} />;
    case "table": return <Table key={path[1]} name={path[1]} tab={path[2]} query={query} />;
  }
  return <Empty title="There is no such page"><p><a href="#/">All tables</a></p></Empty>;
}

// Later is a page whose script is loaded when it is opened.
function Later({ load }) {
  const { value: Loaded, error, reload } = useLoad(load, []);
  if (error) return <Failure error={{ message: "A part of this console could not be loaded: the server may be another by now. Load the page again." }} retry={reload} />;
  return Loaded ? <Loaded /> : <Loading />;
}

// The hash is the place, so the link must not change it.
function focusMain(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

function Theme() {
  const [now, setNow] = useState(theme);
  const next = themes[(themes.indexOf(now) + 1) % themes.length];
  function change() {
    chooseTheme(next);
    setNow(next);
  }
  return (
    <button type="button" class="quiet theme" onClick={change} aria-label={`Theme: ${now}. Change to ${next}`} title={`Theme: ${now}`}>
      <svg viewBox="0 0 20 20" aria-hidden="true">{glyphs[now]}</svg>
    </button>
  );
}

const glyphs = {
  system: <><circle cx="10" cy="10" r="6.5" /><path d="M10 3.5a6.5 6.5 0 0 1 0 13z" class="full" /></>,
  light: <><circle cx="10" cy="10" r="3.5" /><path d="M10 1.5v2.5M10 16v2.5M1.5 10H4M16 10h2.5M4 4l1.8 1.8M14.2 14.2 16 16M4 16l1.8-1.8M14.2 5.8 16 4" /></>,
  dark: <path d="M16.5 12A7 7 0 0 1 8 3.5a7 7 0 1 0 8.5 8.5z" />,
};

function Mark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true" class="mark">
      <rect x="3" y="4" width="26" height="3.4" rx="1" /><rect x="6" y="10" width="4.2" height="13" /><rect x="13.9" y="10" width="4.2" height="13" />
      <rect x="21.8" y="10" width="4.2" height="13" /><rect x="3" y="25" width="26" height="3.4" rx="1" />
    </svg>
  );
}
