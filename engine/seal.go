package engine

import "github.com/colonnade-db/colonnade/wal"

// An idle log gets a seal, which proves to the next open that everything before it was durable.

// armSealLocked has the log sealed when it stays idle for sealDelay.
func (db *DB) armSealLocked() {
	l := &db.log
	if l.sealArmed || db.closed || db.failed != nil || l.sealSeq == db.lastSeq {
		return
	}
	l.sealArmed = true
	l.sealSeq = db.lastSeq
	db.opt.Clock.AfterFunc(sealDelay, db.sealIdle)
}

// sealIdle seals the log if nothing was written since the seal was armed.
func (db *DB) sealIdle() {
	db.mu.Lock()
	l := &db.log
	l.sealArmed = false
	if db.leading || db.closed || db.failed != nil {
		db.mu.Unlock()
		return // the leader arms it again when it is done
	}
	if l.sealSeq != db.lastSeq {
		db.armSealLocked()
		db.mu.Unlock()
		return
	}
	last := l.segments[len(l.segments)-1]
	if last != l.current {
		db.mu.Unlock()
		return // the next batch finishes it
	}
	// The writer keeps room for one idle seal. Nothing comes after it in this segment then.
	last.room = max(0, last.room-wal.SealSize)
	db.leading = true
	db.mu.Unlock()

	db.goOnLeading(last.w.Seal())
}

// goOnLeading takes the outcome of something that a leader did to the log, and leads for the batches that came meanwhile.
func (db *DB) goOnLeading(err error) {
	db.mu.Lock()
	if err != nil {
		db.failLocked(err)
	}
	db.logMovedLocked()
	db.mu.Unlock()
	db.lead()
}
