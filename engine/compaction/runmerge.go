package compaction

import "colonnade/engine/manifest"

// descent is files of upper levels on their way down, and where to. That is decided when it
// begins, by what the levels hold then, and stands until it is over: if each step were to
// decide for its own range of rows, one range would go further than another, and no level be
// free. It is only about what is written, so it may be forgotten at any time. The zero value
// is none.
type RunMerge struct {
	From int    // the last of the levels that the files are in, from 1 on
	To   int    // the level that they go to
	Last uint64 // the largest number of one of them
}

// pending reports whether there is something left to do.
func (d RunMerge) Pending(v *manifest.Version) bool {
	for level := 1; level <= d.From; level++ {
		for _, f := range v.Levels[level] {
			if f.Number <= d.Last {
				return true
			}
		}
	}
	return false
}

// descents are those of a partition. Both are about the files of the time when they began, so
// that what comes meanwhile does not keep them from an end.
type RunMerges struct {
	Intermediate RunMerge // from the first level, which level 0 needs
	Bottommost   RunMerge // of everything, into the last level
}

// next returns each of the descents until it is over, and then the next one, if it is due. One
// is also over when a file is busy for good and all that is left is in its way.
func (d RunMerges) Next(v *manifest.Version, busy func(*manifest.File) bool, o Options) RunMerges {
	p := newPicker(v, busy, o)
	over := func(d RunMerge) bool { return !d.Pending(v) || o.Stuck && p.stepRunMerge(d).Kind == Nothing }
	if over(d.Bottommost) {
		d.Bottommost = RunMerge{}
		late := p.top > 1 && p.readPaid(v.Levels[0]) // what was paid for comes to an upper level first
		if p.top < manifest.LastLevel && (p.upperLevelsFull() || o.ReadPaid > 0 && !late) {
			d.Bottommost = RunMerge{manifest.LastLevel - 1, manifest.LastLevel, v.Newest()}
		}
	}
	if over(d.Intermediate) {
		d.Intermediate = RunMerge{}
		if p.top == 1 && (d.Bottommost.To == 0 || p.level0Full()) { // else there may soon be room without it
			if to := p.cheapestTarget(); to > 0 {
				d.Intermediate = RunMerge{1, to, v.Newest()}
			}
		}
	}
	return d
}

// heavyUpper is how many times as much as the last level the upper ones hold before all that
// goes there. Random load writes everything 3.5, 3.3, 3.1 and 3.2 times with 1, 1.5, 2 and 3 (simulated
// as TestPickGrowth, the mean of all sizes from 60 to 500 flushes); what was overwritten may take
// up that much.
const upperFactor = 2.0

// heavy reports whether the upper levels hold too much.
func (p *picker) upperLevelsFull() bool {
	upper := int64(0)
	for level := p.top; level < manifest.LastLevel; level++ {
		upper += p.v.Size(level)
	}
	return float64(upper) > upperFactor*float64(p.v.Size(manifest.LastLevel))
}

// cheapestLevel returns where the fewest bytes are written for each level that is free then,
// if all of the first level goes there, as far as it can: so runs of like size are merged. It is 0 if
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

// clearFirst returns how many bytes are written if all of the first level goes to another one, and
// how many levels are free then. If a file is busy for good, it is about those ranges that are not
// in its way.
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
