package engine

import (
	"fmt"
	"time"
)

// Room on the disk. A part of it is kept for what lets a store go on, or begin
// again: flushes, compactions, and the copies of a recovery. Commits are refused
// before that is touched, and taken again once there is more.
//
// Then files that are kept for new segments of the log go as well.
//
// How much is free is asked beside the Commits, once a second while there are any
// and after some bytes; in between it can fall below the reserve by what is
// written meanwhile.

// space is guarded by DB.mu.
type space struct {
	looking bool  // somebody asks how much is free
	looked  int64 // commit time when it was asked last
	written int64 // bytes of batches since
	low     bool  // less than the reserve is free
	short   error // why the log could not be written, nil if it could
}

const (
	// lookEvery is the time between two looks, in microseconds.
	lookEvery = 1_000_000
	// lookShare is the part of the reserve that may be committed between two looks.
	lookShare = 64
)

// countLocked takes note of a batch, and has a look when it is time.
func (db *DB) countLocked(bytes int) {
	s := &db.space
	s.written += int64(bytes)
	if s.written > db.opt.ReserveBytes/lookShare || db.lastTime-s.looked >= lookEvery {
		db.lookLocked()
	}
}

// lookLocked starts a look, if there is a reserve.
func (db *DB) lookLocked() {
	s := &db.space
	if s.looking || db.closed || db.opt.ReserveBytes <= 0 {
		return
	}
	s.looking, s.looked, s.written = true, db.lastTime, 0
	go db.look()
}

// look asks how much is free. While that is too little, it looks again by itself.
func (db *DB) look() {
	free, err := db.opt.FS.FreeSpace(db.dir)
	db.mu.Lock()
	defer db.mu.Unlock()
	s := &db.space
	s.looking = false
	low := err == nil && free < uint64(db.opt.ReserveBytes)
	switch {
	case low && !s.low:
		db.opt.Log.Warn("the disk is almost full: writes are refused until there is room", "free", free, "reserve", db.opt.ReserveBytes)
		db.background.progressLocked() // whoever waits for room has to know
	case !low && s.low:
		db.opt.Log.Info("there is room on the disk again", "free", free)
	}
	if s.low = low; low {
		db.releaseRecycledLocked()
		db.opt.Clock.AfterFunc(lookEvery*time.Microsecond, func() {
			db.mu.Lock()
			defer db.mu.Unlock()
			db.lookLocked()
		})
	}
}

// roomFor returns an error if a new file of the log would need the reserve. A file
// system that cannot tell how much is free will say when there is too little.
func (db *DB) roomFor(size int64) error {
	reserve := db.log.reserve
	if reserve <= 0 {
		return nil
	}
	free, err := db.opt.FS.FreeSpace(db.dir)
	if err == nil && free < uint64(reserve+size) {
		return fmt.Errorf("%d bytes are free, %d are kept in reserve: %w", free, reserve, ErrDiskFull)
	}
	return nil
}

// fullLocked returns why there is no room for a batch, or nil.
func (s *space) fullLocked() error {
	if s.low {
		return ErrDiskFull
	}
	return s.short
}

// writeAgain is asked when a write of the log has failed. A lack that passes is
// waited for, in which time no other batch has to begin.
func (db *DB) writeAgain(cause error) bool {
	short := shortage(cause)
	over := make(chan struct{})
	db.mu.Lock()
	if short == nil || db.closed || db.failed != nil {
		db.mu.Unlock()
		return false
	}
	if db.space.short == nil {
		db.opt.Log.Warn("the log cannot be written, will try again: writes are refused until it can", "cause", cause)
	}
	db.space.short = short
	db.background.progressLocked()
	progress := db.background.progress
	db.mu.Unlock()
	defer db.opt.Clock.AfterFunc(firstBackoff, func() { close(over) })()
	select {
	case <-over:
	case <-progress: // Close may have come
	}
	return true
}
