package compaction

import (
	"bytes"
	"slices"

	"github.com/colonnade-db/colonnade/engine/manifest"
)

// Pick decides what a partition compacts next; the policy is in the package comment. It changes
// nothing. The caller carries the choice out, and keeps the inputs busy meanwhile. A nil busy
// means that no file is.
func Pick(v *manifest.Version, busy func(*manifest.File) bool, o Options) Choice {
	p := newPicker(v, busy, o)
	if c := p.dropDeleted(); c.Kind != Nothing {
		return c
	}
	waiting := false // level 0 does
	if p.level0Full() || o.Early || o.RunMerges.Bottommost.To == 0 && p.readPaid(v.Levels[0]) {
		if c := p.compactLevel0(); c.Kind != Nothing {
			return c
		}
		waiting = p.level0Full() && !o.Stuck
	}
	if waiting {
		return p.stepRunMerge(o.RunMerges.Intermediate) // for anything else it would only wait longer
	}
	if o.RangesFull {
		if c := p.pickRangeTombstones(); c.Kind != Nothing {
			return c
		}
	}
	if c := p.stepEither(o.RunMerges.Bottommost, o.RunMerges.Intermediate); c.Kind != Nothing {
		return c
	}
	if c := p.pickTombstones(); c.Kind != Nothing {
		return c
	}
	if o.RunMerges != (RunMerges{}) {
		return Choice{} // they wait for a busy file, and count the files that they have to merge
	}
	return p.pickRangeTombstones()
}

// Options are what Pick decides by.
type Options struct {
	// Level0Files is how many files fill level 0 if little lies below it.
	Level0Files int
	// SmallBytes is how many bytes below level 0 count as little.
	SmallBytes int64
	// FileSize is the size of the files that a compaction writes, in bytes.
	FileSize int64
	// Visible is a sequence number: every later reader sees all batches up to here, so tombstones
	// up to it can be dropped.
	Visible uint64
	// Early says to compact level 0 before it is full.
	Early bool
	// RangesFull says that range tombstones have to go: writers wait for that.
	RangesFull bool
	// AllRanges says to rewrite all files that range tombstones cover in part, even if little is
	// deleted in them.
	AllRanges bool
	// ReadPaid is the highest file number that read-triggered compaction brings to the last
	// level, 0 for none.
	ReadPaid uint64
	// Stuck says that a file is busy for good, because it is damaged. Waiting for it is useless.
	Stuck bool

	RunMerges RunMerges // under way
}

const (
	// mostFiles bounds the size of a step, in files, where there is a choice.
	mostFiles = 6 * maxBelow
)

// Level0Files is the default of Options.Level0Files. More would slow down every read. So many
// files of data that compresses to a quarter have about as many bytes as memtables may have,
// which is the default of SmallBytes.
const Level0Files = 8

// picker is a version with what follows from it.
type picker struct {
	v    *manifest.Version
	busy func(*manifest.File) bool
	o    Options
	top  int // the first upper level with files, or LastLevel
	full int // Level0Limit
}

func newPicker(v *manifest.Version, busy func(*manifest.File) bool, o Options) *picker {
	if busy == nil {
		busy = func(*manifest.File) bool { return false }
	}
	p := &picker{v: v, busy: busy, o: o, top: 1, full: Level0Limit(v, o)}
	for p.top < manifest.LastLevel && len(v.Levels[p.top]) == 0 {
		p.top++
	}
	return p
}

// LargeFactor is how many times as many files fill level 0 if much lies below it. Reads ask more
// files until they have paid for their compaction.
//
// 2: a random load writes each byte 3.7, 3.3, 3.1 and 3.0 times with 1, 1.5, 2 and 2.25
// (TestPickGrowth). From about 2 on its bytes are the bound (fullBytes).
const LargeFactor = 2

// Level0Limit returns how many files fill level 0.
func Level0Limit(v *manifest.Version, o Options) int {
	below := int64(0)
	for level := 1; level < manifest.NumLevels; level++ {
		below += v.Size(level)
	}
	if below > o.SmallBytes {
		return LargeFactor * o.Level0Files
	}
	return o.Level0Files
}

