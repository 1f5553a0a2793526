package engine

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/colonnade-db/colonnade/engine/manifest"
)

// background is the state of the goroutines that flush, compact, prepare log segments, scrub, and
// remove files. They sleep on work until something may have changed. Guarded by DB.mu.
type background struct {
	work     *sync.Cond    // there may be work, or some is done
	progress chan struct{} // closed and replaced after each flush and compaction
	stopping bool
	running  sync.WaitGroup

	compactable    map[*partition]bool // those to pick a compaction for
	compactionCPUs int                 // CPUs that compactions run on
	writeBackoff   backoff             // of flushes and compactions
	logBackoff     backoff             // of log segments

	wake chan struct{} // for the remover
	stop chan struct{}
}

// backoff delays the retry after a failure. The delay doubles with each failure in a row.
type backoff struct {
	delay   time.Duration // the last one, 0 after a success
	waiting bool
	logged  time.Duration // when a failure was logged last
}

const (
	firstBackoff   = 50 * time.Millisecond
	longestBackoff = 1 * time.Second // so that writes resume soon after space is freed

	// logBackoffEvery is the time between two lines about failures in a row: a disk that stays full must not fill with them.
	logBackoffEvery = 1 * time.Minute
)

func (db *DB) startBackground() {
	bg := &db.background
	compactors := db.maxCompactionCPUs()
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

// progressLocked wakes everything that waits for background work.
func (bg *background) progressLocked() {
	close(bg.progress)
	bg.progress = make(chan struct{})
	bg.work.Broadcast()
}

// stopBackground ends the goroutines after the work under way.
func (db *DB) stopBackground() {
	db.mu.Lock()
	db.background.stopping = true
	db.background.signalLocked()
	db.mu.Unlock()
	close(db.background.stop)
	db.background.running.Wait()
}

// flushEndedLocked records the outcome of a flush.
func (db *DB) flushEndedLocked(err error) {
	bg := &db.background
	defer bg.progressLocked()
	if err == nil || errors.Is(err, ErrNoPartition) {
		bg.writeBackoff.delay = 0
		return
	}
	db.backOffLocked(&bg.writeBackoff, "flush", err)
}

// compactionEndedLocked records the outcome of a compaction. A failure to read the inputs delays
// compactions of this partition. Any other failure delays all flushes and compactions: the usual
// cause is a full disk.
func (db *DB) compactionEndedLocked(c *compactionJob, err error) {
	bg, p := &db.background, c.p
	defer bg.progressLocked()
	if err == nil || p.dropped {
		bg.writeBackoff.delay, p.readBackoff.delay = 0, 0
		return
	}
	var damage *CorruptError
	if errors.As(err, &damage) {
		db.abandonInputsLocked(c, damage)
		return
	}
	b := &bg.writeBackoff
	if errors.As(err, new(readError)) {
		b = &p.readBackoff
	}
	db.backOffLocked(b, "compaction", fmt.Errorf("partition %s: %w", p.name, err))
}

// abandonInputsLocked handles damage that a compaction has found; a retry would find it again. A
// damaged input stays busy for good, which blocks everything that must be merged with it. The rest
// of the partition is still compacted. If the inputs are sound and the outputs were wrong, the
// partition is not compacted any more.
func (db *DB) abandonInputsLocked(c *compactionJob, damage *CorruptError) {
	p := c.p
	if p.damage == nil {
		p.damage = damage
	}
	if p.manual != nil { // it would wait for ever
		p.manual.Done = true
		p.manual = nil
	}
	inputs := c.choice.Files()
	if i := slices.IndexFunc(inputs, func(f *manifest.File) bool { return tableOf(f).path == damage.File }); i >= 0 {
		p.busy[inputs[i].Number] = true
		p.damagedInputs++
	} else {
		p.compactionStopped = true
	}
	db.opt.Log.Error("damage stops compaction", "partition", p.name, "of all", p.compactionStopped, "cause", damage)
}

// backOffLocked starts the delay after a failure.
func (db *DB) backOffLocked(b *backoff, work string, cause error) {
	if db.failed != nil || db.closed {
		return // there will be no retry
	}
	now := db.opt.Clock.Elapsed()
	if b.delay == 0 || now-b.logged >= logBackoffEvery {
		b.logged = now
		db.opt.Log.Warn("background work failed, will try again", "work", work, "cause", cause)
	}
	b.delay = min(max(2*b.delay, firstBackoff), longestBackoff)
	b.waiting = true
	db.counted.failures[work]++
	db.opt.Clock.AfterFunc(b.delay, func() {
		db.mu.Lock()
		defer db.mu.Unlock()
		b.waiting = false
		db.background.signalLocked()
	})
}

// backingOffLocked reports whether flushes and compactions must not start.
func (db *DB) backingOffLocked() bool {
	return db.failed != nil || db.background.writeBackoff.waiting
}

func (db *DB) flushLoop() {
	defer db.background.running.Done()
	db.mu.Lock()
	defer db.mu.Unlock()
	for !db.background.stopping {
		db.freezeRangesLocked()
		list := db.nextFlushLocked()
		if len(list) == 0 {
			db.background.work.Wait()
			continue
		}
		db.mu.Unlock()
		begun, over := db.opt.Clock.Now(), db.foreground.beginFlush()
		err := db.flush(list)
		over()
		db.traceFlush(list, begun, err)
		db.mu.Lock()
		db.counted.flushes.Time += db.since(begun)
		db.flushEndedLocked(err)
	}
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
		begun := db.opt.Clock.Now()
		err := db.compact(job)
		db.traceCompaction(job, begun, err)
		db.mu.Lock()
		db.counted.merges.Time += db.since(begun)
		db.endCompactionLocked(job)
		db.compactionEndedLocked(job, err)
	}
}

// prepareLoop keeps one spare log segment ready, so that commits do not wait for it, and keeps the
// log short.
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
		if b := &db.background.logBackoff; err != nil {
			db.backOffLocked(b, "log", err)
		} else {
			b.delay = 0
		}
	}
}

// logWorkLocked returns the next work for the log, nil for none. From half of LogBytes on, the
// oldest segment has to go. The memtable of a partition with few writes that pins it is flushed
// quickly, while the next open would have to read everything after it.
func (db *DB) logWorkLocked() func() error {
	size := db.logBytesLocked()
	pinned := size > db.opt.LogBytes/2 && db.freezeOldestLocked()
	switch {
	case db.failed != nil || db.closed || db.background.logBackoff.waiting:
		return nil
	case size > db.opt.LogBytes/2 && !pinned && db.retirableLocked():
		return db.trimLog
	case len(db.log.spares) == 0 && size+db.opt.SegmentBytes <= db.opt.LogBytes:
		return func() error { return db.prepareSegment(0) }
	}
	return nil
}

func (db *DB) removeLoop() {
	defer db.background.running.Done()
	for {
		select {
		case <-db.background.wake:
			db.removeObsolete()
		case <-db.background.stop:
			db.removeObsolete()
			return
		}
	}
}
