package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"colonnade/engine/manifest"
)

// background is the goroutines that flush, compact and remove files. They sleep
// on work until something may have changed. Guarded by DB.mu.
type background struct {
	work     *sync.Cond    // something to do may have turned up, or something is over
	progress chan struct{} // closed, and replaced, when a flush or compaction is over
	stopping bool
	running  sync.WaitGroup

	compactable map[*partition]bool // changed since they were last looked at
	compacting  int                 // processors that compactions run on
	writing     rest                // of flushes and compactions
	filling     rest                // of the preparation of the log

	wake chan struct{} // for the remover
	stop chan struct{}
}

// rest is a pause after a failure that an attempt at once would only repeat. Each
// one in a row is longer than the one before.
type rest struct {
	length time.Duration // of the last one, 0 after a success
	on     bool
}

const (
	firstRest = 50 * time.Millisecond
	lastRest  = 1 * time.Second // so that writes resume soon once there is room
)

func (db *DB) startBackground() {
	bg := &db.background
	compactors := db.mostProcessors()
	bg.running.Add(3 + compactors)
	go db.flushLoop()
	go db.prepareLoop()
	go db.removeLoop()
	for range compactors {
		go db.compactLoop()
	}
	if db.opt.ScrubBytesPerSecond > 0 {
		bg.running.Add(1)
		go db.scrubLoop()
	}
}

func (bg *background) init(mu *sync.Mutex) {
	bg.work = sync.NewCond(mu)
	bg.progress = make(chan struct{})
	bg.compactable = make(map[*partition]bool)
	bg.wake = make(chan struct{}, 1)
	bg.stop = make(chan struct{})
}

func (bg *background) signalLocked() { bg.work.Broadcast() }

// progressLocked tells everybody who waits that something is done.
func (bg *background) progressLocked() {
	close(bg.progress)
	bg.progress = make(chan struct{})
	bg.work.Broadcast()
}

// stopBackground waits for the work under way and ends the goroutines.
func (db *DB) stopBackground() {
	db.mu.Lock()
	db.background.stopping = true
	db.background.signalLocked()
	db.mu.Unlock()
	close(db.background.stop)
	db.background.running.Wait()
}

// flushedLocked takes note of how a flush ended.
func (db *DB) flushedLocked(err error) {
	bg := &db.background
	defer bg.progressLocked()
	if err == nil || errors.Is(err, ErrNoPartition) {
		bg.writing.length = 0
		return
	}
	db.restLocked(&bg.writing, "flush", err)
}

// compactedLocked takes note of how a compaction ended. When it could not read its
// input, that is the partition's trouble alone; otherwise, lack of space is the
// usual cause, and others would fare no better.
func (db *DB) compactedLocked(c *compactionJob, err error) {
	bg, p := &db.background, c.p
	defer bg.progressLocked()
	if err == nil || p.dropped {
		bg.writing.length, p.reading.length = 0, 0
		return
	}
	var damage *CorruptError
	if errors.As(err, &damage) {
		db.leaveLocked(c, damage)
		return
	}
	r := &bg.writing
	if errors.As(err, new(readError)) {
		r = &p.reading
	}
	db.restLocked(r, "compaction", fmt.Errorf("partition %s: %w", p.name, err))
}

// leaveLocked gives up what a compaction has found damaged: trying again would find
// it again. A damaged input is busy for good, and with it what would have to be
// merged with it; the rest of the partition goes on. When the inputs are sound and
// it is the compaction that went wrong, there is no other.
func (db *DB) leaveLocked(c *compactionJob, damage *CorruptError) {
	p := c.p
	if p.damage == nil {
		p.damage = damage
	}
	if p.full != nil { // it would wait for the file
		p.full.Done = true
		p.full = nil
	}
	inputs := c.choice.Files()
	if i := slices.IndexFunc(inputs, func(f *manifest.File) bool { return tableOf(f).path == damage.File }); i >= 0 {
		p.busy[inputs[i].Number] = true
		p.lost++
	} else {
		p.halted = true
	}
	db.opt.Log.Error("damage stops compaction", "partition", p.name, "of all", p.halted, "cause", damage)
}

// restLocked begins a rest.
func (db *DB) restLocked(r *rest, work string, cause error) {
	if db.failed != nil || db.closed {
		return // there will be no other attempt
	}
	r.length = min(max(2*r.length, firstRest), lastRest)
	r.on = true
	db.opt.Log.Warn("background work failed, will try again", "work", work, "after", r.length, "cause", cause)
	db.opt.Clock.AfterFunc(r.length, func() {
		db.mu.Lock()
		defer db.mu.Unlock()
		r.on = false
		db.background.signalLocked()
	})
}

// idleLocked reports whether flushes and compactions have to rest.
func (db *DB) idleLocked() bool {
	return db.failed != nil || db.background.writing.on
}

