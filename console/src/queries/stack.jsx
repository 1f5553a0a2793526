// Stack draws the parts of a whole to scale, and says each beside its colour. whole may be more than the sum of the
// parts, so that several stacks share a scale.
export function Stack({ label, parts, whole, print }) {
  const seen = parts.filter((p) => p.value > 0);
  const all = whole || seen.reduce((n, p) => n + p.value, 0) || 1;
  return (
    <div class="stack">
      <div class="stack-bar" role="img" aria-label={`${label}: ${seen.map((p) => `${p.name} ${print(p.value)}`).join(", ") || "nothing"}`}>
        {seen.map((p) => <span key={p.name} class={p.kind} style={{ width: (100 * p.value) / all + "%" }} title={`${p.name}: ${print(p.value)}`} />)}
      </div>
      <ul class="legend">
        {seen.map((p) => <li key={p.name} title={p.why}><span class={"dot " + p.kind} aria-hidden="true" />{p.name}<b>{print(p.value)}</b></li>)}
        {seen.length === 0 && <li>nothing</li>}
      </ul>
    </div>
  );
}
