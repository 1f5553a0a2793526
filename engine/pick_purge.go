package engine

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
	if level == 0 {
		return p.leaveIfPays(p.group(f))
	}
	to := p.v.firstBelow(level, f.smallest, f.largest)
	if to == numLevels {
		if f.maxSeq > p.o.oldest || p.busy(f) {
			return choice{}
		}
		return rewrite(level, f)
	}
	c, ok := p.down(level, []*file{f}, to)
	if !ok || !pays([]*file{f}, c.inputs[to]) {
		return choice{}
	}
	return c
}

// leaveIfPays has a group of files leave level 0 for where it meets others, if it is worth it.
func (p *picker) leaveIfPays(group []*file) choice {
	c := p.leave(group)
	if c.kind == merge && (c.output < lastLevel || !pays(group, c.files()[len(group):])) {
		return choice{}
	}
	return c
}

// purgeRatio is how many bytes, and how many entries for each tombstone, are merged for the
// sake of tombstones.
const purgeRatio = 10

// pays reports whether to merge upper into lower for the sake of its tombstones:
// when that costs no more than some times what they take, or when the
// tombstones could well cover most of lower, at some cells to a row.
func pays(upper, lower []*file) bool {
	var deletes, cells uint64
	for _, f := range upper {
		deletes += f.deletes
	}
	for _, f := range lower {
		cells += f.cells
	}
	return totalSize(lower) <= purgeRatio*totalSize(upper) || cells <= purgeRatio*deletes
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

// rewrite is the compaction of one file in its own level.
func rewrite(level int, f *file) choice {
	c := choice{kind: merge, output: level}
	c.inputs[level] = []*file{f}
	return c
}
