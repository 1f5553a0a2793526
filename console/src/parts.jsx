import { useEffect, useId, useRef, useState } from "preact/hooks";

// Failure says what went wrong, and what a token may not do.
export function Failure({ error, retry }) {
  if (!error || error.status === 401 || error.code === "too_many_failures") return null; // the page asks for a token
  const title = {
    insufficient_scope: "Your token does not allow this",
    quota_exceeded: "A quota is used up",
    unreachable: "No answer",
    corruption: "Stored data is damaged",
    overloaded: "The server is busy",
  }[error.code] ?? "This did not work";
  return (
    <div class={"notice " + (error.code === "insufficient_scope" ? "warn" : "bad")} role="alert">
      <div>
        <strong>{title}</strong>
        <p>{error.message}</p>
      </div>
      {retry && <button type="button" onClick={retry}>Try again</button>}
    </div>
  );
}

export function Empty({ title, children }) {
  return (
    <div class="empty">
      <svg viewBox="0 0 64 48" aria-hidden="true" class="empty-art">
        <path d="M6 6h52M6 42h52M14 11v26M32 11v26M50 11v26" />
      </svg>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

// Loading is seen only if something takes its time.
export function Loading({ what = "Loading" }) {
  return <p class="loading" role="status">{what}…</p>;
}

export function Copy({ text, label = "Copy" }) {
  const [done, setDone] = useState(false);
  async function copy() {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  }
  return <button type="button" onClick={copy}>{done ? "Copied" : label}</button>;
}

// Code shows a command, with a button that copies it.
export function Code({ text, label }) {
  return (
    <div class="code">
      <pre tabindex="0" aria-label={label}>{text}</pre>
      <Copy text={text} />
    </div>
  );
}

// Dialog is above the page until it is closed, by Escape too.
export function Dialog({ title, wide, onClose, children }) {
  const ref = useRef();
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    ref.current.showModal();
    return () => before?.focus?.();
  }, []);
  return (
    <dialog ref={ref} class={wide ? "wide-dialog" : undefined} aria-labelledby={id} onClose={onClose} onClick={(e) => e.target === ref.current && onClose()}>
      <div class="dialog-body">
        <header>
          <h2 id={id}>{title}</h2>
          <button type="button" class="quiet" aria-label="Close" onClick={onClose}>✕</button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

// Stat is a number with what it counts.
export function Stat({ name, value, note }) {
  return (
    <div class="stat">
      <dt>{name}</dt>
      <dd>{value}{note && <small>{note}</small>}</dd>
    </div>
  );
}

// Bar draws a part of a whole to scale. Without a label, the number stands beside it.
export function Bar({ part, whole, kind = "", label }) {
  const share = whole > 0 ? Math.max(part > 0 ? 0.4 : 0, (100 * part) / whole) : 0;
  return <span class="bar" role={label ? "img" : undefined} aria-label={label} aria-hidden={label ? undefined : "true"}><span class={kind} style={{ width: share + "%" }} /></span>;
}
