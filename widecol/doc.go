// Package widecol defines the wide-column data model and the contract of a
// Store, without an implementation.
//
// A table is a sorted map of rows. A row holds cells, addressed by column
// family and qualifier; a cell holds versions, each with a time, a type and a
// value. A locality group stores some families together. It changes the cost of
// a read, never its result.
//
//	table     name, families, locality groups
//	row       key: 1 to MaxRowKey bytes
//	family    name: [A-Za-z0-9_.#$-], 1 to MaxName bytes
//	qualifier 0 to MaxQualifier bytes
//	version   time in microseconds since the Unix epoch, 0 to cell.MaxTime
//
// Rows are ordered by key bytes; in a row, families by name, qualifiers by
// bytes, versions newest first. Limits apply in this order.
//
// Package memstore is the executable specification, lsmstore the store on the
// engine, storetest the suite that any Store must pass.
package widecol
