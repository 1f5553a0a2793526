import { duration } from "../format.js";

// garbage says in words which versions go.
export function garbage({ ttl_secs: age, version_limit: limit, mode }) {
  const parts = [];
  if (limit !== null) parts.push(limit === 1 ? "older than the newest" : `beyond the newest ${limit}`);
  if (age !== null) parts.push(`older than ${duration(age)}`);
  if (parts.length === 0) return <span class="faint">every version stays</span>;
  return parts.join(mode === "intersection" ? " and " : " or ");
}
