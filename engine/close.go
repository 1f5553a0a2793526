package engine

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/wal"
)

// closePatience is how many times SyncTimeout Close waits for the disk.
const closePatience = 3

// Close waits for the calls under way, flushes the memtables, empties the log, and releases the directory.
// Batches that it cannot flush within SyncTimeout stay in the log, which it seals. Snapshots and scans
// must be closed before. Nothing is lost if Close fails or is not called. A full disk is no failure: the
// log stays as it is.
//
// If the disk does not answer in time, Close returns ErrSlowDisk and goes on in the background. Until
// that ends, or the process does, the directory stays locked: requests that the disk still has must not
// meet another process with the store open.
func (db *DB) Close() error {
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return ErrClosed
	}
	db.closed = true
	db.readPartitions.Store(nil)
	db.background.progressLocked() // stalled writers must fail
	db.mu.Unlock()
	done, late := make(chan error, 1), make(chan struct{})
	defer db.opt.Clock.AfterFunc(closePatience*db.opt.SyncTimeout, func() { close(late) })()
	go func() { done <- db.closeNow() }()
	select {
	case err := <-done:
		return err
	case <-late:
		return fmt.Errorf("close store %s: %w, it stays locked", db.dir, ErrSlowDisk)
	}
}

// closeNow does the work of Close.
func (db *DB) closeNow() error {
	db.stop()
	err := db.flushRest()
	if err == nil {
		err = db.emptyLog()
	}
	return db.release(db.withoutShortage(err))
}

// withoutShortage drops and logs an error that says only that there was no room, memory or file
// descriptor: the log has what is in no file. An error that made the DB read-only stays.
func (db *DB) withoutShortage(err error) error {
	db.mu.Lock()
	failed := db.failed
	db.mu.Unlock()
	if err == nil || failed != nil || shortage(err) == nil {
		return err
	}
	db.opt.Log.Warn("the log stays as it is, the next open reads it", "cause", err)
	return nil
}

// stop waits for the calls under way and ends the background work.
func (db *DB) stop() {
	db.mu.Lock()
	for db.leading || db.log.preparing != nil {
		db.background.work.Wait()
	}
	db.mu.Unlock()
	db.stopBackground()
	waitUnlocked(&db.installMu) // partitions may be being created or dropped
}

// release seals the log, closes what is open, and unlocks the directory. It returns err, or the
// first failure of its own.
func (db *DB) release(err error) error {
	db.mu.Lock()
	failed := db.failed
	db.mu.Unlock()
	db.removeObsolete()
	if e := db.closeFiles(); e != nil && err == nil && failed == nil {
		err = db.withoutShortage(fmt.Errorf("close log: %w", e))
	}
	if e := db.lock.Close(); e != nil && err == nil {
		err = fmt.Errorf("release lock: %w", e)
	}
	return err
}

// waitUnlocked waits until a lock is free. Its later holders find that the DB is closed.
func waitUnlocked(l *sync.Mutex) {
	l.Lock()
	defer l.Unlock()
}

// flushRest flushes the memtables, as long as SyncTimeout allows.
func (db *DB) flushRest() error {
	begun := db.opt.Clock.Now()
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, p := range db.partitions {
		if p.active.minSeq != 0 {
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
		if db.opt.Clock.Now()-begun > db.opt.SyncTimeout.Microseconds() {
			return nil
		}
	}
	return nil
}

// emptyLog replaces the log by one segment, as small as can be, if all batches are in files. Segments
// have their full size whatever is in them, so a store that is closed would take much more room than
// its files. A crash before the edit of the manifest leaves the log as it was, with one more spare.
func (db *DB) emptyLog() error {
	db.mu.Lock()
	s := &segment{number: db.log.next, size: wal.MinSegment(0)}
	needed := db.failed != nil || db.log.current == nil
	for _, p := range db.partitions {
		needed = needed || p.oldestSeq(nil) != 0
	}
	db.mu.Unlock()
	if needed {
		return nil
	}
	if err := db.fillSegment(s, nil); err != nil {
		return fmt.Errorf("make log segment: %w", err)
	}
	db.mu.Lock()
	l := &db.log
	l.next++
	before, recycled := slices.Concat(l.segments, l.spares), l.recycled
	l.segments, l.spares, l.recycled, l.current = []*segment{s}, nil, nil, s
	db.mu.Unlock()
	var err error
	for _, old := range before {
		if old.w != nil {
			err = errors.Join(err, old.w.Close())
		}
	}
	if err != nil {
		return fmt.Errorf("close log: %w", err)
	}
	err = db.install(nil, func(m *manifest.Manifest) error {
		m.LogStart, m.Settled = s.number, db.lastSeq+1
		return nil
	}, func() {})
	if err != nil {
		return err
	}
	for _, old := range append(before, recycled...) {
		if !db.opt.ArchiveLog || old.number <= db.archive.released { // the next open holds the others
			db.obsolete.addFile(db.segmentPath(old.number))
		}
	}
	return nil
}

// closeFiles closes all files, and seals the log. Nothing changes any more.
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
