package engine

import (
	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/rowmerge"
	"github.com/colonnade-db/colonnade/sstable"
)

// compactionJob is a choice that a worker carries out. It holds a reference on each input, so that
// dropping the partition does not remove files that are being read.
type compactionJob struct {
	p              *partition
	version        *manifest.Version // of the partition when it was chosen
	choice         compaction.Choice
	subcompactions int // at most, each on a CPU of its own
}

// nextCompactionLocked finds a compaction for which a CPU is free, marks its files busy and takes a
// reference on each, until endCompactionLocked. It returns nil if there is none.
func (db *DB) nextCompactionLocked() *compactionJob {
	if db.backingOffLocked() {
		return nil
	}
	idle := db.idleLocked()
	for p := range db.background.compactable {
		if p.dropped || p.compactionStopped || p.quarantined.Load() != nil {
			db.nothingToCompactLocked(p)
			continue
		}
		free := db.cpusFor(p, idle) - db.background.compactionCPUs
		if p.readBackoff.waiting || free < 1 {
			continue
		}
		early := p.manual == nil && db.smallFiles.Covers(p.version)
		c := db.pickLocked(p, early, idle)
		if c.Kind == compaction.Nothing {
			db.nothingToCompactLocked(p)
			continue
		}
		if early && c.Kind != compaction.Drop && len(c.Inputs[0]) > 0 {
			db.smallFiles.Spend(c.Files())
		}
		return db.startCompactionLocked(p, c, free)
	}
	return nil
}

// nothingToCompactLocked records that a partition has nothing to compact until it changes.
func (db *DB) nothingToCompactLocked(p *partition) {
	delete(db.background.compactable, p)
	if len(p.busy) == p.damagedInputs {
		p.allRanges = false
	}
	if db.compactionStuckLocked(p) {
		db.background.progressLocked() // stalled writers must fail
	}
}

// startCompactionLocked marks the files of a choice busy and takes CPUs for it, at most those that
// are free.
func (db *DB) startCompactionLocked(p *partition, c compaction.Choice, free int) *compactionJob {
	for _, f := range c.Files() {
		p.busy[f.Number] = true
		tableOf(f).refs.Add(1)
	}
	n := 1
	if c.Kind == compaction.Merge {
		n = compaction.Subcompactions(c.Files(), free, db.opt.FileBytes)
	}
	db.background.compactionCPUs += n
	return &compactionJob{p: p, version: p.version, choice: c, subcompactions: n}
}

// pickLocked returns the next step of the manual compaction of a partition if one is under way,
// otherwise what the partition needs most. With early, level 0 is compacted before it is full; idle says
// that nobody uses the store.
func (db *DB) pickLocked(p *partition, early, idle bool) compaction.Choice {
	busy := func(f *manifest.File) bool { return p.busy[f.Number] }
	opt := db.compactionOptions()
	opt.Early = early || p.charges.level0.due.Load()
	if p.charges.upper.due.Load() {
		opt.ReadPaid = p.charges.upTo
	}
	opt.Stuck = p.damage != nil
	opt.AllRanges = idle || p.allRanges
	opt.RangesFull = p.rangeBytesLocked() >= rangesMost/2
	p.runMerges = db.runMergesLocked(p, busy, opt)
	opt.RunMerges = p.runMerges
	if p.manual == nil {
		return compaction.Pick(p.version, busy, opt)
	}
	c, done := p.manual.Next(p.version, busy, opt)
	if done {
		p.manual.Done = true
		p.manual = nil
		db.background.progressLocked()
	}
	return c
}

// runMergesLocked returns the next run merges of a partition. It resets what reads have paid for the
// upper levels while these are being merged anyway, and when no file is left to merge.
func (db *DB) runMergesLocked(p *partition, busy func(*manifest.File) bool, opt compaction.Options) compaction.RunMerges {
	next := p.runMerges.Next(p.version, busy, opt)
	none := compaction.RunMerge{}
	underWay := p.runMerges.Bottommost != none || next.Bottommost != none
	if underWay || opt.ReadPaid > 0 && !compaction.AnyReadPaid(p.version, opt) {
		p.charges.upper.reset()
	}
	return next
}

func (db *DB) compactionOptions() compaction.Options {
	return compaction.Options{
		Level0Files: compaction.Level0Files, SmallBytes: db.opt.MemtableBytes, FileSize: db.opt.FileBytes,
		Visible: db.visible.Load(),
	}
}

// endCompactionLocked frees the files and CPUs of a compaction, and has the partition picked again.
func (db *DB) endCompactionLocked(c *compactionJob) {
	db.background.compactionCPUs -= c.subcompactions
	for _, f := range c.choice.Files() {
		delete(c.p.busy, f.Number)
		tableOf(f).unref(&db.obsolete)
	}
	if len(c.choice.Inputs[0]) > 0 {
		c.p.charges.level0.reset()
	}
	db.background.compactable[c.p] = true
}

// compact carries a choice out: it reads the inputs once, in order, writes the entries that the
// compaction filter keeps to new files, and replaces inputs by outputs in one edit. A crash leaves
// either the inputs or the outputs.
func (db *DB) compact(c *compactionJob) error {
	if c.choice.Kind != compaction.Merge {
		return db.replace(c, nil)
	}
	subs := db.newSubcompactions(c)
	err := db.merge(c, subs)
	if err == nil {
		err = db.replace(c, subs.files())
	}
	if err != nil {
		subs.discard()
	}
	return err
}

// readError is a failure to read the input of a flush or compaction, or to verify its output.
type readError struct{ error }

func (e readError) Unwrap() error { return e.error }

// mergeRows runs one subcompaction, and returns how many entries it has read.
func (db *DB) mergeRows(c *compactionJob, sub *subcompaction) (read int, err error) {
	var m rowmerge.Iterator
	sources, err := c.sources(sub.rows.end)
	m.Init(sources)
	defer m.Close()
	if err != nil {
		return 0, readError{err}
	}
	return db.writeRows(sub.out, &m, sub.rows, compaction.NewBottommost(c.version, c.choice.Output).Holds)
}

// sources opens the inputs for rows before end, the newest first.
func (c *compactionJob) sources(end []byte) (list []rowmerge.Source, err error) {
	read := sstable.ReadOptions{ReadaheadEnd: end}
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

// replace replaces the inputs of a compaction by files in the output level. A Move has no files: its
// input goes to the output level. A Drop has none either.
func (db *DB) replace(c *compactionJob, files []*manifest.File) error {
	p := c.p
	return db.install(nil, func(next *manifest.Manifest) error {
		mp := next.Partitions[p.id]
		if mp == nil {
			return ErrNoPartition
		}
		if err := c.choice.AppliesTo(c.version, mp.Version); err != nil {
			return p.inconsistent("compaction of a version that is not there any more: %v", err)
		}
		v := c.choice.Apply(mp.Version, files).TrimRangeTombstones()
		if err := v.Check(); err != nil {
			return p.inconsistent("compaction would break the order of levels: %v", err)
		}
		next.Partitions[mp.ID] = mp.With(mp.Flushed, v)
		return nil
	}, func() {
		if c.choice.Kind != compaction.Move {
			for _, f := range c.choice.Files() {
				tableOf(f).obsolete.Store(true)
			}
		}
		db.counted.countCompactionLocked(&c.choice, files)
		db.adoptLocked(p)
	})
}
