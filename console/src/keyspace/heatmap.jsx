import { useEffect, useRef, useState } from "preact/hooks";
import { time } from "../format.js";
import { highest, labels, rate, ticks, warmth } from "./heat.js";

const heats = 5; // colours of the scale, --heat0 to --heat4
const clock = (t) => time(t).slice(11, 16);

// HeatMap draws ranges of row keys downwards and time across. at is the cell that is looked at, {range, window}, null for
// none; it follows the pointer and the arrow keys.
export function HeatMap({ keySpace: k, from, to, measure, at, onAt, onChoose, describedBy }) {
  const box = useRef();
  const canvas = useRef();
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [turn, setTurn] = useState(0); // of the theme
  useEffect(() => {
    const element = box.current;
    const observer = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    const redraw = () => setTurn((t) => t + 1);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    addEventListener("themechange", redraw);
    dark.addEventListener("change", redraw);
    return () => {
      observer.disconnect();
      removeEventListener("themechange", redraw);
      dark.removeEventListener("change", redraw);
    };
  }, []);
  const x = (t) => ((Math.min(Math.max(t, from), to) - from) / (to - from)) * size.width;
  useEffect(() => draw(canvas.current, size, k, measure.field, x), [k, measure, size, turn, from, to]);

  function under(event) {
    const { left, top } = canvas.current.getBoundingClientRect();
    const range = Math.min(k.ranges.length - 1, Math.max(0, Math.floor(((event.clientY - top) / size.height) * k.ranges.length)));
    const t = from + ((event.clientX - left) / size.width) * (to - from);
    return { range, window: k.windows.findIndex((w) => w.start <= t && t < w.end) };
  }
  const look = (event) => {
    const cell = under(event);
    onAt(cell.window < 0 ? null : cell);
  };
  // A finger cannot point without a tap: the first one looks.
  function choose(event) {
    const cell = under(event);
    if (event.pointerType === "touch" && (at?.range !== cell.range || at.window !== cell.window)) look(event);
    else onChoose(cell.range);
  }
  const unlessTouched = (follow) => (event) => event.pointerType === "touch" || follow(event);
  function move(event) {
    const cell = at ?? { range: 0, window: k.windows.length - 1 };
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0], Home: [-Infinity, 0], End: [Infinity, 0] };
    if (event.key === "Enter") return onChoose(cell.range);
    if (event.key === "Escape") return onAt(null);
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const within = (n, count) => Math.min(Math.max(n, 0), count - 1);
    onAt(at ? { range: within(cell.range + step[0], k.ranges.length), window: within(cell.window + step[1], k.windows.length) } : cell);
  }

  const names = labels(k.ranges);
  const rowHeight = size.height / k.ranges.length;
  const each = Math.max(1, Math.ceil((1.2 * fontSize()) / rowHeight)); // a label for each so many ranges
  const window = at && k.windows[at.window];
  return (
    <div class="heat-map">
      <div class="heat-keys" aria-hidden="true">
        {names.map((name, i) => i % each === 0 && <span key={i} style={{ top: i * rowHeight + "px" }} title={name}>{name}</span>)}
      </div>
      <div class="heat-box" ref={box}>
        <canvas ref={canvas} tabindex="0" role="application" aria-label={`Heat map of ${measure.name.toLowerCase()}: time across, row keys down. Arrow keys move, Enter browses the range.`} aria-describedby={describedBy}
          onPointerMove={unlessTouched(look)} onPointerLeave={unlessTouched(() => onAt(null))} onClick={choose} onKeyDown={move} />
        {at && window && <span class="heat-at" style={{ left: x(window.start) + "px", top: at.range * rowHeight + "px", width: Math.max(2, x(window.end) - x(window.start)) + "px", height: Math.max(2, rowHeight) + "px" }} />}
      </div>
      <div class="heat-times" aria-hidden="true">
        {ticks(from, to, Math.max(2, Math.floor(size.width / 70))).map((t) => <span key={t} style={{ left: x(t) + "px" }}>{clock(t)}</span>)}
      </div>
    </div>
  );
}

const fontSize = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

// Scale is the legend: what the colours stand for.
export function Scale({ most, measure }) {
  return (
    <div class="heat-scale" role="img" aria-label={`Colours from no load to ${measure.print(most)} per second in a range`}>
      <span>0</span><span class="heat-colours" /><span>{measure.print(most)}/s in a range</span>
    </div>
  );
}

function draw(canvas, { width, height }, k, field, x) {
  if (!canvas || width === 0) return;
  const ratio = devicePixelRatio;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const to = canvas.getContext("2d");
  const colours = scale();
  to.fillStyle = colours[0];
  to.fillRect(0, 0, canvas.width, canvas.height);
  const most = highest(k.windows, field);
  const y = (i) => Math.round((i / k.ranges.length) * canvas.height);
  for (const w of k.windows) {
    const left = Math.round(x(w.start) * ratio);
    const right = Math.max(left + 1, Math.round(x(w.end) * ratio));
    for (const l of w.loads) {
      const warm = warmth(rate(w, l, field), most);
      if (warm === 0) continue;
      to.fillStyle = colours[Math.max(1, Math.round(warm * (colours.length - 1)))];
      to.fillRect(left, y(l.range), right - left, Math.max(1, y(l.range + 1) - y(l.range)));
    }
  }
}

// scale returns 64 colours between those of the theme.
function scale() {
  const style = getComputedStyle(document.documentElement);
  const stops = Array.from({ length: heats }, (_, i) => style.getPropertyValue("--heat" + i).trim().match(/\w\w/g).map((h) => parseInt(h, 16)));
  return Array.from({ length: 64 }, (_, i) => {
    const at = (i / 63) * (heats - 1);
    const n = Math.min(Math.floor(at), heats - 2);
    return `rgb(${stops[n].map((c, j) => Math.round(c + (at - n) * (stops[n + 1][j] - c))).join(" ")})`;
  });
}
