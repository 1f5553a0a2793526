package engine

import (
	"bytes"
	"fmt"
	"slices"

	"colonnade/engine/manifest"
	"colonnade/engine/rowmerge"
	"colonnade/sstable"
)

// compaction is a choice of pick that a worker carries out. It has a reference on
// each input, so that a drop of the partition does not take them away while they
// are read.
type compaction struct {
	p       *partition
	version *manifest.Version // of the partition, from which it was chosen
	choice  choice
	parts   int // into which it may be divided, each on a processor of its own
}

// nextCompactionLocked finds a compaction for which there is a processor, marks its files busy
// and takes a reference on each, until doneLocked.
func (db *DB) nextCompactionLocked() *compaction {
	if db.idleLocked() {
		return nil
	}
	unused := db.unusedLocked()
	for p := range db.background.compactable {
		if p.dropped || p.halted || p.quarantined.Load() != nil {
			db.lookedLocked(p)
			continue
		}
		free := db.processorsFor(p, unused) - db.background.compacting
		if p.reading.on || free < 1 {
			continue
		}
		tidying := p.full == nil && db.untidyLocked(p)
		c := db.chooseLocked(p, tidying)
		if c.kind == nothing {
			db.lookedLocked(p)
			continue
		}
		if tidying && len(c.inputs[0]) > 0 {
			db.allowance -= db.tidyingCost(c.files())
		}
		return db.beginLocked(p, c, free)
	}
	return nil
}

// lookedLocked takes note that a partition has nothing to compact until it changes.
func (db *DB) lookedLocked(p *partition) {
	delete(db.background.compactable, p)
	if db.helplessLocked(p) {
		db.background.progressLocked() // whoever waits for room has to know
	}
}

// beginLocked marks the files of a choice busy, and the processors that its compaction may take
// of those that are free.
func (db *DB) beginLocked(p *partition, c choice, free int) *compaction {
	for _, f := range c.files() {
		p.busy[f.Number] = true
		tableOf(f).refs.Add(1)
	}
	parts := partsOf(c.files(), free, db.opt.FileBytes)
	db.background.compacting += parts
	return &compaction{p: p, version: p.version, choice: c, parts: parts}
}

// chooseLocked asks for the next step of the full compaction of a partition, if
// one is under way, and otherwise for what the partition needs most. tidying has level 0
// compacted before it is full.
func (db *DB) chooseLocked(p *partition, tidying bool) choice {
	busy := func(f *manifest.File) bool { return p.busy[f.Number] }
	opt := db.pickOptions()
	opt.early = tidying || p.wear.level0.worn.Load()
	if p.wear.upper.worn.Load() {
		opt.paid = p.wear.bought
	}
	opt.stuck = p.damage != nil
	p.descents = db.descentsLocked(p, busy, opt)
	opt.descents = p.descents
	if p.full == nil {
		return pick(p.version, busy, opt)
	}
	c, done := p.full.next(p.version, busy, opt)
	if done {
		p.full.over = true
		p.full = nil
		db.background.progressLocked()
	}
	return c
}

// descentsLocked returns the descents of a partition from now on. What reads have paid for upper
// levels is forgotten as long as all of these go down, and when there is nothing to buy for it.
func (db *DB) descentsLocked(p *partition, busy func(*manifest.File) bool, opt pickOptions) descents {
	next := p.descents.next(p.version, busy, opt)
	none := descent{}
	bought := p.descents.bottom != none || next.bottom != none
	above := p.version.Levels[:manifest.LastLevel]
	if bought || opt.paid > 0 && !slices.ContainsFunc(above, newPicker(p.version, busy, opt).paidFor) {
		p.wear.upper.reset()
	}
	return next
}

func (db *DB) pickOptions() pickOptions {
	return pickOptions{
		l0Files: compactFiles, little: db.opt.MemtableBytes, fileSize: db.opt.FileBytes,
		oldest: db.visible.Load(),
	}
}

// compactFiles is the number of level-0 files from which they are compacted, if little lies
// below them. More would cost every read. So many of data that compresses to a quarter have about
// as many bytes as memtables may, which is what counts as little.
const compactFiles = 8

// doneLocked frees the files of a compaction. The partition is looked at again.
func (db *DB) doneLocked(c *compaction) {
	db.background.compacting -= c.parts
	for _, f := range c.choice.files() {
		delete(c.p.busy, f.Number)
		tableOf(f).unref(&db.trash)
	}
	if len(c.choice.inputs[0]) > 0 {
		c.p.wear.level0.reset()
	}
	db.background.compactable[c.p] = true
}

