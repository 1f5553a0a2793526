package engine

import (
	"fmt"
	"time"
)

// The disk reserve is free space that is kept for flushes, compactions, and the copies of a recovery,
// so that a store can go on and open again. While less is free, Commits are refused. Before that, the
// files that are kept for new log segments are removed, and then the segments that are held for an
// archive: an archive that cannot be reached makes no Commit fail.
//
// Free space is checked beside the Commits, once a second while there are any and after every few
// bytes. In between it can fall below the reserve by what is written meanwhile.

// diskReserve is guarded by DB.mu.
type diskReserve struct {
	checking   bool   // a check is under way
	checkedAt  int64  // commit time at the last check, in microseconds
	written    int64  // bytes of batches since
	free       uint64 // bytes at the last check, 0 if unknown
	low        bool   // less than the reserve is free
	writeError error  // why the log cannot be written at present, nil if it can
}

const (
	// checkEvery is the time between two checks, in microseconds.
	checkEvery = 1_000_000
	// checkShare is the part of the reserve that may be committed between two checks.
	checkShare = 64
)

// countWrittenLocked counts the bytes of a batch, and starts a check when one is due.
func (db *DB) countWrittenLocked(bytes int) {
	r := &db.diskReserve
	r.written += int64(bytes)
	if r.written > db.opt.ReserveBytes/checkShare || db.lastTime-r.checkedAt >= checkEvery {
		db.checkFreeSpaceLocked()
	}
}

// checkFreeSpaceLocked starts a check, if there is a reserve.
func (db *DB) checkFreeSpaceLocked() {
	r := &db.diskReserve
	if r.checking || db.closed || db.opt.ReserveBytes <= 0 {
		return
	}
	r.checking, r.checkedAt, r.written = true, db.lastTime, 0
	go db.checkFreeSpace()
}

// checkFreeSpace asks how much is free. While that is too little, it repeats itself.
func (db *DB) checkFreeSpace() {
	free, err := db.opt.FS.FreeSpace(db.dir)
	for _, giveUp := range []func() bool{db.releaseRecycled, db.giveUpHeld} {
		if err == nil && free < uint64(db.opt.ReserveBytes) && giveUp() {
			db.removeObsolete()
			free, err = db.opt.FS.FreeSpace(db.dir)
		}
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	r := &db.diskReserve
	r.checking, r.free = false, free
	low := err == nil && free < uint64(db.opt.ReserveBytes)
	switch {
	case low && !r.low:
		db.opt.Log.Warn("the disk is almost full: writes are refused until there is room", "free", free, "reserve", db.opt.ReserveBytes)
		db.background.progressLocked() // stalled writers must fail
	case !low && r.low:
		db.opt.Log.Info("there is room on the disk again", "free", free)
	}
	if r.low = low; low {
		db.opt.Clock.AfterFunc(checkEvery*time.Microsecond, func() {
			db.mu.Lock()
			defer db.mu.Unlock()
			db.checkFreeSpaceLocked()
		})
	}
}

// checkReserve returns ErrDiskFull if a new log file of this size would use the reserve. If the file
// system cannot say how much is free, it allows the file: writing it fails if there is too little.
func (db *DB) checkReserve(size int64) error {
	reserve := db.log.reserveBytes
	if reserve <= 0 {
		return nil
	}
	free, err := db.opt.FS.FreeSpace(db.dir)
	if err == nil && free < uint64(reserve+size) {
		return fmt.Errorf("%d bytes are free, %d are kept in reserve: %w", free, reserve, ErrDiskFull)
	}
	return nil
}

// fullLocked returns why no batch can be written, or nil.
func (r *diskReserve) fullLocked() error {
	if r.low {
		return ErrDiskFull
	}
	return r.writeError
}

// retryLogWrite reports whether to retry a write of the log that has failed. It retries a shortage,
// after a pause. Meanwhile no other batch may enter.
func (db *DB) retryLogWrite(cause error) bool {
	short := shortage(cause)
	over := make(chan struct{})
	db.mu.Lock()
	if short == nil || db.closed || db.failed != nil {
		db.mu.Unlock()
		return false
	}
	if db.diskReserve.writeError == nil {
		db.opt.Log.Warn("the log cannot be written, will try again: writes are refused until it can", "cause", cause)
	}
	db.diskReserve.writeError = short
	db.background.progressLocked()
	progress := db.background.progress
	db.mu.Unlock()
	defer db.opt.Clock.AfterFunc(firstBackoff, func() { close(over) })()
	select {
	case <-over:
	case <-progress: // Close may have been called
	}
	return true
}
