// Mistakes that the types do not find, in programs without types or behind a cast.

/**
 * known throws if an object has a field that is none of these. A misspelled prefix would otherwise select all rows of a
 * table, and misspelled columns all columns.
 */
export function known<T extends object>(object: T, what: string, ...fields: Array<T extends unknown ? keyof T : never>): void {
  if (typeof object !== "object" || object === null) throw new TypeError(`${what} is an object, not ${JSON.stringify(object)}`);
  for (const name of Object.keys(object)) {
    if (!(fields as string[]).includes(name))
      throw new TypeError(`there is no field ${JSON.stringify(name)} in ${what}: there are ${fields.join(", ")}`);
  }
}
