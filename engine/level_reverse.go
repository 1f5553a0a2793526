package engine

import (
	"bytes"
	"slices"

	"github.com/colonnade-db/colonnade/engine/manifest"
)

func (s *levelSource) SeekBelow(row []byte) {
	if s.Err() != nil { // Cells may have met one
		return
	}
	at := len(s.files)
	if row != nil {
		at, _ = slices.BinarySearchFunc(s.files, row, func(f *manifest.File, row []byte) int {
			return bytes.Compare(f.Smallest, row)
		})
	}
	if s.it == nil || at-1 != s.at {
		s.openBelow(at - 1)
	}
	if s.it != nil {
		s.it.SeekBelow(row)
		s.skipEmptyBelow()
	}
}

func (s *levelSource) PrevRow() {
	if s.err == nil && s.it != nil {
		s.it.PrevRow()
		s.skipEmptyBelow()
	}
}

// skipEmptyBelow moves on to the file before while the current one has no more rows.
func (s *levelSource) skipEmptyBelow() {
	for s.it != nil && s.it.Row() == nil {
		if s.err = s.it.Err(); s.err != nil {
			return
		}
		s.openBelow(s.at - 1)
		if s.it != nil {
			s.it.SeekBelow(nil)
		}
	}
}

// openBelow is open for a source that moves down.
func (s *levelSource) openBelow(at int) { s.openNext(at, -1) }
