package manifest

import (
	"bytes"
	"iter"
	"slices"
	"sort"
	"sync/atomic"
)

// numLevels is the number of levels of a partition. Level 0 takes flushed
// memtables, whose rows overlap; in every other level files are disjoint. With 7, 8 and
// 9 random load writes everything 3.3, 3.1 and 3.0 times, with 3.6, 3.9 and 4.1 runs for reads to
// ask (simulated as TestPickGrowth, the mean of all sizes from 60 to 500 flushes).
const NumLevels = 8

// lastLevel is the bottommost level, which holds most of the data.
const LastLevel = NumLevels - 1

// file describes one sorted file of a partition. It is immutable, save stale.
type File struct {
	Number     uint64 // never reused
	Size       int64
	Checksum   uint64 // xxhash64 of the whole file
	Smallest   []byte // first row
	Largest    []byte // last row; a row never continues in the next file of a level
	MinSeq     uint64
	MaxSeq     uint64
	Entries    uint64 // entries, tombstones included
	Tombstones uint64 // tombstones
	RawBytes   uint64

	// table is the handle of the file's owner, who sets it before the file is in a
	// published version. This package does not use it.
	Owner any
	// stale is set when at least half of the entries are known to be garbage.
	Stale atomic.Bool
}

// overlaps reports whether the file can hold rows from first to last, both
// included. A nil last is open.
func (f *File) overlaps(first, last []byte) bool {
	return bytes.Compare(f.Largest, first) >= 0 && (last == nil || bytes.Compare(f.Smallest, last) <= 0)
}

// version is the set of files of a partition at one time. It is immutable: a
// flush or compaction publishes a new one.
//
// For one row, a file of a lower-numbered level holds only newer sequence
// numbers than those of a higher-numbered one, save that the latter may have
// been set to 0.
type Version struct {
	// levels[0] is ordered newest first; the others by row, disjoint.
	Levels [NumLevels][]*File
}

// size returns the bytes of a level.
func (v *Version) Size(level int) int64 {
	var n int64
	for _, f := range v.Levels[level] {
		n += f.Size
	}
	return n
}

// files returns every file of the version, level by level.
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

// overlapping returns the files of a level that can hold rows from first to last,
// both included, in the order of the level.
func (v *Version) Overlapping(level int, first, last []byte) []*File {
	files := v.Levels[level]
	if level == 0 {
		return slices.DeleteFunc(slices.Clone(files), func(f *File) bool { return !f.overlaps(first, last) })
	}
	start, _ := slices.BinarySearchFunc(files, first, func(f *File, row []byte) int { return bytes.Compare(f.Largest, row) })
	end := start
	for end < len(files) && files[end].overlaps(first, last) {
		end++
	}
	return files[start:end]
}

// firstBelow returns the first level below one with files that can hold rows from first to
// last, numLevels if there is none.
func (v *Version) FirstBelow(level int, first, last []byte) int {
	for level++; level < NumLevels && len(v.Overlapping(level, first, last)) == 0; level++ {
	}
	return level
}

// bounds returns the first and the last row of files in any order.
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

func TotalSize(files []*File) int64 {
	var n int64
	for _, f := range files {
		n += f.Size
	}
	return n
}

// reaches reports whether the file can hold rows from start up to end.
func (f *File) Reaches(start, end []byte) bool {
	return bytes.Compare(f.Largest, start) >= 0 && (end == nil || bytes.Compare(f.Smallest, end) < 0)
}

// within returns the files of a level below 0 that can hold rows from start up to
// end.
func Within(files []*File, start, end []byte) []*File {
	first, last := FirstReaching(files, start), len(files)
	if end != nil {
		last = sort.Search(len(files), func(i int) bool { return bytes.Compare(files[i].Smallest, end) >= 0 })
	}
	return files[first:max(first, last)]
}

// firstReaching returns which of the files of a level below 0 is the first that can hold rows
// from start on.
func FirstReaching(files []*File, start []byte) int {
	return sort.Search(len(files), func(i int) bool { return bytes.Compare(files[i].Largest, start) >= 0 })
}

// flushed returns the version with new files of level 0.
func (v *Version) WithFlushed(files []*File) *Version {
	next := *v
	next.Levels[0] = append(append([]*File(nil), files...), v.Levels[0]...)
	return &next
}

// coveredBelow reports whether every row that f can hold, of those from first to last,
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

// mostlyDeletes reports whether at least half of the file's entries are
// tombstones.
func (f *File) mostlyDeletes() bool { return 2*f.Tombstones >= f.Entries }

// worthless reports whether at least half of the file's entries are not worth their
// space, and garbage how many, about.
func (f *File) MostlyGarbage() bool { return f.Stale.Load() || f.mostlyDeletes() }

func (f *File) GarbageEntries() uint64 {
	if f.Stale.Load() {
		return f.Entries
	}
	return f.Tombstones
}

// newest returns the largest number of a file.
func (v *Version) Newest() uint64 {
	var n uint64
	for _, files := range v.Levels {
		for _, f := range files {
			n = max(n, f.Number)
		}
	}
	return n
}

// largestRun returns the most bytes in files that do not overlap, in order, and that
// can hold rows from start up to end: a file of level 0, or those of another level.
func (v *Version) LargestRun(start, end []byte) (largest []*File, size int64) {
	try := func(run []*File) {
		n := int64(0)
		for _, f := range run {
			n += f.Size
		}
		if n > size {
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