func (db *DB) flushLoop() {
	defer db.background.running.Done()
	db.mu.Lock()
	defer db.mu.Unlock()
	for !db.background.stopping {
		list := db.nextFlushLocked()
		if len(list) == 0 {
			db.background.work.Wait()
			continue
		}
		db.mu.Unlock()
		over := db.precedence.beginFlush()
		err := db.flush(list)
		over()
		db.mu.Lock()
		db.flushedLocked(err)
	}
}

const (
	// flushFiles bounds the files of one flush: what comes first must not wait for
	// all that comes later. At so many, the edit costs little beside the files.
	flushFiles = 128
	// flushShare is what part of the budget for memtables one flush takes at most,
	// if it is more than one.
	flushShare = 8
)

// nextFlushLocked returns the first memtables of those that can be flushed, as many as
// one flush should take.
func (db *DB) nextFlushLocked() []flushing {
	list := db.flushableLocked()
	size := int64(0)
	for i := range list {
		size += list[i].m.bytes.Load()
		if i > 0 && (i == flushFiles || size > db.opt.MemtableBytes/flushShare) {
			return list[:i]
		}
	}
	return list
}

// flushableLocked returns the oldest frozen memtables of those partitions whose
// oldest is complete, the longest frozen first: a batch that is still on its way to
// the disk must not get into a file before it is durable.
func (db *DB) flushableLocked() []flushing {
	if db.idleLocked() {
		return nil
	}
	var list []flushing
	for p := range db.frozen {
		if m := p.frozen[0]; m.maxSeq <= db.visible.Load() {
			list = append(list, flushing{p: p, m: m})
		}
	}
	slices.SortFunc(list, func(a, b flushing) int {
		return cmp.Or(cmp.Compare(a.m.minSeq, b.m.minSeq), cmp.Compare(a.p.id, b.p.id))
	})
	return list
}

func (db *DB) compactLoop() {
	defer db.background.running.Done()
	db.mu.Lock()
	defer db.mu.Unlock()
	for !db.background.stopping {
		job := db.nextCompactionLocked()
		if job == nil {
			db.background.work.Wait()
			continue
		}
		db.mu.Unlock()
		err := db.compact(job)
		db.mu.Lock()
		db.doneLocked(job)
		db.compactedLocked(job, err)
	}
}

// prepareLoop keeps one segment ready, so that a Commit need not wait for it, and
// the log short.
func (db *DB) prepareLoop() {
	defer db.background.running.Done()
	db.mu.Lock()
	defer db.mu.Unlock()
	for !db.background.stopping {
		work := db.logWorkLocked()
		if work == nil {
			db.background.work.Wait()
			continue
		}
		db.mu.Unlock()
		err := work()
		db.mu.Lock()
		if r := &db.background.filling; err != nil {
			db.restLocked(r, "log", err)
		} else {
			r.length = 0
		}
	}
}

// logWorkLocked returns what is to be done for the log, nil for nothing. When it has
// half the size that it may have, the oldest segment has to go: what a partition
// with few writes keeps there is quickly flushed, and the next open would have to
// read all that follows.
func (db *DB) logWorkLocked() func() error {
	size := db.logBytesLocked()
	pinned := size > db.opt.LogBytes/2 && db.freezeOldestLocked()
	switch {
	case db.failed != nil || db.closed || db.background.filling.on:
		return nil
	case size > db.opt.LogBytes/2 && !pinned && db.retirableLocked():
		return db.trimLog
	case len(db.log.spares) == 0 && size+db.opt.SegmentBytes <= db.opt.LogBytes:
		return func() error { return db.prepareSegment(db.opt.SegmentBytes, 0) }
	}
	return nil
}

func (db *DB) removeLoop() {
	defer db.background.running.Done()
	for {
		select {
		case <-db.background.wake:
			db.removeTrash()
		case <-db.background.stop:
			db.removeTrash()
			return
		}
	}
}

// removeTrash removes the files that nobody needs any more; when it returns, those are gone that
// were obsolete when it was called, whoever has taken them. What cannot be
// removed now is found and removed by the next open.
func (db *DB) removeTrash() {
	db.trash.removing.Lock()
	defer db.trash.removing.Unlock()
	tables, files := db.trash.take()
	for _, t := range tables {
		if err := t.close(); err != nil {
			db.opt.Log.Warn("obsolete file not closed", "file", t.path, "cause", err)
		}
		db.cache.Release(t.id.Number)
		files = append(files, t.path)
	}
	for _, name := range files {
		if err := db.opt.FS.Remove(name); err != nil {
			db.opt.Log.Warn("obsolete file not removed", "file", name, "cause", err)
		}
	}
	for _, t := range tables {
		if t.p.state.Load() == nil { // dropped
			db.opt.FS.Remove(t.p.dir) // fails until the last file is gone
		}
	}
}
