// Numbers and times as people read them.

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function bytes(n) {
  let unit = 0;
  while (n >= 1024 && unit < units.length - 1) {
    n /= 1024;
    unit++;
  }
  return `${unit === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[unit]}`;
}

const whole = new Intl.NumberFormat("en");
export const count = (n) => whole.format(n);

export const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
export const short = (n) => compact.format(n);

export function micros(n) {
  if (n < 1000) return `${Math.round(n)} µs`;
  if (n < 1e6) return `${(n / 1e3).toFixed(n < 1e4 ? 2 : 1)} ms`;
  return `${(n / 1e6).toFixed(2)} s`;
}

export function duration(seconds) {
  for (const [length, name] of [[86400, "day"], [3600, "hour"], [60, "minute"]]) {
    if (seconds >= length && seconds % length === 0) return plural(seconds / length, name);
  }
  return plural(seconds, "second");
}

// time prints microseconds since 1970 in the time zone of the reader. Times that no calendar has are printed as numbers.
export function time(n) {
  const date = new Date(Number(n) / 1000);
  if (Number.isNaN(date.getTime()) || Number(n) < 1e12) return String(n);
  const pad = (v, l = 2) => String(v).padStart(l, "0");
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}.${pad(date.getMilliseconds(), 3)}`;
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

// ago says how long ago a time in microseconds was.
export function ago(n) {
  const seconds = (Number(n) / 1000 - Date.now()) / 1000;
  for (const [length, name] of [[31557600, "year"], [2629800, "month"], [86400, "day"], [3600, "hour"], [60, "minute"]]) {
    if (Math.abs(seconds) >= length) return relative.format(Math.round(seconds / length), name);
  }
  return relative.format(Math.round(seconds), "second");
}
