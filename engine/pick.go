package engine

import (
	"bytes"
	"cmp"
	"slices"
)

// pick decides what a partition compacts next. It looks at a version and changes
// nothing; the compaction is for the caller to carry out, with the inputs busy
// meanwhile.
//
// The levels. Flushed memtables come into level 0. From there, data moves into
// the base level, and from each level to the next when it is larger than its goal.
// The last level has no goal; those above hold a tenth of the one below, so that
// about 90 % of the data is in the last, and what was overwritten or deleted takes
// up little space. The levels between 0 and the base are empty. As the partition
// grows, the base moves up.
//
// Two rules keep the order of a version, in which newer entries of a row lie above
// older ones:
//
//  1. What leaves level 0 takes along every file of level 0 that it overlaps,
//     and so on: nothing older stays behind. What moves into a level is merged with
//     every file there that it overlaps.
//
//  2. The inputs of a compaction hang together: their ranges of rows, laid over one
//     another, have no gap. So whatever else would write into the range of its
//     outputs overlaps one of its inputs, finds it busy, and waits. Compactions
//     that run at the same time need to know no more of one another.
func pick(v *version, busy func(*file) bool, o pickOptions) choice {
	p := newPicker(v, busy, o)
	waiting := false // level 0 does, for what is under way
	for _, level := range p.full() {
		if waiting && level == p.base {
			continue // it would only wait longer
		}
		if c := p.relieve(level); c.kind != nothing {
			return c
		}
		waiting = level == 0 && !o.stuck || waiting
	}
	if waiting {
		return choice{}
	}
	return p.purge()
}

// pickOptions are the sizes that pick goes by.
type pickOptions struct {
	l0Files  int    // so many files in level 0 are to be compacted, or
	baseSize int64  // so many bytes; and the largest goal of the base level
	fileSize int64  // of the files that a compaction writes
	oldest   uint64 // at most that of a keeper later: tombstones up to it can go
	early    bool   // level 0 is to be compacted, full or not
	stuck    bool   // a file is busy for good: to wait for it is of no use
}

const (
	// fanout is how many times larger a level is than the one above. A larger one
	// saves a level in big partitions and makes each step dearer.
	fanout = 10
	// maxBelow, in files, bounds what a file may overlap in the level after the
	// one that it is moved to: so much has to be merged when it moves on.
	maxBelow = 2 * fanout
)

// picker is a version and what follows from it.
type picker struct {
	v    *version
	busy func(*file) bool
	o    pickOptions

	base  int                // where the files of level 0 go
	goals [numLevels]float64 // bytes, from level 1 on
}

func newPicker(v *version, busy func(*file) bool, o pickOptions) *picker {
	p := &picker{v: v, busy: busy, o: o, base: numLevels - 1}
	total := int64(0)
	for level := 1; level < numLevels; level++ {
		total += v.size(level)
	}
	goal := float64(total) * (fanout - 1) / fanout
	for level := numLevels - 1; level > 0; level-- {
		p.goals[level] = goal
		if goal > float64(o.baseSize) {
			p.base = max(1, level-1)
		}
		goal /= fanout
	}
	for p.base > 1 && slices.ContainsFunc(v.levels[1:p.base], func(l []*file) bool { return len(l) > 0 }) {
		p.base--
	}
	return p
}

