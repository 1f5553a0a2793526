package engine

import (
	"bytes"
	"fmt"
)

// check reports the first way in which the version breaks the rules of levels:
//
//  1. every file has a number of its own, a size, entries, and bounds that are
//     the right way round;
//  2. level 0 is ordered newest first, by the largest sequence number;
//  3. in every other level files are in row order and share no row.
//
// That newer entries of a row lie above older ones cannot be seen from the
// bounds of files.
func (v *version) check() error {
	seen := make(map[uint64]int) // file number -> its level
	for level, files := range v.levels {
		for i, f := range files {
			if err := f.check(); err != nil {
				return fmt.Errorf("level %d: %w", level, err)
			}
			if other, twice := seen[f.number]; twice {
				return fmt.Errorf("file %d is in level %d and again in level %d", f.number, other, level)
			}
			seen[f.number] = level
			if i == 0 {
				continue
			}
			if err := inOrder(level, files[i-1], f); err != nil {
				return err
			}
		}
	}
	return nil
}

// inOrder reports why next may not follow prev in a level.
func inOrder(level int, prev, next *file) error {
	if level == 0 {
		if prev.maxSeq <= next.maxSeq {
			return fmt.Errorf("level 0: file %d up to sequence number %d stands before file %d up to %d",
				prev.number, prev.maxSeq, next.number, next.maxSeq)
		}
		return nil
	}
	if bytes.Compare(prev.largest, next.smallest) >= 0 {
		return fmt.Errorf("level %d: file %d ends with row %q, the next file %d begins with %q",
			level, prev.number, prev.largest, next.number, next.smallest)
	}
	return nil
}

// check reports why the description of a file cannot be right.
func (f *file) check() error {
	switch {
	case f.number == 0:
		return fmt.Errorf("a file without a number")
	case f.size <= 0:
		return fmt.Errorf("file %d has a size of %d", f.number, f.size)
	case len(f.smallest) == 0:
		return fmt.Errorf("file %d has no first row", f.number)
	case bytes.Compare(f.smallest, f.largest) > 0:
		return fmt.Errorf("file %d begins with row %q and ends with %q", f.number, f.smallest, f.largest)
	case f.minSeq > f.maxSeq:
		return fmt.Errorf("file %d has sequence numbers from %d to %d", f.number, f.minSeq, f.maxSeq)
	case f.cells == 0:
		return fmt.Errorf("file %d has no entries", f.number)
	case f.deletes > f.cells:
		return fmt.Errorf("file %d has %d tombstones among %d entries", f.number, f.deletes, f.cells)
	}
	return nil
}
