package manifest

import (
	"bytes"
	"fmt"

	"github.com/colonnade-db/colonnade/engine/rangedel"
)

// Range tombstones of a version. They come with the flush of their memtable, when everything that they
// cover is in files. Each file says up to which of them it is clean. One goes when no file is left that
// may have entries that it covers:
//
//	range tombstone        [-------- #9 --------)
//	before           [a #3-5]  [b #2-4]  [c #3-7 clean 8]
//	                 a is compacted, b is dropped without being read
//	after            [d #3-5 clean 9]    [c #3-7 clean 8]
//	trimmed to                           [-- #9 -)

// mayCover returns the highest sequence number of range tombstones that cover no entry of the file.
func (f *File) mayCover() uint64 { return max(f.CleanSeq, f.MinSeq) }

// CoveredBy reports whether range tombstones cover every entry of the file, whatever they are.
func (f *File) CoveredBy(s *rangedel.Set) bool { return s.CoversAll(f.Smallest, f.Largest, f.MaxSeq) }

// RangeTombstonesOver returns how many range tombstones of the version may cover entries of a file, and
// whether one of them goes on before or after the rows of the file.
func (v *Version) RangeTombstonesOver(f *File) (n int, longer bool) {
	for _, t := range v.RangeTombstones.Fragments(f.Smallest, f.Largest, f.mayCover()) {
		n++
		longer = longer || bytes.Compare(t.Start, f.Smallest) < 0 || t.Covers(after(f.Largest))
	}
	return n, longer
}

// WithRangeTombstones returns the version with range tombstones that every reader sees from now on.
func (v *Version) WithRangeTombstones(sets []*rangedel.Set) *Version {
	if len(sets) == 0 {
		return v
	}
	next := *v
	next.RangeTombstones = rangedel.Merge(append(sets[:len(sets):len(sets)], v.RangeTombstones)...)
	return &next
}

// TrimRangeTombstones returns the version without the range tombstones that cover no entry of a file, and
// the rest as short as they can be. Memtables must have no entries that they cover.
func (v *Version) TrimRangeTombstones() *Version {
	list := v.RangeTombstones.List()
	if len(list) == 0 {
		return v
	}
	type bounds struct{ first, last []byte } // of the files with entries that one may cover
	needed := make([]bounds, len(list))
	for f := range v.Files() {
		for i := range v.RangeTombstones.Fragments(f.Smallest, f.Largest, f.mayCover()) {
			b := &needed[i]
			if b.last == nil || bytes.Compare(f.Smallest, b.first) < 0 {
				b.first = f.Smallest
			}
			if bytes.Compare(f.Largest, b.last) > 0 {
				b.last = f.Largest
			}
		}
	}
	var kept []rangedel.Tombstone
	same := true
	for i, t := range list {
		b := needed[i]
		if b.last == nil {
			same = false
			continue
		}
		if bytes.Compare(t.Start, b.first) < 0 {
			t.Start, same = b.first, false
		}
		if end := after(b.last); t.Covers(end) {
			t.End, same = end, false
		}
		kept = append(kept, t)
	}
	if same {
		return v
	}
	next := *v
	next.RangeTombstones = rangedel.New(kept)
	return &next
}

// after returns the first key after a row.
func after(row []byte) []byte { return append(row[:len(row):len(row)], 0) }

// keepsRangeTombstones returns an error if the version lacks a range tombstone that the version before it
// has, and has a file with entries that it may cover.
func (v *Version) keepsRangeTombstones(before *Version) error {
	if v.RangeTombstones == before.RangeTombstones {
		return nil
	}
	for f := range v.Files() {
		for _, t := range before.RangeTombstones.Fragments(f.Smallest, f.Largest, f.mayCover()) {
			start, end := t.Start, after(f.Largest)
			if bytes.Compare(start, f.Smallest) < 0 {
				start = f.Smallest
			}
			if !t.Covers(f.Largest) {
				end = t.End
			}
			if !v.RangeTombstones.CoversRange(start, end, t.Seq-1) {
				return fmt.Errorf("file %d may have entries that the range tombstone %d from row %q covers, which is gone", f.Number, t.Seq, t.Start)
			}
		}
	}
	return nil
}
