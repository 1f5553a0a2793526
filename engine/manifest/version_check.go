package manifest

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
	return nil
}

// inOrder reports why next may not follow prev in a level.
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

// check reports why the description of a file cannot be right.
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
	}
	return nil
}
