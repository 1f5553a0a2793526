package engine

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// background is the goroutines that flush, compact and remove files. They sleep
// on work until something may have changed. Guarded by DB.mu.
type background struct {
	work     *sync.Cond    // something to do may have turned up, or something is over
	progress chan struct{} // closed, and replaced, when a flush or compaction is over
	stopping bool
	running  sync.WaitGroup

	compactable map[*partition]bool // changed since they were last looked at
	backoff     time.Duration       // of the retry under way, 0 when the last attempt worked
	holding     bool                // no attempt before the retry is due

	wake chan struct{} // for the remover
	stop chan struct{}
}

const (
	firstBackoff = 50 * time.Millisecond
	lastBackoff  = 1 * time.Second // so that writes resume soon once there is room
)

func (db *DB) startBackground() {
	bg := &db.background
	bg.running.Add(3 + db.opt.Workers)
	go db.flushLoop()
	go db.prepareLoop()
	go db.removeLoop()
	for range db.opt.Workers {
		go db.compactLoop()
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

// attemptedLocked takes note of how a flush or compaction ended.
func (db *DB) attemptedLocked(err error, what string, p *partition) {
	bg := &db.background
	defer bg.progressLocked()
	if err == nil || p.dropped {
		bg.backoff = 0
		return
	}
	var damage *CorruptError
	if errors.As(err, &damage) {
		p.damage = damage
		db.opt.Log.Error("partition is damaged and is not compacted any more", "partition", p.name, "cause", err)
		return
	}
	db.holdLocked(fmt.Errorf("partition %s: %w", p.name, err), what)
}

// holdLocked lets all background writing rest after a failure, for a while that
// grows with every further one. Lack of space is the usual cause, and a retry
// at once would not find more.
func (db *DB) holdLocked(err error, what string) {
	bg := &db.background
	if db.failed != nil || db.closed {
		return // there will be no retry
	}
	bg.backoff = min(max(2*bg.backoff, firstBackoff), lastBackoff)
	bg.holding = true
	db.opt.Log.Warn("background work failed, will try again", "work", what, "after", bg.backoff, "cause", err)
	db.opt.Clock.AfterFunc(bg.backoff, func() {
		db.mu.Lock()
		defer db.mu.Unlock()
		bg.holding = false
		bg.signalLocked()
	})
}

// idleLocked reports whether background writing has to rest.
func (db *DB) idleLocked() bool {
	return db.failed != nil || db.background.holding
}

func (db *DB) flushLoop() {
	defer db.background.running.Done()
	db.mu.Lock()
	defer db.mu.Unlock()
	for !db.background.stopping {
		p := db.nextFlushLocked()
		if p == nil {
			db.background.work.Wait()
			continue
		}
		p.flushing = true
		m := p.frozen[0]
		db.mu.Unlock()
		err := db.flush(p, m)
		db.mu.Lock()
		p.flushing = false
		db.attemptedLocked(err, "flush", p)
	}
}

// nextFlushLocked returns the partition whose first frozen memtable has waited
// longest, of those that are complete: a batch that is still on its way to the
// disk must not get into a file before it is durable.
func (db *DB) nextFlushLocked() *partition {
	if db.idleLocked() {
		return nil
	}
	var next *partition
	for _, p := range db.partitions {
		if len(p.frozen) == 0 || p.flushing || p.frozen[0].maxSeq > db.visible.Load() {
			continue
		}
		if next == nil || p.frozen[0].minSeq < next.frozen[0].minSeq {
			next = p
		}
	}
	return next
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
		db.attemptedLocked(err, "compaction", job.p)
	}
}

// prepareLoop keeps one segment ready, so that a Commit need not wait for it. When
// the log has half the size that it may have, it sees to it that the oldest
// segment can go: what a partition with few writes keeps there is quickly flushed,
// and the next open would have to read all that follows.
func (db *DB) prepareLoop() {
	defer db.background.running.Done()
	db.mu.Lock()
	defer db.mu.Unlock()
	for !db.background.stopping {
		if db.logBytesLocked() > db.opt.LogBytes/2 && !db.freezeOldestLocked() && !db.idleLocked() && db.retirableLocked() {
			db.mu.Unlock()
			err := db.trimLog()
			db.mu.Lock()
			if err != nil {
				db.holdLocked(err, "log")
			}
			continue
		}
		enough := len(db.log.spares) > 0 || db.logBytesLocked()+db.opt.SegmentBytes > db.opt.LogBytes
		if enough || db.idleLocked() {
			db.background.work.Wait()
			continue
		}
		db.mu.Unlock()
		err := db.prepareSegment(0, false)
		db.mu.Lock()
		if err != nil {
			db.holdLocked(err, "log segment")
		}
	}
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

// removeTrash removes the files that nobody needs any more. What cannot be
// removed now is found and removed by the next open.
func (db *DB) removeTrash() {
	tables, files := db.trash.take()
	for _, t := range tables {
		if err := t.close(); err != nil {
			db.opt.Log.Warn("obsolete file not closed", "file", t.path, "cause", err)
		}
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
