package engine

import (
	"bytes"
	"slices"

	"colonnade/engine/manifest"
)

// maxRanges keeps the parts of large ranges few.
const maxRanges = 64

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
	files, _ := pin.state.version.LargestRun(start, end)
	size := sizeWithin(files, start, end)
	parts := min(size/least, maxRanges)
	if parts < 2 {
		return nil
	}
	return slices.DeleteFunc(divideRun(files, size/parts, start, end), func(row []byte) bool {
		return bytes.Compare(row, start) <= 0 || end != nil && bytes.Compare(row, end) >= 0
	})
}

// sizeWithin returns about how many bytes of files that do not overlap, in order, are of rows from
// start up to end: of the first and the last, all need not be.
func sizeWithin(files []*manifest.File, start, end []byte) (size int64) {
	for i, f := range files {
		n := f.Size
		if i == 0 || i == len(files)-1 {
			if r, err := tableOf(f).open(); err == nil {
				n = min(n, r.EstimateSize(start, end))
			}
		}
		size += n
	}
	return size
}

// divideRun returns rows, in order, that divide files which do not overlap into parts of about so
// many bytes. Of those within a file, most that are not between start and end are left out.
func divideRun(files []*manifest.File, part int64, start, end []byte) (bounds [][]byte) {
	since := int64(0) // the last bound, if that is where a file begins
	for _, f := range files {
		if since >= part {
			bounds, since = append(bounds, f.Smallest), 0
		}
		since += f.Size
		n := int(f.Size / part)
		if n < 2 {
			continue
		}
		if r, err := tableOf(f).open(); err == nil {
			bounds = r.AppendSplits(bounds, n, start, end)
		}
	}
	return bounds
}
