package compaction

import (
	"bytes"

	"github.com/colonnade-db/colonnade/engine/manifest"
)

// Splitter says where the files that a compaction writes end. In the last level a file ends when
// it is full. In an upper level a file ends where files of the levels below end, if none of those
// continues there. So the files of all levels lie in ranges of rows, none lies in two, and the
// next step of a range has little to merge. A range is as small as the levels below allow, and
// takes up a few files of the last level.
type Splitter struct {
	full int64 // the size of a file; 0 for one that ends at most alone
	Most int64 // from which on one ends in any case

	// below are the files of the levels below, the last level's at the end, from the
	// first not passed yet.
	below [][]*manifest.File
	size  int64 // of the files of the last level that were passed since the file began
	due   bool  // a file of an upper level was
}

const (
	// maxBelow bounds what the files of a range take up in the last level, in files: about that
	// much is merged when they go there.
	//
	// 5: with 3 and 10 as much was written (with seven levels).
	maxBelow = 5
	// leastPart is the least part of a full file that a file which ends early has: each file
	// costs something, however small.
	//
	// 64: with 16 and 256 as much was written (with seven levels), but with 16 some steps were
	// several times as large.
	leastPart = 64
)

// NewSplitter returns the Splitter for the outputs of a compaction, or of the subcompaction that
// begins at start. A nil start is the beginning.
func NewSplitter(v *manifest.Version, c *Choice, start []byte, o Options) *Splitter {
	s := &Splitter{full: o.FileSize, Most: o.FileSize}
	first, last := manifest.Bounds(c.Files())
	if start != nil {
		first = start
	}
	for level := c.Output + 1; level < manifest.NumLevels; level++ {
		files := v.Overlapping(level, first, last)
		s.below = append(s.below, files)
		if len(files) > 0 {
			s.Most = 2 * o.FileSize // to end where others do
		}
	}
	return s
}

// StartsFile reports whether row should begin a new file. Call it for each row of the output, in
// order, with the size of the current file in bytes.
func (s *Splitter) StartsFile(row []byte, size int64) bool {
	end := s.pass(row)
	must := size >= s.Most || s.size > 2*maxBelow*s.full
	may := s.due || s.size > maxBelow*s.full || size >= s.full/2
	if !must && (end == nil || !may || size < s.full/leastPart || s.spanned(end)) || size == 0 {
		return false
	}
	s.due, s.size = false, 0
	return true
}

// pass removes the files below that end before a row, and returns the last of their rows, nil if
// there are none.
func (s *Splitter) pass(row []byte) (end []byte) {
	for i, files := range s.below {
		for len(files) > 0 && bytes.Compare(files[0].Largest, row) < 0 {
			f := files[0]
			if i == len(s.below)-1 {
				s.size += f.Size
			} else {
				s.due = true
			}
			if bytes.Compare(f.Largest, end) > 0 {
				end = f.Largest
			}
			files = files[1:]
		}
		s.below[i] = files
	}
	return end
}

// spanned reports whether a file below has rows up to one and after it.
func (s *Splitter) spanned(row []byte) bool {
	for _, files := range s.below {
		if len(files) > 0 && bytes.Compare(files[0].Smallest, row) <= 0 {
			return true
		}
	}
	return false
}

// SplitAtSize returns a Splitter that ends each file at a size, in bytes.
func SplitAtSize(most int64) *Splitter { return &Splitter{Most: most} }
