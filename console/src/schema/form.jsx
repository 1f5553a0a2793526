import { cloneElement } from "preact";
import { useId, useState } from "preact/hooks";
import { call, curl } from "../api.js";
import { Code, Dialog, Failure } from "../parts.jsx";

// useChange sends a change of a schema, and keeps why it was refused.
export function useChange(onDone) {
  const [state, setState] = useState({});
  async function send(request) {
    setState({ busy: true });
    try {
      const result = await call(request.method, request.path, request.body);
      setState({});
      onDone(result);
    } catch (error) {
      setState({ error });
    }
  }
  return { ...state, send };
}

// refersTo reports whether an error is about a place of the request, or about what is in it.
const refersTo = (error, at) => Boolean(error?.at && at) && (error.at === at || error.at.startsWith(at + "."));

// Field is a labelled control. It shows the error of the server that names its place.
export function Field({ label, at, error, children }) {
  const id = useId();
  const wrong = refersTo(error, at);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {cloneElement(children, { id, "aria-invalid": wrong ? "true" : undefined, "aria-describedby": wrong ? id + "-error" : undefined })}
      {wrong && <p class="mistake" id={id + "-error"} role="alert">{error.message.replace(error.at + ": ", "")}</p>}
    </div>
  );
}

// Form is a request that a person fills in. places are those of its fields: an error elsewhere is shown below them.
export function Form({ label, change, request, places = [], submit, danger, ready = true, onCancel, onSubmit, children }) {
  const [showing, setShowing] = useState(false);
  const elsewhere = change.error && !places.some((at) => refersTo(change.error, at));
  function send(event) {
    event.preventDefault();
    if (onSubmit) onSubmit();
    else if (ready) change.send(request);
  }
  return (
    <form class="editor" aria-label={label} onSubmit={send} noValidate>
      {children}
      {elsewhere && <Failure error={change.error} />}
      <div class="editor-do">
        <button type="button" class="quiet" onClick={onCancel}>Cancel</button>
        <button type="button" onClick={() => setShowing(true)}>curl</button>
        <button type="submit" class={danger ? "danger" : "primary"} disabled={change.busy || !ready}>{submit}</button>
      </div>
      {showing && <Dialog title="This change with curl" onClose={() => setShowing(false)}><Code label="Command" text={curl(request.method, request.path, request.body)} /></Dialog>}
    </form>
  );
}
