package compaction

import (
	"slices"

	"github.com/colonnade-db/colonnade/engine/manifest"
)

// Manual is a manual compaction: it brings all that a partition holds into the last level and
// rewrites every file, step by step. Then nothing is left that no reader can see, and the GC
// policies of the time have been applied to everything.
//
// It empties level by level, and ends under any load: what is flushed after its start is not part
// of it. Ordinary compactions may run meanwhile. What they merge with newer data has been
// rewritten, but may stay above the last level. The zero value has not started.
type Manual struct {
	started bool
	first   uint64 // files up to this number were there at the start
	level   int    // that is being emptied, or at the end written again
	last    uint64 // its files up to this number are
	Done    bool   // set by the caller when there is no next step
}

// Left returns the bytes of the files that have not been rewritten.
func (m *Manual) Left(v *manifest.Version) (left int64) {
	for _, files := range v.Levels {
		for _, f := range files {
			if !m.started || f.Number <= m.first {
				left += f.Size
			}
		}
	}
	return left
}

// Next returns the next step. If there is none but done is false, compactions under way block it,
// and the caller asks again after one of them. Next starts only when none is under way, so the
// caller must not begin others before; later it may.
//
// A full level 0 goes first, so that writes do not have to wait.
func (m *Manual) Next(v *manifest.Version, busy func(*manifest.File) bool, o Options) (c Choice, done bool) {
	p := newPicker(v, busy, o)
	if !m.started {
		for _, files := range v.Levels {
			if slices.ContainsFunc(files, p.busy) {
				return Choice{}, false
			}
		}
		m.started, m.first, m.last = true, v.Newest(), v.Newest()
	}
	if c := p.dropDeleted(); c.Kind != Nothing {
		return c, false
	}
	if p.level0Full() {
		c := p.compactLevel0() // nothing if it waits for what is under way, or for a level
		if c.Kind == Nothing {
			c = p.stepEither(o.RunMerges.Intermediate, o.RunMerges.Bottommost)
		}
		return c, false
	}
	for ; m.level < manifest.NumLevels; m.level++ {
		if c, left := m.empty(p); left {
			return c, false
		}
		m.last = v.Newest()
		if m.level+1 == manifest.LastLevel {
			m.last = m.first
		}
	}
	return Choice{}, true
}

// empty returns the next step for the current level, and whether any of its files are left.
func (m *Manual) empty(p *picker) (c Choice, left bool) {
	for _, f := range p.v.Levels[m.level] {
		if f.Number > m.last {
			continue
		}
		left = true
		switch m.level {
		case 0:
			if c = p.fromLevel0(p.group(f)); c.Kind == Nothing {
				c = p.stepEither(p.o.RunMerges.Intermediate, p.o.RunMerges.Bottommost)
			}
		case manifest.LastLevel:
			if !p.busy(f) {
				c = rewrite(m.level, f)
			}
		default:
			if down, ok := p.mergeDown(m.level, []*manifest.File{f}, manifest.LastLevel); ok {
				c = down
			}
		}
		if c.Kind != Nothing {
			break
		}
	}
	return c, left
}
