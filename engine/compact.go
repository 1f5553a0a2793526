package engine

import (
	"colonnade/engine/compaction"
	"colonnade/engine/manifest"
	"colonnade/engine/rowmerge"
	"colonnade/sstable"
)

// compaction is a choice of pick that a worker carries out. It has a reference on
// each input, so that a drop of the partition does not take them away while they
// are read.
type compactionJob struct {
	p       *partition
	version *manifest.Version // of the partition, from which it was chosen
	choice  compaction.Choice
	parts   int // into which it may be divided, each on a processor of its own
}

// nextCompactionLocked finds a compaction for which there is a processor, marks its files busy
// and takes a reference on each, until doneLocked.
func (db *DB) nextCompactionLocked() *compactionJob {
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
		early := p.full == nil && db.smallFiles.Covers(p.version)
		c := db.chooseLocked(p, early)
		if c.Kind == compaction.Nothing {
			db.lookedLocked(p)
			continue
		}
		if early && len(c.Inputs[0]) > 0 {
			db.smallFiles.Spend(c.Files())
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
func (db *DB) beginLocked(p *partition, c compaction.Choice, free int) *compactionJob {
	for _, f := range c.Files() {
		p.busy[f.Number] = true
		tableOf(f).refs.Add(1)
	}
	parts := compaction.Subcompactions(c.Files(), free, db.opt.FileBytes)
	db.background.compacting += parts
	return &compactionJob{p: p, version: p.version, choice: c, parts: parts}
}

// chooseLocked asks for the next step of the full compaction of a partition, if
// one is under way, and otherwise for what the partition needs most. With early, level 0
// is compacted before it is full.
func (db *DB) chooseLocked(p *partition, early bool) compaction.Choice {
	busy := func(f *manifest.File) bool { return p.busy[f.Number] }
	opt := db.pickOptions()
	opt.Early = early || p.wear.level0.worn.Load()
	if p.wear.upper.worn.Load() {
		opt.ReadPaid = p.wear.bought
	}
	opt.Stuck = p.damage != nil
	p.descents = db.descentsLocked(p, busy, opt)
	opt.RunMerges = p.descents
	if p.full == nil {
		return compaction.Pick(p.version, busy, opt)
	}
	c, done := p.full.Next(p.version, busy, opt)
	if done {
		p.full.Done = true
		p.full = nil
		db.background.progressLocked()
	}
	return c
}

// descentsLocked returns the descents of a partition from now on. What reads have paid for upper
// levels is forgotten as long as all of these go down, and when there is nothing to buy for it.
func (db *DB) descentsLocked(p *partition, busy func(*manifest.File) bool, opt compaction.Options) compaction.RunMerges {
	next := p.descents.Next(p.version, busy, opt)
	none := compaction.RunMerge{}
	bought := p.descents.Bottommost != none || next.Bottommost != none
	if bought || opt.ReadPaid > 0 && !compaction.AnyReadPaid(p.version, opt) {
		p.wear.upper.reset()
	}
	return next
}

func (db *DB) pickOptions() compaction.Options {
	return compaction.Options{
		Level0Files: compaction.Level0Files, SmallBytes: db.opt.MemtableBytes, FileSize: db.opt.FileBytes,
		OldestSnapshot: db.visible.Load(),
	}
}

// doneLocked frees the files of a compaction. The partition is looked at again.
func (db *DB) doneLocked(c *compactionJob) {
	db.background.compacting -= c.parts
	for _, f := range c.choice.Files() {
		delete(c.p.busy, f.Number)
		tableOf(f).unref(&db.trash)
	}
	if len(c.choice.Inputs[0]) > 0 {
		c.p.wear.level0.reset()
	}
	db.background.compactable[c.p] = true
}

// compact carries a choice out: it reads the inputs once, in order, writes what
// is worth keeping to new files of the output level, and replaces the ones by
// the others in one edit. A crash leaves either the inputs or the outputs.
func (db *DB) compact(c *compactionJob) error {
	if c.choice.Kind == compaction.Move {
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
func (db *DB) mergeRows(c *compactionJob, part *subcompaction) (read int, err error) {
	var m rowmerge.Iterator
	sources, err := c.sources(part.rows.end)
	m.Init(sources)
	defer m.Close()
	if err != nil {
		return 0, readError{err}
	}
	return db.writeRows(part.out, &m, part.rows, compaction.NewBottommost(c.version, c.choice.Output).Holds)
}

// sources opens the inputs, the newest first, for their rows up to end.
func (c *compactionJob) sources(end []byte) (list []rowmerge.Source, err error) {
	read := sstable.ReadOptions{End: end}
	for level, files := range c.choice.Inputs {
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
func (db *DB) replace(c *compactionJob, files []*manifest.File) error {
	p := c.p
	return db.install(nil, func(next *manifest.Manifest) error {
		r := next.Partitions[p.id]
		if r == nil {
			return ErrNoPartition
		}
		if err := c.choice.AppliesTo(c.version, r.Version); err != nil {
			return p.inconsistent("compaction of a version that is not there any more: %v", err)
		}
		v := c.choice.Apply(r.Version, files)
		if err := v.Check(); err != nil {
			return p.inconsistent("compaction would break the order of levels: %v", err)
		}
		next.Partitions[r.ID] = r.With(r.Flushed, v)
		return nil
	}, func() {
		if c.choice.Kind != compaction.Move {
			for _, f := range c.choice.Files() {
				tableOf(f).obsolete.Store(true)
			}
		}
		db.adoptLocked(p)
	})
}