// Level0Pressure returns the number of files in level 0, less the extra ones that it may have where
// much lies below it. Write stalls go by it.
func Level0Pressure(v *manifest.Version, o Options) int {
	return len(v.Levels[0]) - Level0Limit(v, o) + o.Level0Files
}

// fullBytes is how many times SmallBytes fills level 0, however few its files and whatever lies
// below. Twice Level0Files files of data that compresses to a quarter have about as much.
const fullBytes = 2

// level0Full reports whether level 0 has to be compacted. Busy files do not count: they are on
// their way to another level.
func (p *picker) level0Full() bool {
	files, size := 0, int64(0)
	for _, f := range p.v.Levels[0] {
		if !p.busy(f) {
			files, size = files+1, size+f.Size
		}
	}
	return files >= p.full || size >= fullBytes*p.o.SmallBytes
}

// compactLevel0 chooses the files that leave level 0: those with the fewest bytes to write for
// each file that goes, because reads pay for the number of files.
func (p *picker) compactLevel0() Choice {
	var best cheapest
	full := p.level0Full()
	for _, group := range p.groups() {
		if c := p.fromLevel0(group); full || c.helpsReads() || p.readPaid(group) {
			best.consider(c, float64(c.written())/float64(len(group)))
		}
	}
	return best.choice
}

// readPaid reports whether reads have paid for bringing one of the files to the last level.
func (p *picker) readPaid(files []*manifest.File) bool {
	return slices.ContainsFunc(files, func(f *manifest.File) bool { return f.Number <= p.o.ReadPaid })
}

// helpsReads reports whether reads ask fewer sources once files have left level 0. They do not if
// a single file becomes a run of its own.
func (c *Choice) helpsReads() bool { return c.Output == manifest.LastLevel || len(c.Inputs[0]) > 1 }

// fromLevel0 compacts a group of files out of level 0: into the last level with all that lies
// below them, or if that is much, into the lowest level above it. There may be none. With Stuck
// that is for good, because a damaged file keeps part of level 1 in place; the group is then
// merged into level 1.
func (p *picker) fromLevel0(group []*manifest.File) Choice {
	c, ok := p.mergeDown(0, group, manifest.LastLevel)
	if c.size()-manifest.TotalSize(group) > p.o.SmallBytes {
		first, last := manifest.Bounds(group)
		to := p.v.FirstBelow(0, first, last) - 1
		if to == 0 && !p.o.Stuck {
			return Choice{}
		}
		c, ok = p.mergeDown(0, group, max(to, 1))
	}
	if !ok {
		return Choice{}
	}
	return c
}

// stepRunMerge chooses the next step of a run merge: the first possible one, since all will be
// made. A step that would be large, because files do not end where they should, waits for the
// steps further down.
func (p *picker) stepRunMerge(d RunMerge) Choice {
	var smallest cheapest
	for level := p.top; level <= d.From; level++ {
		for _, f := range p.v.Levels[level] {
			if f.Number > d.Last {
				continue
			}
			c, ok := p.mergeDown(level, []*manifest.File{f}, d.To)
			if ok && c.written() <= mostFiles*p.o.FileSize {
				return c
			}
			if ok {
				smallest.consider(c, float64(c.written()))
			}
		}
	}
	return smallest.choice
}

// stepEither chooses the next step of a run merge, or of the other one if that has none.
func (p *picker) stepEither(d, other RunMerge) Choice {
	if c := p.stepRunMerge(d); c.Kind != Nothing {
		return c
	}
	return p.stepRunMerge(other)
}

// cheapest keeps the choice of the lowest cost, the first of several.
type cheapest struct {
	choice Choice
	cost   float64
}

func (b *cheapest) consider(c Choice, cost float64) {
	if c.Kind != Nothing && (b.choice.Kind == Nothing || cost < b.cost) {
		b.choice, b.cost = c, cost
	}
}

