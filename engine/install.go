package engine

import (
	"errors"

	"colonnade/engine/manifest"
)

// install makes one edit of the manifest durable and then takes it over. change
// edits a copy of the present manifest; it runs with DB.mu held, as does apply,
// which brings the DB itself up to the new manifest.
//
// When there is no room for the file (ErrDiskFull), or no memory or handle
// (ErrOverloaded), nothing has changed and the edit can be tried again. Any other
// failure leaves open which state is on disk (*UnknownError), so the DB turns
// read-only, and nothing is deleted.
//
// Every edit also moves the beginning of the log up to the oldest batch that is
// in no file then, and settles those of the segments that go; flushed has the memory that the edit flushes of each partition.
func (db *DB) install(flushed map[*partition]*memTable, change func(*manifest.Manifest) error, apply func()) error {
	db.installMu.Lock()
	defer db.installMu.Unlock()
	db.mu.Lock()
	next, err := db.nextManifestLocked(flushed, change)
	db.mu.Unlock()
	if err != nil {
		return err
	}
	if err := writeManifest(db.opt.FS, db.dir, next); err != nil {
		if errors.Is(err, ErrDiskFull) || errors.Is(err, ErrOverloaded) {
			return err
		}
		db.mu.Lock()
		defer db.mu.Unlock()
		db.failLocked(err)
		return &UnknownError{Cause: err}
	}
	// Should this fail, the older file lies there until the next open.
	old := db.path(manifest.FileName(next.Edit - 1))
	if err := db.opt.FS.Remove(old); err != nil {
		db.opt.Log.Warn("old manifest not removed", "file", old, "cause", err)
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.manifest = next
	apply()
	db.retireSegmentsLocked()
	return nil
}

func (db *DB) nextManifestLocked(flushed map[*partition]*memTable, change func(*manifest.Manifest) error) (*manifest.Manifest, error) {
	if db.failed != nil {
		return nil, db.failed
	}
	next := db.manifest.Next()
	next.LastSeq = db.lastSeq
	next.LastTime = db.lastTime
	if err := change(next); err != nil {
		return nil, err
	}
	next.NextFile = db.nextFile
	start, gone := db.logStartLocked(next, flushed)
	next.LogStart = start
	if next.Settled > 0 { // else it is of version 1, and a recovery has to finish first
		next.Settled = max(next.Settled, gone+1)
	}
	if err := next.Follows(db.manifest); err != nil {
		db.failLocked(err)
		return nil, db.failed
	}
	return next, nil
}
