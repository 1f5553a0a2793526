package compaction

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/engine/manifest"
)

// Kind is what a compaction does to its inputs.
type Kind uint8

const (
	Nothing Kind = iota
	Move         // the one input belongs to the output level from now on
	Merge        // the inputs are replaced by new files in the output level
	Drop         // the inputs go without being read; the output is the last level, and gets nothing
)

// Choice is a compaction to carry out. The zero value is none.
type Choice struct {
	Kind   Kind
	Inputs [manifest.NumLevels][]*manifest.File // in the order of their level
	Output int
}

// Files returns the inputs.
func (c *Choice) Files() []*manifest.File { return slices.Concat(c.Inputs[:]...) }

// size returns the bytes of the inputs.
func (c *Choice) size() (n int64) {
	for _, files := range c.Inputs {
		n += manifest.TotalSize(files)
	}
	return n
}

// written estimates how many bytes the compaction writes.
func (c *Choice) written() int64 {
	if c.Kind != Merge {
		return 0
	}
	return c.size()
}

// freed returns how many levels have no file left in the range of the inputs.
func (c *Choice) freed() (n int) {
	for _, files := range c.Inputs[:c.Output] {
		if len(files) > 0 {
			n++
		}
	}
	return n
}

// Apply returns v after the compaction: without the inputs, and with files in the output level.
// A Move puts its input there. v may be later than the version of the choice, and must still
// hold the inputs.
func (c *Choice) Apply(v *manifest.Version, files []*manifest.File) *manifest.Version {
	if c.Kind == Move {
		files = c.Files()
	}
	next := *v
	for level, inputs := range c.Inputs {
		if len(inputs) > 0 {
			next.Levels[level] = slices.DeleteFunc(slices.Clone(v.Levels[level]), func(f *manifest.File) bool {
				return slices.Contains(inputs, f)
			})
		}
	}
	next.Levels[c.Output] = slices.Concat(next.Levels[c.Output], files)
	slices.SortFunc(next.Levels[c.Output], func(f, g *manifest.File) int { return bytes.Compare(f.Smallest, g.Smallest) })
	return &next
}

// AppliesTo says why a choice made from one version does not fit a later one, nil if it does. Each
// input has to be in its place, and no file may have come below the output where the compaction
// took it for the bottommost. Files below may have been rewritten or moved meanwhile, so rows
// count, not files.
func (c *Choice) AppliesTo(from, v *manifest.Version) error {
	for level, inputs := range c.Inputs {
		for _, f := range inputs {
			if !slices.Contains(v.Levels[level], f) {
				return fmt.Errorf("file %d is not in level %d", f.Number, level)
			}
		}
	}
	first, last := manifest.Bounds(c.Files())
	for level := c.Output + 1; level < manifest.NumLevels; level++ {
		for _, f := range v.Overlapping(level, first, last) {
			if !slices.Contains(from.Levels[level], f) && !from.CoveredBelow(c.Output, f, first, last) {
				return fmt.Errorf("file %d has come into level %d", f.Number, level)
			}
		}
	}
	return nil
}

// String shows the choice as its kind, its inputs by level, and its output:
// "merge 0: 9[a-c] 8[b-d], 7: 1[a-z] to 7".
func (c *Choice) String() string {
	if c.Kind == Nothing {
		return "nothing"
	}
	var levels []string
	for level, files := range c.Inputs {
		if len(files) == 0 {
			continue
		}
		text := fmt.Sprintf("%d:", level)
		for _, f := range files {
			text += fmt.Sprintf(" %d[%s-%s]", f.Number, f.Smallest, f.Largest)
		}
		levels = append(levels, text)
	}
	inputs := strings.Join(levels, ", ")
	switch c.Kind {
	case Drop:
		return "drop " + inputs
	case Move:
		return fmt.Sprintf("move %s to %d", inputs, c.Output)
	}
	return fmt.Sprintf("merge %s to %d", inputs, c.Output)
}
