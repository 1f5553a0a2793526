// Package rowmerge decides what becomes of the entries of a row: which ones a reader sees, and
// which ones a flush or compaction keeps. It knows no files, no versions and no locks.
//
//	memtable ──┐
//	memtable ──┤            ┌── Visibility ──> the cell versions that a snapshot sees
//	level 0  ──┼── Iterator ┤
//	level 3  ──┤            └── Filter ──────> the entries that a new file holds
//	level 7  ──┘
//
// Each input is a Source: rows in ascending order, and in each row its entries in the order of
// package cell. Iterator merges Sources, newest first, and is a Source itself.
//
// A tombstone sorts before all that it covers: the one of a row before the row's first column,
// the one of a family before the family's first column, the one of a column before its first
// version, the one of a version before the older entries of its time. So Visibility and Filter
// need one forward pass and a constant amount of memory.
//
//   - Visibility hides what a tombstone covers, for one snapshot. It keeps no tombstone.
//   - Filter drops an entry only if no reader, now or later, can notice. It drops a tombstone in
//     Filter.keepTombstone, at the bottommost level.
//
// Both ask Policies, the GC settings of a partition's families, through cell.GC.Gone. A read
// therefore never shows a version that a compaction may drop.
package rowmerge
