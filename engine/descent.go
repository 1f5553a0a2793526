package engine

import "colonnade/engine/manifest"

// descent is files of upper levels on their way down, and where to. That is decided when it
// begins, by what the levels hold then, and stands until it is over: if each step were to
// decide for its own range of rows, one range would go further than another, and no level be
// free. It is only about what is written, so it may be forgotten at any time. The zero value
// is none.
type descent struct {
	from int    // the last of the levels that the files are in, from 1 on
	to   int    // the level that they go to
	last uint64 // the largest number of one of them
}

// pending reports whether there is something left to do.
func (d descent) pending(v *manifest.Version) bool {
	for level := 1; level <= d.from; level++ {
		for _, f := range v.Levels[level] {
			if f.Number <= d.last {
				return true
			}
		}
	}
	return false
}

// descents are those of a partition. Both are about the files of the time when they began, so
// that what comes meanwhile does not keep them from an end.
type descents struct {
	room   descent // from the first level, which level 0 needs
	bottom descent // of everything, into the last level
}

// next returns each of the descents until it is over, and then the next one, if it is due. One
// is also over when a file is busy for good and all that is left is in its way.
func (d descents) next(v *manifest.Version, busy func(*manifest.File) bool, o pickOptions) descents {
	p := newPicker(v, busy, o)
	over := func(d descent) bool { return !d.pending(v) || o.stuck && p.descend(d).kind == nothing }
	if over(d.bottom) {
		d.bottom = descent{}
		late := p.top > 1 && p.paidFor(v.Levels[0]) // what was paid for comes to an upper level first
		if p.top < manifest.LastLevel && (p.heavy() || o.paid > 0 && !late) {
			d.bottom = descent{manifest.LastLevel - 1, manifest.LastLevel, v.Newest()}
		}
	}
	if over(d.room) {
		d.room = descent{}
		if p.top == 1 && (d.bottom.to == 0 || p.fullLevel0()) { // else there may soon be room without it
			if to := p.cheapestLevel(); to > 0 {
				d.room = descent{1, to, v.Newest()}
			}
		}
	}
	return d
}

// heavyUpper is how many times as much as the last level the upper ones hold before all that
// goes there. Random load writes everything 3.5, 3.3, 3.1 and 3.2 times with 1, 1.5, 2 and 3 (simulated
// as TestPickGrowth, the mean of all sizes from 60 to 500 flushes); what was overwritten may take
// up that much.
const heavyUpper = 2.0

// heavy reports whether the upper levels hold too much.
func (p *picker) heavy() bool {
	upper := int64(0)
	for level := p.top; level < manifest.LastLevel; level++ {
		upper += p.v.Size(level)
	}
	return float64(upper) > heavyUpper*float64(p.v.Size(manifest.LastLevel))
}

// cheapestLevel returns where the fewest bytes are written for each level that is free then,
// if all of the first level goes there, as far as it can: so runs of like size are merged. It is 0 if
// nothing can go anywhere.
func (p *picker) cheapestLevel() (best int) {
	least := 0.0
	for to := manifest.LastLevel; to > 1; to-- {
		written, freed := p.clearFirst(to)
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
func (p *picker) clearFirst(to int) (written int64, freed int) {
	if !p.o.stuck {
		c, _ := p.down(1, p.v.Levels[1], to)
		return c.written(), c.freed()
	}
	for _, f := range p.v.Levels[1] {
		if c, ok := p.down(1, []*manifest.File{f}, to); ok {
			written += c.written()
			freed = max(freed, c.freed())
		}
	}
	return written, freed
}