// compact carries a choice out: it reads the inputs once, in order, writes what
// is worth keeping to new files of the output level, and replaces the ones by
// the others in one edit. A crash leaves either the inputs or the outputs.
func (db *DB) compact(c *compaction) error {
	if c.choice.kind == move {
		return db.replace(c, nil)
	}
	parts := db.divide(c)
	err := db.merge(c, parts)
	if err == nil {
		err = db.replace(c, parts.files())
	}
	if err != nil {
		parts.discard()
	}
	return err
}

// readError is the failure to read the input of a flush or compaction, or its output.
type readError struct{ error }

func (e readError) Unwrap() error { return e.error }

// mergeRows writes the rows of a part of the inputs, and returns how many entries it has read.
func (db *DB) mergeRows(c *compaction, part *compactionPart) (read int, err error) {
	var m rowmerge.Iterator
	sources, err := c.sources(part.rows.end)
	m.Init(sources)
	defer m.Close()
	if err != nil {
		return 0, readError{err}
	}
	return db.writeRows(part.out, &m, part.rows, newDepth(c.version, c.choice.output).bottom)
}

// sources opens the inputs, the newest first, for their rows up to end.
func (c *compaction) sources(end []byte) (list []rowmerge.Source, err error) {
	read := sstable.ReadOptions{End: end}
	for level, files := range c.choice.inputs {
		if level > 0 && len(files) > 0 {
			list = append(list, newLevelSource(files, read))
			continue
		}
		for _, f := range files {
			r, err := tableOf(f).open()
			if err != nil {
				return list, err
			}
			list = append(list, r.NewIterator(read))
		}
	}
	return list, nil
}

// replace takes the inputs of a compaction out of the partition and puts files
// in at the output level; with none, it moves the inputs there.
func (db *DB) replace(c *compaction, files []*manifest.File) error {
	p := c.p
	return db.install(nil, func(next *manifest.Manifest) error {
		r := next.Partitions[p.id]
		if r == nil {
			return ErrNoPartition
		}
		if err := c.stands(r.Version); err != nil {
			return p.inconsistent("compaction of a version that is not there any more: %v", err)
		}
		v := c.choice.apply(r.Version, files)
		if err := v.Check(); err != nil {
			return p.inconsistent("compaction would break the order of levels: %v", err)
		}
		next.Partitions[r.ID] = r.With(r.Flushed, v)
		return nil
	}, func() {
		if c.choice.kind != move {
			for _, f := range c.choice.files() {
				tableOf(f).obsolete.Store(true)
			}
		}
		db.adoptLocked(p)
	})
}

// stands reports why a compaction does not go with the version that it is to change:
// each input has to be in its place, and no file may have come below the output where
// the compaction took it for the bottom. What was there may have been rewritten or
// moved to another level meanwhile: so it is rows that count, not files.
func (c *compaction) stands(v *manifest.Version) error {
	for level, inputs := range c.choice.inputs {
		for _, f := range inputs {
			if !slices.Contains(v.Levels[level], f) {
				return fmt.Errorf("file %d is not in level %d", f.Number, level)
			}
		}
	}
	first, last := manifest.Bounds(c.choice.files())
	for level := c.choice.output + 1; level < manifest.NumLevels; level++ {
		for _, f := range v.Overlapping(level, first, last) {
			if !slices.Contains(c.version.Levels[level], f) && !c.version.CoveredBelow(c.choice.output, f, first, last) {
				return fmt.Errorf("file %d has come into level %d", f.Number, level)
			}
		}
	}
	return nil
}

// depth answers, for rows in ascending order, whether any level below the output
// can hold the row.
type depth struct {
	levels [][]*manifest.File // of the levels below, each from the first file of interest on
}

func newDepth(v *manifest.Version, output int) *depth {
	d := &depth{}
	for _, files := range v.Levels[output+1:] {
		if len(files) > 0 {
			d.levels = append(d.levels, files)
		}
	}
	return d
}

// bottom reports whether no lower level can hold the row.
func (d *depth) bottom(row []byte) bool {
	for i, files := range d.levels {
		for len(files) > 0 && bytes.Compare(files[0].Largest, row) < 0 {
			files = files[1:]
		}
		d.levels[i] = files
		if len(files) > 0 && bytes.Compare(files[0].Smallest, row) <= 0 {
			return false
		}
	}
	return true
}
