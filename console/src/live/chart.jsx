import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const hues = ["--fill", "--hue1", "--hue2", "--hue3", "--hue4", "--hue5", "--hue0"];

const powers = Array.from({ length: 50 }, (_, i) => 2 ** i);
const clock = (seconds) => new Date(seconds * 1000).toTimeString().slice(0, 8);

// Chart draws lines over time. Their newest values stand above it, or those of the moment under the pointer, so that what
// it says can be read without seeing it. The charts of a page share the pointer.
export function Chart({ title, times, lines, print, least = 1, top = 1.1, binary }) {
  const box = useRef();
  const plot = useRef();
  const [at, setAt] = useState(null);
  const names = lines.map((l) => l.name).join("\n");
  const data = [times, ...lines.map((l) => l.values)];
  useEffect(() => {
    const element = box.current;
    const axis = { stroke: () => colour("--faint"), grid: { stroke: () => colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    const u = new uPlot({
      width: element.clientWidth, height: 150,
      legend: { show: false },
      cursor: { sync: { key: "live" }, points: { size: 6 }, y: false, drag: { x: false, y: false } },
      scales: { y: { range: (_, __, max) => [0, Math.max(least, max * top)] } },
      axes: [{ ...axis, space: 90, size: 30, values: (_, splits) => splits.map(clock) }, { ...axis, size: 64, ...(binary && { incrs: powers }), values: (_, splits) => splits.map(print) }],
      series: [{}, ...names.split("\n").map((_, i) => ({ stroke: () => colour(hues[i % hues.length]), width: 1.6, points: { show: false } }))],
      hooks: { setCursor: [(u) => setAt(u.cursor.idx ?? null)] },
    }, data, element);
    plot.current = u;
    const size = new ResizeObserver(() => u.setSize({ width: element.clientWidth, height: 150 }));
    size.observe(element);
    const redraw = () => u.redraw(false, true);
    addEventListener("themechange", redraw);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", redraw);
    return () => {
      size.disconnect();
      removeEventListener("themechange", redraw);
      dark.removeEventListener("change", redraw);
      u.destroy();
    };
  }, [names]);
  useEffect(() => plot.current.setData(data), [times.at(-1), times.length, names, title]);
  const i = at ?? times.length - 1;
  return (
    <section class="card chart" aria-label={title}>
      <h2>{title}</h2>
      <ul class="legend">
        {lines.map((l, n) => (
          <li key={l.name}><span class="swatch" style={{ background: `var(${hues[n % hues.length]})` }} aria-hidden="true" />{l.name}
            <b>{l.values[i] == null ? "–" : print(l.values[i])}</b></li>
        ))}
      </ul>
      <div ref={box} aria-hidden="true" class="plot" />
    </section>
  );
}
