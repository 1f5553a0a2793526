package engine

import (
	"colonnade/engine/compaction"
	"colonnade/engine/manifest"
)

// Small partitions are tidied: compacted to one run before level 0 is full. A partition is
// often flushed for the sake of a large one that it shares the log and the budget with, as
// a locality group of short values is beside one of long ones. Its files are then small,
// and many of them make a scan of little data dear. Beside what such a
// flush writes, merging them costs next to nothing; so a part of that is allowed for it.

const (
	// tidiedPart of what flushes write is what tidying may merge in all.
	tidiedPart = 16
	// mostTidied of the memtable budget is the most that it may merge at once, and
	// leastTidied what a compaction counts as at least: an edit of the manifest and
	// files of its own make a smaller one no cheaper.
	mostTidied  = 32
	leastTidied = 512
)

// allowLocked takes note of what a flush has written.
func (db *DB) allowLocked(flushed int64) {
	db.allowance = min(db.allowance+flushed/tidiedPart, db.opt.MemtableBytes/mostTidied)
}

// untidyLocked reports whether a partition is to be tidied.
func (db *DB) untidyLocked(p *partition) bool {
	files := compaction.Level0Inputs(p.version)
	return len(files) > 1 && db.tidyingCost(files) <= db.allowance
}

// tidyingCost is what of the allowance it takes to compact files.
func (db *DB) tidyingCost(files []*manifest.File) int64 {
	return max(manifest.TotalSize(files), db.opt.MemtableBytes/leastTidied)
}
