package manifest

import (
	"bytes"
	"iter"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine/rangedel"
)

// NumLevels is the number of levels of a partition. Level 0 takes flushed memtables, whose
// rows overlap. In every other level files are disjoint.
//
// 8: with 7, 8 and 9 a random load writes each byte 3.3, 3.1 and 3.0 times, and a read asks 3.6,
// 3.9 and 4.1 runs (compaction.TestPickGrowth, mean of 60 to 500 flushes).
const NumLevels = 8

// LastLevel is the bottommost level. It holds most of the data.
const LastLevel = NumLevels - 1

// File describes one sorted file of a partition. It is immutable, except for Stale.
type File struct {
	Number     uint64 // never reused
	Size       int64  // in bytes
	Checksum   uint64 // xxhash64 of the whole file
	Smallest   []byte // first row
	Largest    []byte // last row; a row never continues in the next file of a level
	MinSeq     uint64
	MaxSeq     uint64
	Entries    uint64 // tombstones included
	Tombstones uint64
	RawBytes   uint64 // of the entries before encoding and compression
	// CleanSeq says that range tombstones up to it cover nothing in the file: what wrote the file
	// has dropped all that they cover.
	CleanSeq uint64
	// Times are those of which the file says something, as in sstable.Info: a reader of other times need not
	// open it.
	Times cell.TimeRange

	// Owner is the owner's handle of the file. It is set before the file is in a
	// published version. This package does not use it.
	Owner any
	// Stale is set when at least half of the entries are known to be garbage.
	Stale atomic.Bool
}

// overlaps reports whether the file can hold rows from first to last, both
// included. A nil last is open.
func (f *File) overlaps(first, last []byte) bool {
	return bytes.Compare(f.Largest, first) >= 0 && (last == nil || bytes.Compare(f.Smallest, last) <= 0)
}

// Reaches reports whether the file can hold rows from start up to end, end not
// included. A nil end is open.
func (f *File) Reaches(start, end []byte) bool {
	return bytes.Compare(f.Largest, start) >= 0 && (end == nil || bytes.Compare(f.Smallest, end) < 0)
}

// MostlyGarbage reports whether at least half of the file's entries are tombstones or
// known garbage.
func (f *File) MostlyGarbage() bool { return f.Stale.Load() || 2*f.Tombstones >= f.Entries }

// GarbageEntries estimates how many entries a rewrite of the file could drop.
func (f *File) GarbageEntries() uint64 {
	if f.Stale.Load() {
		return f.Entries
	}
	return f.Tombstones
}

// Version is the set of files of a partition at one time. It is immutable: a
// flush or compaction publishes a new one.
//
// For one row, a file of a lower-numbered level has only newer sequence numbers than
// a file of a higher-numbered one, or the latter has sequence number 0.
type Version struct {
	// Levels[0] is ordered newest first; the others by row, disjoint.
	Levels [NumLevels][]*File
	// RangeTombstones are those that may cover entries in files, as rangedel.Merge returns them.
	// Every reader of the version sees all of them.
	RangeTombstones *rangedel.Set
}

// Size returns the bytes of a level.
func (v *Version) Size(level int) int64 { return TotalSize(v.Levels[level]) }

// Files returns every file of the version, level by level.
func (v *Version) Files() iter.Seq[*File] {
	return func(yield func(*File) bool) {
		for _, level := range v.Levels {
			for _, f := range level {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// Newest returns the largest file number, 0 for an empty version.
func (v *Version) Newest() uint64 {
	var n uint64
	for f := range v.Files() {
		n = max(n, f.Number)
	}
	return n
}

// Overlapping returns the files of a level that can hold rows from first to last,
// both included, in the order of the level.
func (v *Version) Overlapping(level int, first, last []byte) []*File {
	files := v.Levels[level]
	if level == 0 {
		return slices.DeleteFunc(slices.Clone(files), func(f *File) bool { return !f.overlaps(first, last) })
	}
	start := FirstReaching(files, first)
	end := start
	for end < len(files) && files[end].overlaps(first, last) {
		end++
	}
	return files[start:end]
}

// FirstBelow returns the first level below the given one that has files with rows from
// first to last, NumLevels if none has.
func (v *Version) FirstBelow(level int, first, last []byte) int {
	for level++; level < NumLevels && len(v.Overlapping(level, first, last)) == 0; level++ {
	}
	return level
}

// CoveredBelow reports whether every row that f can hold, of those from first to last,
// lies in the range of some file below a level.
func (v *Version) CoveredBelow(level int, f *File, first, last []byte) bool {
	if bytes.Compare(f.Smallest, first) > 0 {
		first = f.Smallest
	}
	if bytes.Compare(f.Largest, last) < 0 {
		last = f.Largest
	}
	var below []*File
	for level++; level < NumLevels; level++ {
		below = append(below, v.Overlapping(level, first, last)...)
	}
	slices.SortFunc(below, func(f, g *File) int { return bytes.Compare(f.Smallest, g.Smallest) })
	for _, g := range below {
		if bytes.Compare(g.Smallest, first) > 0 {
			return false
		}
		if bytes.Compare(g.Largest, last) >= 0 {
			return true
		}
		if bytes.Compare(g.Largest, first) > 0 {
			first = g.Largest
		}
	}
	return false
}

// LargestRun returns the disjoint files with the most bytes that can hold rows from start
// up to end, in order: one file of level 0, or files of another level.
func (v *Version) LargestRun(start, end []byte) (largest []*File, size int64) {
	try := func(run []*File) {
		if n := TotalSize(run); n > size {
			largest, size = run, n
		}
	}
	for _, f := range v.Levels[0] {
		if f.Reaches(start, end) {
			try([]*File{f})
		}
	}
	for _, files := range v.Levels[1:] {
		try(Within(files, start, end))
	}
	return largest, size
}

// WithFlushed returns the version with new files in level 0.
func (v *Version) WithFlushed(files []*File) *Version {
	next := *v
	next.Levels[0] = slices.Concat(files, v.Levels[0])
	return &next
}

// Within returns the files of a level other than 0 that can hold rows from start up to end.
func Within(files []*File, start, end []byte) []*File {
	first, last := FirstReaching(files, start), len(files)
	if end != nil {
		last = sort.Search(len(files), func(i int) bool { return bytes.Compare(files[i].Smallest, end) >= 0 })
	}
	return files[first:max(first, last)]
}

// FirstReaching returns the index of the first file of a level other than 0 that can hold rows
// from start on, len(files) if none can.
func FirstReaching(files []*File, start []byte) int {
	return sort.Search(len(files), func(i int) bool { return bytes.Compare(files[i].Largest, start) >= 0 })
}

// Bounds returns the first and the last row of files in any order.
func Bounds(files []*File) (first, last []byte) {
	for i, f := range files {
		if i == 0 || bytes.Compare(f.Smallest, first) < 0 {
			first = f.Smallest
		}
		if i == 0 || bytes.Compare(f.Largest, last) > 0 {
			last = f.Largest
		}
	}
	return first, last
}

// TotalSize returns the bytes of files.
func TotalSize(files []*File) int64 {
	var n int64
	for _, f := range files {
		n += f.Size
	}
	return n
}
