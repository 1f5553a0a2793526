package engine

import (
	"bytes"
	"slices"
)

// maxParts keeps the parts of large ranges few.
const maxParts = 64

// Divide returns rows, in order, that divide the rows from start up to end into parts
// of about the same size, to be scanned by several goroutines at once: each part goes
// from one of the rows to the next. The files that decide have at least so many bytes in
// each of them, but for the first and the last. It returns none where there is less to divide,
// and where it cannot tell; Scan says why. start and end are as in ScanOptions. The rows must
// not be changed.
func (s *Snapshot) Divide(id PartitionID, start, end []byte, least int64) (bounds [][]byte) {
	pin, err := s.pin(id)
	if err != nil {
		return nil
	}
	files, size := largestRun(pin.state.version, start, end)
	parts := min(size/least, maxParts)
	if parts < 2 {
		return nil
	}
	bounds = slices.DeleteFunc(divideRun(files, size, parts, start, end), func(row []byte) bool {
		return bytes.Compare(row, start) <= 0 || end != nil && bytes.Compare(row, end) >= 0
	})
	if len(bounds) < 2 { // what is between them and the ends may be nothing
		return nil
	}
	return everyOf(bounds, len(bounds)/maxParts+1)
}

// divideRun returns rows, in order, that divide files which do not overlap into about so many
// parts. The first is where they begin. Of those within a file, most that are not between
// start and end are left out.
func divideRun(files []*file, size, parts int64, start, end []byte) (bounds [][]byte) {
	for _, f := range files {
		bounds = append(bounds, f.smallest)
		n := int(f.size * parts / size)
		if n < 2 {
			continue
		}
		if r, err := f.table.open(); err == nil {
			bounds = r.AppendBounds(bounds, n, start, end)
		}
	}
	return bounds
}

// everyOf returns every so manieth of rows.
func everyOf(rows [][]byte, n int) [][]byte {
	kept := rows[:0]
	for i := n - 1; i < len(rows); i += n {
		kept = append(kept, rows[i])
	}
	return kept
}

// largestRun returns the most bytes in files that do not overlap, in order, and that
// can hold rows from start up to end: a file of level 0, or those of another level.
func largestRun(v *version, start, end []byte) (largest []*file, size int64) {
	try := func(run []*file) {
		n := int64(0)
		for _, f := range run {
			n += f.size
		}
		if n > size {
			largest, size = run, n
		}
	}
	for _, f := range v.levels[0] {
		if f.reaches(start, end) {
			try([]*file{f})
		}
	}
	for _, files := range v.levels[1:] {
		try(within(files, start, end))
	}
	return largest, size
}
