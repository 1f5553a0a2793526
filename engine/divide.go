package engine

import (
	"bytes"
	"slices"

	"github.com/colonnade-db/colonnade/engine/manifest"
)

// maxRanges bounds the number of parts of large ranges.
const maxRanges = 64

// Divide returns rows, in order, that divide the range from start up to end into parts of similar size, for
// a parallel scan: each goroutine scans from one of the rows up to the next. There are at most about 64
// parts, or fewer, so that each has about least bytes of the largest run of files. Divide returns none
// where there is less to divide, and where it cannot tell; Scan then returns the error. start and end
// are as in ScanOptions. The rows must not be changed.
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

// sizeWithin estimates how many bytes of disjoint files, in order, are of rows from start up to end. Only
// the first and the last file can have other rows.
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

// divideRun returns rows, in order, that divide disjoint files into parts of about part bytes. It
// leaves out most rows outside start to end.
func divideRun(files []*manifest.File, part int64, start, end []byte) (bounds [][]byte) {
	since := int64(0) // the last bound, if a file begins there
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
