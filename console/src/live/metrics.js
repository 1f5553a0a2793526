// The text of Prometheus, and what one scrape and the one before it tell.

// parse returns the samples of a scrape by the names of their metrics.
export function parse(text) {
  const metrics = new Map();
  for (const line of text.split("\n")) {
    const m = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!m) continue; // a comment
    const labels = {};
    for (const [, name, value] of (m[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value;
    if (!metrics.has(m[1])) metrics.set(m[1], []);
    metrics.get(m[1]).push({ labels, value: Number(m[3].replace("Inf", "Infinity")) });
  }
  return metrics;
}

export const sum = (metrics, name, fits = () => true) =>
  (metrics.get(name) ?? []).reduce((n, s) => (fits(s.labels) ? n + s.value : n), 0);

// by sums the samples of a metric by the values of a label.
export function by(metrics, name, label) {
  const sums = new Map();
  for (const s of metrics.get(name) ?? []) sums.set(s.labels[label], (sums.get(s.labels[label]) ?? 0) + s.value);
  return sums;
}

// quantiles returns those of a histogram between two scrapes, in the unit of the metric: by interpolation, as Prometheus
// does. They are null if nothing was measured.
export function quantiles(before, now, name, shares, fits) {
  const le = (metrics) => by({ get: () => (metrics.get(name + "_bucket") ?? []).filter((s) => fits(s.labels)) }, name, "le");
  const old = le(before);
  const buckets = [...le(now)].map(([bound, n]) => ({ bound: bound === "+Inf" ? Infinity : Number(bound), n: n - (old.get(bound) ?? 0) })).sort((a, b) => a.bound - b.bound);
  const all = buckets.at(-1)?.n ?? 0;
  if (!(all > 0)) return shares.map(() => null);
  return shares.map((share) => {
    const rank = share * all;
    const i = buckets.findIndex((b) => b.n >= rank);
    const [below, from] = i > 0 ? [buckets[i - 1].n, buckets[i - 1].bound] : [0, 0];
    if (buckets[i].bound === Infinity) return from;
    return from + (buckets[i].bound - from) * ((rank - below) / (buckets[i].n - below || 1));
  });
}
