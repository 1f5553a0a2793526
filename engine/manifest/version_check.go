package manifest

import (
	"bytes"
	"fmt"
)

// Check returns the first violation of the rules of levels:
//
//  1. Every file has a unique number, a size, entries, and ordered bounds.
//  2. Level 0 is ordered newest first, by the largest sequence number.
//  3. In every other level files are in row order and share no row.
//  4. Range tombstones are in row order and share no row.
//
// It cannot see from the bounds of files whether newer entries of a row lie above
// older ones.
func (v *Version) Check() error {
	seen := make(map[uint64]int) // file number -> its level
	for level, files := range v.Levels {
		for i, f := range files {
			if err := f.check(); err != nil {
				return fmt.Errorf("level %d: %w", level, err)
			}
			if other, twice := seen[f.Number]; twice {
				return fmt.Errorf("file %d is in level %d and again in level %d", f.Number, other, level)
			}
			seen[f.Number] = level
			if i == 0 {
				continue
			}
			if err := inOrder(level, files[i-1], f); err != nil {
				return err
			}
		}
	}
	return v.RangeTombstones.CheckFragments()
}

// inOrder says why next must not follow prev in a level, nil if it may.
func inOrder(level int, prev, next *File) error {
	if level == 0 {
		if prev.MaxSeq <= next.MaxSeq {
			return fmt.Errorf("level 0: file %d up to sequence number %d stands before file %d up to %d",
				prev.Number, prev.MaxSeq, next.Number, next.MaxSeq)
		}
		return nil
	}
	if bytes.Compare(prev.Largest, next.Smallest) >= 0 {
		return fmt.Errorf("level %d: file %d ends with row %q, the next file %d begins with %q",
			level, prev.Number, prev.Largest, next.Number, next.Smallest)
	}
	return nil
}

// check says why the description of a file is impossible, nil if it is not.
func (f *File) check() error {
	switch {
	case f.Number == 0:
		return fmt.Errorf("a file without a number")
	case f.Size <= 0:
		return fmt.Errorf("file %d has a size of %d", f.Number, f.Size)
	case len(f.Smallest) == 0:
		return fmt.Errorf("file %d has no first row", f.Number)
	case bytes.Compare(f.Smallest, f.Largest) > 0:
		return fmt.Errorf("file %d begins with row %q and ends with %q", f.Number, f.Smallest, f.Largest)
	case f.MinSeq > f.MaxSeq:
		return fmt.Errorf("file %d has sequence numbers from %d to %d", f.Number, f.MinSeq, f.MaxSeq)
	case f.Entries == 0:
		return fmt.Errorf("file %d has no entries", f.Number)
	case f.Tombstones > f.Entries:
		return fmt.Errorf("file %d has %d tombstones among %d entries", f.Number, f.Tombstones, f.Entries)
	case f.Times.Start < 0, f.Times.Start >= f.Times.End:
		return fmt.Errorf("file %d has times from %d to %d", f.Number, f.Times.Start, f.Times.End)
	}
	return nil
}
