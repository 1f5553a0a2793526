package compaction

import (
	"bytes"
	"slices"

	"colonnade/engine/manifest"
)

// pick decides what a partition compacts next. It looks at a version and changes
// nothing; the compaction is for the caller to carry out, with the inputs busy
// meanwhile.
//
// The levels. Flushed memtables come into level 0. The last level is one run that holds
// most of the data, and each of the upper levels between them is a run, or has none:
//
//  1. When level 0 is full, it is merged with all that lies below its rows, into the
//     last level, as long as that is little: about as much as it brings.
//
//  2. If it is much, level 0 becomes a run of its own, in the lowest level above all
//     that it overlaps: so its rows are written once, and not with everything that is
//     there already. It is full with twice as many files then: the fewer runs there are,
//     the less often they are merged.
//
//  3. When the first upper level is in use, and there may soon be none for level 0, runs
//     are merged; when the upper levels hold too much beside the last one, or reads have
//     paid for it, they go there. Which runs go, and where to, is decided once (descent)
//     and then carried out step by step, a range of rows at a time.
//
// Files of all levels end at the same rows, as far as may be (splitter). So what overlaps a
// file lies in its range, and a step is that of a range.
//
// Each byte is written a few times until it is in the last level, where levels that
// are ten times as large as the one above have it merged with ten others in each. What that
// costs is a run more to read in each upper level, and space for what was overwritten.
//
// Two rules keep the order of a version, in which newer entries of a row lie above
// older ones:
//
//   - What leaves level 0 takes along every file of level 0 that it overlaps, and so
//     on: nothing older stays behind. What moves to a level is merged with every file
//     there that it overlaps, and takes along every one on the way that it overlaps, and
//     so on.
//
//   - The inputs of a compaction hang together: their ranges of rows, laid over one
//     another, have no gap. So whatever else would write into the range of its
//     outputs, from above to the same level or past it, overlaps one of its inputs,
//     finds it busy, and waits. What works wholly below leaves a file in each place
//     where there was one (compaction.stands). Compactions that run at the same time
//     need to know no more of one another.
func Pick(v *manifest.Version, busy func(*manifest.File) bool, o Options) Choice {
	p := newPicker(v, busy, o)
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
	if c := p.stepEither(o.RunMerges.Bottommost, o.RunMerges.Intermediate); c.Kind != Nothing {
		return c
	}
	return p.pickTombstones()
}

// pickOptions are the sizes that pick goes by.
type Options struct {
	Level0Files    int    // so many files in level 0 are to be compacted, if little lies below it (version.fullFiles)
	SmallBytes     int64  // up to which what lies below level 0 is little; fullBytes times as much fills it
	FileSize       int64  // of the files that a compaction writes
	OldestSnapshot uint64 // at most that of a Filter later: tombstones up to it can go
	Early          bool   // level 0 is to be compacted, full or not
	ReadPaid       uint64 // reads have paid for files up to this number to go into the last level
	Stuck          bool   // a file is busy for good: to wait for it is of no use

	RunMerges RunMerges // what of the upper levels is on its way down
}

const (
	// mostFiles is what a step merges at most, in files, where there is a choice.
	mostFiles = 6 * maxBelow
)

// defaultL0Files is the number of level-0 files from which they are compacted, if little lies
// below them. More would cost every read. So many of data that compresses to a quarter have about
// as many bytes as memtables may, which is what counts as little.
const Level0Files = 8

// picker is a version and what follows from it.
type picker struct {
	v    *manifest.Version
	busy func(*manifest.File) bool
	o    Options
	top  int // the first upper level with files, or lastLevel
	full int // version.fullFiles
}

func newPicker(v *manifest.Version, busy func(*manifest.File) bool, o Options) *picker {
	p := &picker{v: v, busy: busy, o: o, top: 1, full: Level0Limit(v, o)}
	for p.top < manifest.LastLevel && len(v.Levels[p.top]) == 0 {
		p.top++
	}
	return p
}

// aboveMuch is how many times as many files level 0 is full with if much lies below it. A load at
// random writes everything 3.7, 3.3, 3.1 and 3.0 times with 1, 1.5, 2 and 2.25, which is about where
// its bytes are the bound (fullBytes; simulated as TestPickGrowth, the mean of all sizes from 60 to 500 flushes);
// reads ask more files until they have paid for their compaction.
const LargeFactor = 2

