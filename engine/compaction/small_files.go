package compaction

import "github.com/colonnade-db/colonnade/engine/manifest"

// SmallFileBudget pays for the compaction of small partitions to one run before their level 0 is
// full. A partition is often flushed because a large one shares the log and the memtable budget
// with it, as a locality group of short values does with one of long values. Its files are then
// small, and many of them make a scan of little data slow. Merging them costs next to nothing
// beside what such a flush writes, so a part of that is allowed for it.
//
// It is not safe for concurrent use.
type SmallFileBudget struct {
	memtableBytes int64
	allowance     int64 // bytes that may be merged
}

const (
	// smallFileShare is the part of what flushes write that small-file compactions may merge.
	//
	// 16 is enough for a group of short values beside wide rows to have one file instead of five. A scan
	// of it takes 6.8 to 8.7 instead of 12.4 to 12.6 ms.
	smallFileShare = 16
	// mostAllowance is the part of the memtable budget that they may merge at once.
	mostAllowance = 32
	// leastCost is the part of the memtable budget that a compaction costs at least: below that,
	// an edit of the manifest and new files cost as much, however little is merged.
	leastCost = 512
)

// NewSmallFileBudget returns an empty budget for a store with the given memtable budget.
func NewSmallFileBudget(memtableBytes int64) SmallFileBudget {
	return SmallFileBudget{memtableBytes: memtableBytes}
}

// Flushed adds to the budget for a flush that has written the given bytes.
func (b *SmallFileBudget) Flushed(bytes int64) {
	b.allowance = min(b.allowance+bytes/smallFileShare, b.memtableBytes/mostAllowance)
}

// Covers reports whether there are files to merge in level 0 of a partition, and the budget
// suffices to merge them with what they overlap.
func (b *SmallFileBudget) Covers(v *manifest.Version) bool {
	files := Level0Inputs(v)
	return len(files) > 1 && b.cost(files) <= b.allowance
}

// Spend takes a compaction of files from the budget.
func (b *SmallFileBudget) Spend(files []*manifest.File) { b.allowance -= b.cost(files) }

// cost is what it takes to compact files, in bytes.
func (b *SmallFileBudget) cost(files []*manifest.File) int64 {
	return max(manifest.TotalSize(files), b.memtableBytes/leastCost)
}
