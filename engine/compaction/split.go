package compaction

import (
	"bytes"

	"colonnade/engine/manifest"
)

// splitter says where the files end that a compaction writes. In the last level that is
// when they are full. Those of an upper level end where files of the levels below do, if
// none of these goes on there: so the files of all levels lie in ranges of rows, none in two
// of them, and the next step of one has little to merge. A range is as small as the levels
// below leave it, and takes up no more than some files of the last level.
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
	// maxBelow, in files, is what the files of a range take up in the last level, about: so
	// much is merged when they go there. With 3 and 10 as much was written, of seven levels.
	maxBelow = 5
	// leastPart of a full file is what one that ends early has at least: each costs
	// something, however small. With 16 and 256 as much was written, of seven levels, but with 16
	// some steps were several times as large.
	leastPart = 64
)

// newSplitter is for the output of a part of a compaction, which begins at a row, nil for all of it.
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

// before is called for each row of the output, in order, with the size of the file under
// writing, and reports whether the row should begin a new one.
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

// pass takes away the files that end before a row, and returns the last row of them, nil if
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

// splitAt returns a splitter that ends a file at a size, wherever that is.
func SplitAtSize(most int64) *Splitter { return &Splitter{Most: most} }
