// Package rowmerge decides which cells a reader sees, and which entries a flush or compaction
// keeps. It is pure logic over sorted entries: it knows no files, versions or locks.
//
//	memtable ──┐
//	memtable ──┤            ┌── Visibility ──> the cell versions that a snapshot sees
//	level 0  ──┼── Iterator ┤
//	level 3  ──┤            └── Filter ──────> the entries that a new file holds
//	level 7  ──┘
//
// Each input is a Source: rows in order, up or down, and the entries of each row in the order
// below. Iterator merges Sources and is a Source itself. Visibility and Filter take the entries
// of a row in chunks of any size and return those that pass. Both ask Policies, the GC settings
// of a partition's families, through cell.GC.Gone. So a read never shows a version that a
// compaction may drop.
//
// # The order of entries
//
// Column ascending, then time descending, then sequence number descending:
//
//	!row #9       a tombstone of the row, with sequence number 9
//	!f #7         of the family f
//	!f:a #8       of the column f:a
//	f:a @30 #9 x  the value x with time 30
//	!f:a @20 #6   a tombstone of the version with time 20
//	f:a @20 #4 y  the version that it covers
//	f:b @10 #2 z
//
// A tombstone covers all entries of its scope with lower sequence numbers, whatever their times.
// It sorts before all of them. So Visibility and Filter need one forward pass, and memory only
// for the tombstones of the current row, family, column and version.
//
// Range tombstones are not among the entries. The caller finds the newest one over each row (package
// rangedel) and calls DeleteBelow: it then counts as a tombstone of the row.
//
// # Where tombstones are dropped
//
// Visibility returns none. Filter drops them in keepTombstone: one that every reader sees, at the
// bottommost level, where nothing that it covers is left outside the inputs; and at any level one
// that another tombstone makes redundant. The comment of Filter has all the rules.
package rowmerge
