package engine

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"colonnade/engine/manifest"
)

// closePatience is how many times SyncTimeout Close waits for the disk.
const closePatience = 3

// Close waits for the calls under way, flushes large memtables, seals the log
// and releases the directory. Snapshots and scans must be closed before.
// Nothing is lost when it fails or is not called at all.
//
// When the disk does not answer in time it returns ErrSlowDisk and goes on by
// itself. Until that ends, or the process does, the directory stays locked: what
// the disk still has before it must not meet another that has the store open.
func (db *DB) Close() error {
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return ErrClosed
	}
	db.closed = true
	db.found.Store(nil)
	db.background.progressLocked() // whoever waits for room need not
	db.mu.Unlock()
	done, late := make(chan error, 1), make(chan struct{})
	defer db.opt.Clock.AfterFunc(closePatience*db.opt.SyncTimeout, func() { close(late) })()
	go func() { done <- db.shut() }()
	select {
	case err := <-done:
		return err
	case <-late:
		return fmt.Errorf("close store %s: %w, it stays locked", db.dir, ErrSlowDisk)
	}
}

// shut does the work of Close.
func (db *DB) shut() error {
	db.mu.Lock()
	for db.leading || db.log.preparing != nil {
		db.background.work.Wait()
	}
	db.mu.Unlock()
	db.stopBackground()
	awaitHolder(&db.installMu) // partitions may be created or dropped
	err := db.flushLarge()
	db.mu.Lock()
	failed := db.failed
	db.mu.Unlock()
	db.removeObsolete()
	if e := db.closeFiles(); e != nil && err == nil && failed == nil {
		err = fmt.Errorf("close log: %w", e)
	}
	if e := db.lock.Close(); e != nil && err == nil {
		err = fmt.Errorf("release lock: %w", e)
	}
	return err
}

// awaitHolder waits for whoever holds a lock. Those that take it later find that
// the DB is closed.
func awaitHolder(l *sync.Mutex) {
	l.Lock()
	defer l.Unlock()
}

// reopenBytes is the size from which Close flushes a memtable: smaller ones
// take the next open less time to read from the log than a flush would take.
const reopenBytes = 1 << 20

// flushLarge flushes the memtables that would make the next open slow.
func (db *DB) flushLarge() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, p := range db.partitions {
		if p.active.bytes.Load() >= reopenBytes {
			db.freezeLocked(p)
		}
	}
	for list := db.nextFlushLocked(); len(list) > 0; list = db.nextFlushLocked() {
		db.mu.Unlock()
		err := db.flush(list)
		db.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

// closeFiles closes what is open, and seals the log. Nothing changes any more.
func (db *DB) closeFiles() error {
	db.mu.Lock()
	var files []*manifest.File
	for _, p := range db.partitions {
		files = slices.AppendSeq(files, p.version.Files())
	}
	segments := slices.Concat(db.log.segments, db.log.spares)
	db.mu.Unlock()
	for _, f := range files {
		tableOf(f).close()
	}
	var err error
	for _, s := range segments {
		if s.w != nil {
			err = errors.Join(err, s.w.Close())
		}
	}
	return err
}
