package engine

import (
	"bytes"
	"slices"
)

const (
	// partBytes is how much of the files that decide a part has at least, on disk: what
	// begins and ends a scan is a small part of that.
	partBytes = 1 << 20
	// maxParts keeps the parts of large ranges few.
	maxParts = 64
)

// Divide returns rows, in order, that divide the rows from start up to end into parts
// of about the same size, to be scanned by several goroutines at once: each part goes
// from one of the rows to the next. It returns none where it is not worth it, and where
// it cannot tell; Scan says why. start and end are as in ScanOptions. The rows must not
// be changed.
func (s *Snapshot) Divide(id PartitionID, start, end []byte) (bounds [][]byte) {
	pin, err := s.pin(id)
	if err != nil {
		return nil
	}
	files, size := largestRun(pin.state.version, start, end)
	parts := min(size/partBytes, maxParts)
	if parts < 2 {
		return nil
	}
	return slices.DeleteFunc(divideRun(files, size, parts), func(row []byte) bool {
		return bytes.Compare(row, start) <= 0 || end != nil && bytes.Compare(row, end) >= 0
	})
}

// divideRun returns rows, in order, that divide files which do not overlap into about so many
// parts. The first is where they begin.
func divideRun(files []*file, size, parts int64) (bounds [][]byte) {
	for _, f := range files {
		bounds = append(bounds, f.smallest)
		if r, err := f.table.open(); err == nil {
			bounds = r.AppendBounds(bounds, int(f.size*parts/size))
		}
	}
	return bounds
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