// fullFiles returns from how many files in level 0 on they are to be compacted.
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

// fullBytes is how many times as many bytes as are little level 0 is full with, however few its files
// and whatever lies below: what it has with twice as many files of data that compresses to a quarter.
const fullBytes = 2

// fullLevel0 reports whether level 0 has to be compacted. Files that are on their way
// to another level already do not count.
func (p *picker) level0Full() bool {
	files, size := 0, int64(0)
	for _, f := range p.v.Levels[0] {
		if !p.busy(f) {
			files, size = files+1, size+f.Size
		}
	}
	return files >= p.full || size >= fullBytes*p.o.SmallBytes
}

// relieveLevel0 chooses what leaves level 0: where the fewest bytes are to be written
// for each file that goes, as the number of files is what reads pay for.
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

// paidFor reports whether reads have paid for one of the files to go into the last level.
func (p *picker) readPaid(files []*manifest.File) bool {
	return slices.ContainsFunc(files, func(f *manifest.File) bool { return f.Number <= p.o.ReadPaid })
}

// spares reports whether reads have less to ask once files have left level 0: not if there is
// one, which becomes a run of its own.
func (c *Choice) helpsReads() bool { return c.Output == manifest.LastLevel || len(c.Inputs[0]) > 1 }

// leave has a group of files leave level 0: for the last level, with all that lies below
// them, or if that is much, for the lowest level above it. There may be none. If that is for
// good, as a damaged file keeps some of the first level where it is, they are merged with that.
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

// descend chooses the next step of a descent: the first that can be made, since all will
// be. What would be a large one, as files do not end where they should, waits for what is
// further down.
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

// descendEither chooses the next step of a descent, or of another if that one has none.
func (p *picker) stepEither(d, other RunMerge) Choice {
	if c := p.stepRunMerge(d); c.Kind != Nothing {
		return c
	}
	return p.stepRunMerge(other)
}

// cheapest is the choice of the least cost, the first of several.
type cheapest struct {
	choice Choice
	cost   float64
}

func (b *cheapest) consider(c Choice, cost float64) {
	if c.Kind != Nothing && (b.choice.Kind == Nothing || cost < b.cost) {
		b.choice, b.cost = c, cost
	}
}

// down brings files of a level, which hang together, to another one, with what they
// overlap there and on the way, and what else of their level, unless it is level 0, has all
// its rows among those. It is not ok if one of these files is busy.
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
	return c, p.busy == nil || !slices.ContainsFunc(files, p.busy)
}

// canMove reports whether a file may go to a level, where it overlaps nothing,
// as it is. Not so when writing it again would drop its tombstones, or when it
// would lie above so much that its next step would be a very large one.
func (p *picker) canMove(f *manifest.File, to int) bool {
	if f.MostlyGarbage() && f.MaxSeq <= p.o.OldestSnapshot && !p.anyBelow(to, f) {
		return false
	}
	return to == manifest.LastLevel || manifest.TotalSize(p.v.Overlapping(manifest.LastLevel, f.Smallest, f.Largest)) <= 2*maxBelow*p.o.FileSize
}

// anyBelow reports whether a level below has a file that f overlaps.
func (p *picker) anyBelow(level int, f *manifest.File) bool {
	return p.v.FirstBelow(level, f.Smallest, f.Largest) < manifest.NumLevels
}

// groups returns the files of level 0 in groups, each newest first. The files of
// a group overlap one another, directly or through others, and none of another.
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

// topInputs returns what a compaction of all of level 0 into the last level takes: its files,
// and those that they fall on.
func Level0Inputs(v *manifest.Version) []*manifest.File {
	if len(v.Levels[0]) == 0 {
		return nil
	}
	c, _ := newPicker(v, nil, Options{}).mergeDown(0, v.Levels[0], manifest.LastLevel)
	return c.Files()
}

// anyPaid reports whether reads have paid for a file above the last level.
func AnyReadPaid(v *manifest.Version, o Options) bool {
	return slices.ContainsFunc(v.Levels[:manifest.LastLevel], newPicker(v, nil, o).readPaid)
}
