package compaction

import "github.com/colonnade-db/colonnade/engine/manifest"

// Range tombstones. What they cover completely is dropped without being read, at once. A file that they
// cover in part is rewritten without what they cover. When no file is left that they may cover, they go
// too (manifest.Version.TrimRangeTombstones).

// rangesPaid is how many range tombstones pay for a rewrite of the file that they are in.
//
// With 1, range tombstones all over a partition would have it rewritten at every flush.
const rangesPaid = 16

// dropDeleted drops all files whose entries range tombstones cover.
func (p *picker) dropDeleted() Choice {
	if p.v.RangeTombstones == nil {
		return Choice{}
	}
	c := Choice{Output: manifest.LastLevel}
	for level, files := range p.v.Levels {
		for _, f := range files {
			if f.CoveredBy(p.v.RangeTombstones) && (p.busy == nil || !p.busy(f)) {
				c.Kind = Drop
				c.Inputs[level] = append(c.Inputs[level], f)
			}
		}
	}
	return c
}

// pickRangeTombstones chooses the file with the most range tombstones that may cover entries of it, and
// rewrites it, or takes it out of level 0. It leaves out files with few range tombstones that lie within
// their rows: such a file may be large for what would be deleted. They wait for more, for a compaction
// that comes anyway, or for AllRanges. A range tombstone that is longer than the file has at
// most two such files in each level.
func (p *picker) pickRangeTombstones() Choice {
	if p.v.RangeTombstones == nil {
		return Choice{}
	}
	var best Choice
	most := 0
	for level, files := range p.v.Levels {
		for _, f := range files {
			n, longer := p.v.RangeTombstonesOver(f)
			if n <= most || n < rangesPaid && !longer && !p.o.RangesFull && !p.o.AllRanges {
				continue
			}
			if c := p.compactDeleted(level, f); c.Kind != Nothing {
				best, most = c, n
			}
		}
	}
	return best
}

// compactDeleted is the next step for a file that range tombstones cover in part.
func (p *picker) compactDeleted(level int, f *manifest.File) Choice {
	switch {
	case level == 0:
		return p.fromLevel0(p.group(f))
	case p.busy != nil && p.busy(f):
		return Choice{}
	}
	return rewrite(level, f)
}
