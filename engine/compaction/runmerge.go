package compaction

import "github.com/colonnade-db/colonnade/engine/manifest"

// RunMerge is a merge of the runs of upper levels into a lower level, in steps of one range of
// rows each. What it covers is decided when it begins and stands until it is over. If each step
// decided for its own range, one range would go further down than another, and no level would
// become free. It affects only what is written, so it may be forgotten at any time. The zero
// value is none.
type RunMerge struct {
	From int    // the files are in levels 1 to From
	To   int    // the level into which they are merged
	Last uint64 // files up to this number are part of it
}

// Pending reports whether a file is left to merge.
func (m RunMerge) Pending(v *manifest.Version) bool {
	for level := 1; level <= m.From; level++ {
		for _, f := range v.Levels[level] {
			if f.Number <= m.Last {
				return true
			}
		}
	}
	return false
}

// RunMerges are those of a partition. Each covers the files of the moment when it began, so new
// files do not keep it from ending.
type RunMerges struct {
	Intermediate RunMerge // of level 1, which level 0 needs
	Bottommost   RunMerge // of all upper levels, into the last level
}

// Next returns each run merge until it is over, and then the next one if it is due. A run merge is
// also over when a file is busy for good and blocks all that is left.
func (r RunMerges) Next(v *manifest.Version, busy func(*manifest.File) bool, o Options) RunMerges {
	p := newPicker(v, busy, o)
	over := func(m RunMerge) bool { return !m.Pending(v) || o.Stuck && p.stepRunMerge(m).Kind == Nothing }
	if over(r.Bottommost) {
		r.Bottommost = RunMerge{}
		late := p.top > 1 && p.readPaid(v.Levels[0]) // what was paid for comes to an upper level first
		if p.top < manifest.LastLevel && (p.upperLevelsFull() || o.ReadPaid > 0 && !late) {
			r.Bottommost = RunMerge{manifest.LastLevel - 1, manifest.LastLevel, v.Newest()}
		}
	}
	if over(r.Intermediate) {
		r.Intermediate = RunMerge{}
		if p.top == 1 && (r.Bottommost.To == 0 || p.level0Full()) { // else there may soon be room without it
			if to := p.cheapestTarget(); to > 0 {
				r.Intermediate = RunMerge{1, to, v.Newest()}
			}
		}
	}
	return r
}

// upperFactor is how many times as much as the last level the upper levels hold before all of it
// is merged into the last level. Overwritten data may take up that much.
//
// 2: a random load writes each byte 3.5, 3.3, 3.1 and 3.2 times with 1, 1.5, 2 and 3
// (TestPickGrowth).
const upperFactor = 2.0

// upperLevelsFull reports whether the upper levels hold too much.
func (p *picker) upperLevelsFull() bool {
	upper := int64(0)
	for level := p.top; level < manifest.LastLevel; level++ {
		upper += p.v.Size(level)
	}
	return float64(upper) > upperFactor*float64(p.v.Size(manifest.LastLevel))
}

// cheapestTarget returns the level into which to merge level 1: the one with the fewest bytes
// written for each level that becomes free, so that runs of similar size are merged. It is 0 if
// nothing can go anywhere.
func (p *picker) cheapestTarget() (best int) {
	least := 0.0
	for to := manifest.LastLevel; to > 1; to-- {
		written, freed := p.emptyFirst(to)
		if freed == 0 {
			continue
		}
		if cost := float64(written) / float64(freed); best == 0 || cost < least {
			best, least = to, cost
		}
	}
	return best
}

// emptyFirst returns how many bytes are written if level 1 is merged into another level, and how
// many levels become free. With Stuck it covers the ranges that no busy file blocks.
func (p *picker) emptyFirst(to int) (written int64, freed int) {
	if !p.o.Stuck {
		c, _ := p.mergeDown(1, p.v.Levels[1], to)
		return c.written(), c.freed()
	}
	for _, f := range p.v.Levels[1] {
		if c, ok := p.mergeDown(1, []*manifest.File{f}, to); ok {
			written += c.written()
			freed = max(freed, c.freed())
		}
	}
	return written, freed
}
