// GC settings as a person writes them: {limit, age, unit, mode}, in texts.

export const units = { seconds: 1, minutes: 60, hours: 3600, days: 86400 };

export const noSettings = { limit: "", age: "", unit: "days", mode: "union" };

export function written({ ttl_secs: age, version_limit: limit, mode = "union" }) {
  const unit = age === null ? "days" : Object.keys(units).findLast((u) => BigInt(age) % BigInt(units[u]) === 0n);
  return { limit: limit === null ? "" : String(limit), age: age === null ? "" : String(BigInt(age) / BigInt(units[unit])), unit, mode };
}

// settings returns what the server takes. What is no number goes as it is, so that the server says what is wrong with it.
export function settings({ limit, age, unit, mode }) {
  const gc = { version_limit: number(limit), ttl_secs: number(age, units[unit]) };
  return limit.trim() && age.trim() ? { ...gc, mode } : gc;
}

function number(text, unit = 1) {
  if (!text.trim()) return null;
  if (!/^-?\d+$/.test(text.trim())) return text;
  const n = BigInt(text.trim()) * BigInt(unit);
  return Number.isSafeInteger(Number(n)) ? Number(n) : n;
}
