package engine

import (
	"errors"

	"github.com/colonnade-db/colonnade/engine/manifest"
)

// install makes one edit of the manifest durable and then takes it over. change edits a copy of the current
// manifest. apply brings the DB itself up to the new manifest. Both run with DB.mu held.
//
// If there is no room for the file (ErrDiskFull), or no memory or file descriptor (ErrOverloaded), nothing
// has changed and the edit can be retried. After any other failure it is not known which state is on disk
// (*UnknownError), so the DB turns read-only, and nothing is deleted.
//
// Every edit also moves LogStart up to the oldest batch that is in no file then, and Settled up to the last
// batch of the retired segments. flushed has the memtable of each partition that the edit flushes.
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
	// If this fails, the next open removes the file.
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
	next.Dropped = db.archive.droppedLocked()
	if err := change(next); err != nil {
		return nil, err
	}
	next.NextFile = db.nextFile
	start, gone := db.logStartLocked(next, flushed)
	next.LogStart = start
	if next.Settled > 0 { // 0 is from version 1, until a recovery has finished
		next.Settled = max(next.Settled, gone+1)
	}
	if err := next.Follows(db.manifest); err != nil {
		db.failLocked(err)
		return nil, db.failed
	}
	return next, nil
}

// adoptLocked takes over the partition's files from the manifest that was just installed.
func (db *DB) adoptLocked(p *partition) {
	mp := db.manifest.Partitions[p.id]
	p.version, p.flushed = mp.Version, mp.Flushed
	db.publishLocked(p)
	db.background.compactable[p] = true
}
