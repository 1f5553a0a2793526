import { useCallback, useEffect, useRef, useState } from "preact/hooks";

// useLoad calls load when dependencies change, and again when reload is called. What was there stays until the next
// answer comes; an answer that comes too late is dropped.
export function useLoad(load, dependencies) {
  const [state, setState] = useState({ loading: true });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const control = new AbortController();
    setState((s) => ({ ...s, loading: true }));
    load(control.signal).then(
      (value) => control.signal.aborted || setState({ value, loading: false }),
      (error) => control.signal.aborted || setState({ error, loading: false }),
    );
    return () => control.abort();
  }, [...dependencies, turn]);
  return { ...state, reload: useCallback(() => setTurn((t) => t + 1), []) };
}

// useEvery calls tick at once and then every so many milliseconds, while the page is seen. A tick that takes longer than
// that is waited for.
export function useEvery(milliseconds, tick) {
  const latest = useRef(tick);
  latest.current = tick;
  useEffect(() => {
    let timer;
    let stopped = false;
    async function run() {
      if (!document.hidden) await latest.current();
      if (!stopped) timer = setTimeout(run, milliseconds);
    }
    run();
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }, [milliseconds]);
}

export function useTitle(title) {
  useEffect(() => {
    document.title = title ? `${title} · Colonnade` : "Colonnade";
  }, [title]);
}