// full returns the levels that have reached their goal, the fullest first.
// Files that are on their way to another level already do not count.
func (p *picker) full() []int {
	var scores [numLevels]float64
	var levels []int
	for level := range numLevels - 1 {
		files, size := 0, int64(0)
		for _, f := range p.v.levels[level] {
			if !p.busy(f) {
				files, size = files+1, size+f.size
			}
		}
		switch {
		case files == 0:
			continue
		case level == 0:
			scores[0] = max(float64(files)/float64(p.o.l0Files), float64(size)/float64(p.o.baseSize))
			if p.o.early {
				scores[0] = max(scores[0], 1)
			}
		default:
			scores[level] = float64(size) / p.goals[level]
		}
		if scores[level] >= 1 {
			levels = append(levels, level)
		}
	}
	slices.SortStableFunc(levels, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return levels
}

// relieve chooses what leaves a level: that whose way down costs least.
//
// Costs are the bytes to be merged with below for each byte that goes; in level 0,
// where the number of files is what reads pay for, all bytes for each file that
// goes. A range that is never cheap stays, which harms nobody. Going round the
// ranges in turn instead writes about as much, more for some loads and less for
// others, but its largest steps are up to three times as large, and it has to
// remember where it was.
func (p *picker) relieve(level int) choice {
	var best choice
	least := 0.0
	consider := func(upper []*file) {
		c := p.down(level, upper)
		if cost := p.cost(level, &c); c.kind != nothing && (best.kind == nothing || cost < least) {
			best, least = c, cost
		}
	}
	if level == 0 {
		for _, group := range p.groups() {
			consider(group)
		}
		return best
	}
	for i := range p.v.levels[level] {
		consider(p.v.levels[level][i : i+1])
	}
	return best
}

// cost is what a compaction from a level costs, for what it gains.
func (p *picker) cost(level int, c *choice) float64 {
	if c.kind != merge {
		return 0
	}
	upper, lower := float64(totalSize(c.inputs[level])), float64(totalSize(c.inputs[c.output]))
	if level == 0 {
		return (upper + lower) / float64(len(c.inputs[0]))
	}
	return lower / upper
}

// purge chooses a file that is mostly tombstones, or known to be mostly garbage, and
// brings it closer to the entries that the tombstones cover, or writes it again
// without where there are none left. Otherwise what was deleted, or has expired,
// would keep its space until new data pushes the file down.
func (p *picker) purge() choice {
	var best choice
	most := uint64(0)
	for level, files := range p.v.levels {
		for _, f := range files {
			if !f.worthless() || f.garbage() <= most {
				continue
			}
			if c := p.purgeFile(level, f); c.kind != nothing {
				best, most = c, f.garbage()
			}
		}
	}
	return best
}

// purgeFile is the next step for the tombstones of a file, if it is worth it.
func (p *picker) purgeFile(level int, f *file) choice {
	if level > 0 && !p.anyBelow(level, f) {
		if f.maxSeq > p.o.oldest || p.busy(f) {
			return choice{}
		}
		return rewrite(level, f)
	}
	upper := []*file{f}
	if level == 0 {
		upper = p.group(f)
	}
	c := p.down(level, upper)
	if c.kind == merge && !pays(upper, c.inputs[c.output]) {
		return choice{}
	}
	return c
}

// pays reports whether to merge upper into lower for the sake of its tombstones:
// when that costs no more than an ordinary step from level to level, or when the
// tombstones could well cover most of lower, at some cells to a row.
func pays(upper, lower []*file) bool {
	var deletes, cells uint64
	for _, f := range upper {
		deletes += f.deletes
	}
	for _, f := range lower {
		cells += f.cells
	}
	return totalSize(lower) <= fanout*totalSize(upper) || cells <= fanout*deletes
}

// mostlyDeletes reports whether at least half of the file's entries are
// tombstones.
func (f *file) mostlyDeletes() bool { return 2*f.deletes >= f.cells }

// worthless reports whether at least half of the file's entries are not worth their
// space, and garbage how many, about.
func (f *file) worthless() bool { return f.stale.Load() || f.mostlyDeletes() }

func (f *file) garbage() uint64 {
	if f.stale.Load() {
		return f.cells
	}
	return f.deletes
}

// anyBelow reports whether a level below has a file that f overlaps.
func (p *picker) anyBelow(level int, f *file) bool {
	for level++; level < numLevels; level++ {
		if len(p.v.overlapping(level, f.smallest, f.largest)) > 0 {
			return true
		}
	}
	return false
}

// rewrite is the compaction of one file in its own level.
func rewrite(level int, f *file) choice {
	c := choice{kind: merge, output: level}
	c.inputs[level] = []*file{f}
	return c
}

// down brings files of a level, which hang together, to the next: nothing if one
// of the files that this takes is busy.
func (p *picker) down(level int, upper []*file) choice {
	c := choice{kind: merge, output: level + 1}
	if level == 0 {
		c.output = p.base
	}
	first, last := bounds(upper)
	lower := p.v.overlapping(c.output, first, last)
	if slices.ContainsFunc(upper, p.busy) || slices.ContainsFunc(lower, p.busy) {
		return choice{}
	}
	c.inputs[level], c.inputs[c.output] = upper, lower
	if len(upper) == 1 && len(lower) == 0 && p.canMove(upper[0], c.output) {
		c.kind = move
	}
	return c
}

// canMove reports whether a file may go to a level, where it overlaps nothing,
// as it is. Not so when writing it again would drop its tombstones, or when it
// would lie above so much that its next step would be a very large one.
func (p *picker) canMove(f *file, to int) bool {
	if f.worthless() && f.maxSeq <= p.o.oldest && !p.anyBelow(to, f) {
		return false
	}
	return to+1 >= numLevels || totalSize(p.v.overlapping(to+1, f.smallest, f.largest)) <= maxBelow*p.o.fileSize
}

// groups returns the files of level 0 in groups, each newest first. The files of
// a group overlap one another, directly or through others, and none of another.
func (p *picker) groups() [][]*file {
	byRow := slices.Clone(p.v.levels[0])
	slices.SortFunc(byRow, func(f, g *file) int { return bytes.Compare(f.smallest, g.smallest) })
	var groups [][]*file
	for len(byRow) > 0 {
		n, last := 1, byRow[0].largest
		for n < len(byRow) && bytes.Compare(byRow[n].smallest, last) <= 0 {
			if bytes.Compare(byRow[n].largest, last) > 0 {
				last = byRow[n].largest
			}
			n++
		}
		groups = append(groups, p.v.overlapping(0, byRow[0].smallest, last))
		byRow = byRow[n:]
	}
	return groups
}

// group returns the files of level 0 that have to leave it together with f.
func (p *picker) group(f *file) []*file {
	for _, group := range p.groups() {
		if slices.Contains(group, f) {
			return group
		}
	}
	return nil
}
