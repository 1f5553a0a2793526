package compaction

import (
	"bytes"

	"colonnade/engine/manifest"
)

// depth answers, for rows in ascending order, whether any level below the output
// can hold the row.
type Bottommost struct {
	levels [][]*manifest.File // of the levels below, each from the first file of interest on
}

func NewBottommost(v *manifest.Version, output int) *Bottommost {
	d := &Bottommost{}
	for _, files := range v.Levels[output+1:] {
		if len(files) > 0 {
			d.levels = append(d.levels, files)
		}
	}
	return d
}

// bottom reports whether no lower level can hold the row.
func (d *Bottommost) Holds(row []byte) bool {
	for i, files := range d.levels {
		for len(files) > 0 && bytes.Compare(files[0].Largest, row) < 0 {
			files = files[1:]
		}
		d.levels[i] = files
		if len(files) > 0 && bytes.Compare(files[0].Smallest, row) <= 0 {
			return false
		}
	}
	return true
}
