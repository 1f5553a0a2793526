import { Field } from "./form.jsx";
import { units } from "./gc.js";

// GCFields asks which versions are garbage. at is the place of the settings in the request.
export function GCFields({ value, onChange, at, error }) {
  const change = (part) => onChange({ ...value, ...part });
  return (
    <>
      <div class="editor-line">
        <Field label="Newest versions to keep" at={at + ".version_limit"} error={error}>
          <input inputmode="numeric" placeholder="all" size="8" value={value.limit} onInput={(e) => change({ limit: e.target.value })} />
        </Field>
        <Field label="Age to keep" at={at + ".ttl_secs"} error={error}>
          <input inputmode="numeric" placeholder="any" size="8" value={value.age} onInput={(e) => change({ age: e.target.value })} />
        </Field>
        <Field label="Unit of age" at="">
          <select value={value.unit} onChange={(e) => change({ unit: e.target.value })}>{Object.keys(units).map((u) => <option key={u}>{u}</option>)}</select>
        </Field>
      </div>
      {value.limit.trim() && value.age.trim() && (
        <Field label="A version is garbage" at={at + ".mode"} error={error}>
          <select value={value.mode} onChange={(e) => change({ mode: e.target.value })}>
            <option value="union">if it is beyond the newest ones or too old</option>
            <option value="intersection">only if it is both</option>
          </select>
        </Field>
      )}
    </>
  );
}
