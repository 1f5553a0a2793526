package engine

import (
	"bytes"
	"slices"
)

// maxParts keeps the parts of large ranges few.
const maxParts = 64

// Divide returns rows, in order, that divide the rows from start up to end into about 64 parts
// of about the same size, or into fewer so that the files that decide have about least bytes in
// each. Parts are to be scanned by several goroutines at once: each goes from one of the rows to
// the next. It returns none where there is less to divide, and where it cannot tell; Scan says
// why. start and end are as in ScanOptions. The rows must not be changed.
func (s *Snapshot) Divide(id PartitionID, start, end []byte, least int64) (bounds [][]byte) {
	pin, err := s.pin(id)
	if err != nil {
		return nil
	}
	files, _ := largestRun(pin.state.version, start, end)
	size := sizeWithin(files, start, end)
	parts := min(size/least, maxParts)
	if parts < 2 {
		return nil
	}
	return slices.DeleteFunc(divideRun(files, size/parts, start, end), func(row []byte) bool {
		return bytes.Compare(row, start) <= 0 || end != nil && bytes.Compare(row, end) >= 0
	})
}

// sizeWithin returns about how many bytes of files that do not overlap, in order, are of rows from
// start up to end: of the first and the last, all need not be.
func sizeWithin(files []*file, start, end []byte) (size int64) {
	for i, f := range files {
		n := f.size
		if i == 0 || i == len(files)-1 {
			if r, err := f.table.open(); err == nil {
				n = min(n, r.SizeWithin(start, end))
			}
		}
		size += n
	}
	return size
}

// divideRun returns rows, in order, that divide files which do not overlap into parts of about so
// many bytes. Of those within a file, most that are not between start and end are left out.
func divideRun(files []*file, part int64, start, end []byte) (bounds [][]byte) {
	since := int64(0) // the last bound, if that is where a file begins
	for _, f := range files {
		if since >= part {
			bounds, since = append(bounds, f.smallest), 0
		}
		since += f.size
		n := int(f.size / part)
		if n < 2 {
			continue
		}
		if r, err := f.table.open(); err == nil {
			bounds = r.AppendBounds(bounds, n, start, end)
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
