package engine

import (
	"bytes"
	"iter"
	"slices"
	"sync/atomic"
)

// numLevels is the number of levels of a partition. Level 0 takes flushed
// memtables, whose rows overlap; in every other level files are disjoint. With 7, 8 and
// 9 random load writes everything 3.3, 3.1 and 3.0 times, with 3.6, 3.9 and 4.1 runs for reads to
// ask (simulated as TestPickGrowth, the mean of all sizes from 60 to 500 flushes).
const numLevels = 8

// file describes one sorted file of a partition. It is immutable, save stale.
type file struct {
	number   uint64 // never reused
	size     int64
	checksum uint64 // xxhash64 of the whole file
	smallest []byte // first row
	largest  []byte // last row; a row never continues in the next file of a level
	minSeq   uint64
	maxSeq   uint64
	cells    uint64 // entries, tombstones included
	deletes  uint64 // tombstones
	rawBytes uint64

	table *table      // set once, before the file is in a published version
	stale atomic.Bool // half of it or more is known to be garbage
}

// overlaps reports whether the file can hold rows from first to last, both
// included. A nil last is open.
func (f *file) overlaps(first, last []byte) bool {
	return bytes.Compare(f.largest, first) >= 0 && (last == nil || bytes.Compare(f.smallest, last) <= 0)
}

// version is the set of files of a partition at one time. It is immutable: a
// flush or compaction publishes a new one.
//
// For one row, a file of a lower-numbered level holds only newer sequence
// numbers than those of a higher-numbered one, save that the latter may have
// been set to 0.
type version struct {
	// levels[0] is ordered newest first; the others by row, disjoint.
	levels [numLevels][]*file
}

// size returns the bytes of a level.
func (v *version) size(level int) int64 {
	var n int64
	for _, f := range v.levels[level] {
		n += f.size
	}
	return n
}

// files returns every file of the version, level by level.
func (v *version) files() iter.Seq[*file] {
	return func(yield func(*file) bool) {
		for _, level := range v.levels {
			for _, f := range level {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// overlapping returns the files of a level that can hold rows from first to last,
// both included, in the order of the level.
func (v *version) overlapping(level int, first, last []byte) []*file {
	files := v.levels[level]
	if level == 0 {
		return slices.DeleteFunc(slices.Clone(files), func(f *file) bool { return !f.overlaps(first, last) })
	}
	start, _ := slices.BinarySearchFunc(files, first, func(f *file, row []byte) int { return bytes.Compare(f.largest, row) })
	end := start
	for end < len(files) && files[end].overlaps(first, last) {
		end++
	}
	return files[start:end]
}

// firstBelow returns the first level below one with files that can hold rows from first to
// last, numLevels if there is none.
func (v *version) firstBelow(level int, first, last []byte) int {
	for level++; level < numLevels && len(v.overlapping(level, first, last)) == 0; level++ {
	}
	return level
}

// bounds returns the first and the last row of files in any order.
func bounds(files []*file) (first, last []byte) {
	for i, f := range files {
		if i == 0 || bytes.Compare(f.smallest, first) < 0 {
			first = f.smallest
		}
		if i == 0 || bytes.Compare(f.largest, last) > 0 {
			last = f.largest
		}
	}
	return first, last
}

func totalSize(files []*file) int64 {
	var n int64
	for _, f := range files {
		n += f.size
	}
	return n
}
