package engine

import (
	"bytes"
	"slices"

	"colonnade/engine/manifest"
)

// choiceKind is what a compaction does.
type choiceKind uint8

const (
	nothing choiceKind = iota
	move               // the one input belongs to the output level from now on
	merge              // the inputs are replaced by new files in the output level
)

// choice is a compaction. The zero value is none.
type choice struct {
	kind   choiceKind
	inputs [manifest.NumLevels][]*manifest.File // in the order of their level
	output int
}

// files returns the inputs.
func (c *choice) files() []*manifest.File { return slices.Concat(c.inputs[:]...) }

// size returns the bytes of the inputs, and written about how many of them are written.
func (c *choice) size() (n int64) {
	for _, files := range c.inputs {
		n += manifest.TotalSize(files)
	}
	return n
}

func (c *choice) written() int64 {
	if c.kind == move {
		return 0
	}
	return c.size()
}

// freed returns how many levels have no file left in the range of the inputs.
func (c *choice) freed() (n int) {
	for _, files := range c.inputs[:c.output] {
		if len(files) > 0 {
			n++
		}
	}
	return n
}

// apply returns v after the compaction: without the inputs, and with files in the
// output level, or the input itself if it was moved. v may be later than the
// version of the choice, and still holds the inputs.
func (c *choice) apply(v *manifest.Version, files []*manifest.File) *manifest.Version {
	if c.kind == move {
		files = c.files()
	}
	next := *v
	for level, inputs := range c.inputs {
		if len(inputs) > 0 {
			next.Levels[level] = slices.DeleteFunc(slices.Clone(v.Levels[level]), func(f *manifest.File) bool {
				return slices.Contains(inputs, f)
			})
		}
	}
	next.Levels[c.output] = slices.Concat(next.Levels[c.output], files)
	slices.SortFunc(next.Levels[c.output], func(f, g *manifest.File) int { return bytes.Compare(f.Smallest, g.Smallest) })
	return &next
}
