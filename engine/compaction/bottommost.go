package compaction

import (
	"bytes"

	"github.com/colonnade-db/colonnade/engine/manifest"
)

// Bottommost tells whether an output level is the bottommost one for a row.
type Bottommost struct {
	levels [][]*manifest.File // the files of the levels below, from the first that the next row can lie in
}

// NewBottommost returns the test for outputs in a level of v.
func NewBottommost(v *manifest.Version, output int) *Bottommost {
	b := &Bottommost{}
	for _, files := range v.Levels[output+1:] {
		if len(files) > 0 {
			b.levels = append(b.levels, files)
		}
	}
	return b
}

// Holds reports whether no level below the output can hold the row. Call it for rows in ascending
// order.
func (b *Bottommost) Holds(row []byte) bool {
	for i, files := range b.levels {
		for len(files) > 0 && bytes.Compare(files[0].Largest, row) < 0 {
			files = files[1:]
		}
		b.levels[i] = files
		if len(files) > 0 && bytes.Compare(files[0].Smallest, row) <= 0 {
			return false
		}
	}
	return true
}
