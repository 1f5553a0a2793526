package engine

import "bytes"

// splitter says where the output of a compaction ends a file early, so that none
// overlaps too much in the level after: that is what its own next step will have
// to merge.
type splitter struct {
	below []*file // of the level after the output, from the first not passed yet
	limit int64
	size  int64 // of those passed since the file began
}

// newSplitter is for the output of a part of a compaction, which begins at a row, nil for all of it.
func newSplitter(v *version, c *choice, start []byte, o pickOptions) *splitter {
	s := &splitter{limit: maxBelow * o.fileSize}
	if c.output+1 < numLevels {
		first, last := bounds(c.files())
		if start != nil {
			first = start
		}
		s.below = v.overlapping(c.output+1, first, last)
	}
	return s
}

// before is called for each row of the output, in order, and reports whether the
// row should begin a new file.
func (s *splitter) before(row []byte) bool {
	for len(s.below) > 0 && bytes.Compare(s.below[0].largest, row) < 0 {
		s.size += s.below[0].size
		s.below = s.below[1:]
	}
	if s.size <= s.limit {
		return false
	}
	s.size = 0
	return true
}
