// Changes of a cell that lose no update: they are made only if the column still has what the person saw.

import { bytesOf, columnKey } from "./bytes.js";

// stillSo is the filter that lets a cell through if its column is as it was seen: its newest version has this time and
// this value. Without a version, it lets any cell of the column through.
function stillSo(family, qualifier, newest) {
  const column = { column_range_filter: { family_name: family, start_qualifier_closed: qualifier, end_qualifier_closed: qualifier } };
  if (!newest) return column;
  const after = typeof newest.time === "bigint" ? newest.time + 1n : newest.time + 1;
  const filters = [column, { cells_per_column_limit_filter: 1 }, { timestamp_range_filter: { start_timestamp_micros: newest.time, end_timestamp_micros: after } }];
  const value = bytesOf(newest);
  if (value !== null) filters.push({ value_range_filter: { start_value_closed: value, end_value_closed: value } });
  return { chain: { filters } };
}

// setting is the request that writes a cell where its newest version was seen, or none was.
export function setting(row, family, qualifier, newest, type, value) {
  const set = [{ set: { column_key: columnKey(family, qualifier), type, value } }];
  return { row_key: row, if: stillSo(family, qualifier, newest), [newest ? "then" : "else"]: set };
}

// making is the request that writes the first cell of a row that does not exist.
export function making(row, family, qualifier, type, value) {
  return { row_key: row, if: { exists: false }, then: [{ set: { column_key: columnKey(family, qualifier), type, value } }] };
}

export function deleting(row, family, qualifier, newest) {
  return { row_key: row, if: stillSo(family, qualifier, newest), then: [{ delete_column: { column_key: columnKey(family, qualifier) } }] };
}

// made reports whether a change was made: it was behind "else" where nothing may have matched.
export const made = (request, answer) => answer.matched === Boolean(request.then);