// mergeDown merges files of a level, which hang together, into another level, with what they
// overlap there and on the way. Unless level is 0, it adds the files of their level whose rows all
// lie among those. It is not ok if one of the files is busy.
func (p *picker) mergeDown(level int, upper []*manifest.File, to int) (c Choice, ok bool) {
	c = Choice{Kind: Merge, Output: to}
	c.Inputs[level] = upper
	first, last := manifest.Bounds(upper)
	for grown := true; grown; { // by a file on the way, which can overlap more than upper
		grown = false
		for l := level + 1; l <= to; l++ {
			files := p.v.Overlapping(l, first, last)
			if l < to && len(files) > len(c.Inputs[l]) {
				first, last = manifest.Bounds(append([]*manifest.File{{Smallest: first, Largest: last}}, files...))
				grown = true
			}
			c.Inputs[l] = files
		}
	}
	if level > 0 && level < to {
		c.Inputs[level] = slices.DeleteFunc(slices.Clone(p.v.Overlapping(level, first, last)), func(f *manifest.File) bool {
			return bytes.Compare(f.Smallest, first) < 0 || bytes.Compare(f.Largest, last) > 0
		})
	}
	files := c.Files()
	if len(files) == 1 && p.canMove(files[0], to) {
		c.Kind = Move
	}
	return c, !slices.ContainsFunc(files, p.busy)
}

// canMove reports whether a file may move to a level, where it overlaps nothing, without being
// written. It must not when a rewrite would drop its tombstones, or when it would lie above so
// much that its next step would be very large.
func (p *picker) canMove(f *manifest.File, to int) bool {
	if f.MostlyGarbage() && f.MaxSeq <= p.o.Visible && !p.anyBelow(to, f) {
		return false
	}
	return to == manifest.LastLevel || manifest.TotalSize(p.v.Overlapping(manifest.LastLevel, f.Smallest, f.Largest)) <= 2*maxBelow*p.o.FileSize
}

// anyBelow reports whether a level below has a file that f overlaps.
func (p *picker) anyBelow(level int, f *manifest.File) bool {
	return p.v.FirstBelow(level, f.Smallest, f.Largest) < manifest.NumLevels
}

// groups returns the files of level 0 in groups, each newest first. The files of a group overlap
// one another, directly or through others, and none of another group.
func (p *picker) groups() [][]*manifest.File {
	byRow := slices.Clone(p.v.Levels[0])
	slices.SortFunc(byRow, func(f, g *manifest.File) int { return bytes.Compare(f.Smallest, g.Smallest) })
	var groups [][]*manifest.File
	for len(byRow) > 0 {
		n, last := 1, byRow[0].Largest
		for n < len(byRow) && bytes.Compare(byRow[n].Smallest, last) <= 0 {
			if bytes.Compare(byRow[n].Largest, last) > 0 {
				last = byRow[n].Largest
			}
			n++
		}
		groups = append(groups, p.v.Overlapping(0, byRow[0].Smallest, last))
		byRow = byRow[n:]
	}
	return groups
}

// group returns the files of level 0 that have to leave it together with f.
func (p *picker) group(f *manifest.File) []*manifest.File {
	for _, group := range p.groups() {
		if slices.Contains(group, f) {
			return group
		}
	}
	return nil
}

// Level0Inputs returns the inputs of a compaction of all of level 0 into the last level: its
// files and those that they overlap.
func Level0Inputs(v *manifest.Version) []*manifest.File {
	if len(v.Levels[0]) == 0 {
		return nil
	}
	c, _ := newPicker(v, nil, Options{}).mergeDown(0, v.Levels[0], manifest.LastLevel)
	return c.Files()
}

// AnyReadPaid reports whether reads have paid for bringing a file above the last level there.
func AnyReadPaid(v *manifest.Version, o Options) bool {
	return slices.ContainsFunc(v.Levels[:manifest.LastLevel], newPicker(v, nil, o).readPaid)
}
