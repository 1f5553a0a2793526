package engine

import "colonnade/wal"

// A log that stays idle gets a seal, which proves to the next open that all before
// it was durable.

// armSealLocked arranges for a seal when the log stays idle.
func (db *DB) armSealLocked() {
	l := &db.log
	if l.sealArmed || db.closed || db.failed != nil || l.sealSeq == db.lastSeq {
		return
	}
	l.sealArmed = true
	l.sealSeq = db.lastSeq
	db.opt.Clock.AfterFunc(sealDelay, db.sealIdle)
}

// sealIdle seals the log if nothing was written since it was armed.
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
	// The writer keeps room for one idle seal, and nothing comes after it then.
	last.room = max(0, last.room-wal.SealSize)
	db.leading = true
	db.mu.Unlock()

	err := last.w.Seal()

	db.mu.Lock()
	if err != nil {
		db.failLocked(err)
	}
	db.logMovedLocked()
	db.mu.Unlock()
	db.lead() // those that came meanwhile
}
