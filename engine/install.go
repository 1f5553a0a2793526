package engine

import (
	"bytes"
	"errors"
	"fmt"
	iofs "io/fs"

	"colonnade/vfs"
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
func (db *DB) install(flushed map[*partition]*memory, change func(*manifest) error, apply func()) error {
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
	old := db.path(manifestName(next.edit - 1))
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

func (db *DB) nextManifestLocked(flushed map[*partition]*memory, change func(*manifest) error) (*manifest, error) {
	if db.failed != nil {
		return nil, db.failed
	}
	next := db.manifest.clone()
	next.lastSeq = db.lastSeq
	next.lastTime = db.lastTime
	if err := change(next); err != nil {
		return nil, err
	}
	next.nextFile = db.nextFile
	start, gone := db.logStartLocked(next, flushed)
	next.logStart = start
	if next.settled > 0 { // else it is of version 1, and a recovery has to finish first
		next.settled = max(next.settled, gone+1)
	}
	if err := next.follows(db.manifest); err != nil {
		db.failLocked(err)
		return nil, db.failed
	}
	return next, nil
}

// writeManifest makes m the manifest of the directory.
func writeManifest(fs vfs.FS, dir string, m *manifest) error {
	name := dir + "/" + manifestName(m.edit)
	if err := writeTemp(fs, name+tempSuffix, m.encode()); err != nil {
		fs.Remove(name + tempSuffix) // or the next attempt does it: it counts for nothing
		if short := shortage(err); short != nil {
			return fmt.Errorf("write manifest: %w: %w", short, err)
		}
		return fmt.Errorf("write manifest: %w", err)
	}
	if err := nameManifest(fs, name); err != nil {
		return fmt.Errorf("rename manifest: %w", err)
	}
	if err := fs.SyncDir(dir); err != nil {
		return fmt.Errorf("sync directory of the manifest: %w", err)
	}
	return nil
}

// nameManifest gives a manifest its name. Whether a rename that lacked room did
// happen can be seen, as what becomes durable is what can be seen.
func nameManifest(fs vfs.FS, name string) error {
	err := fs.Rename(name+tempSuffix, name)
	short := shortage(err)
	if short == nil {
		return err
	}
	if _, err := fs.Stat(name); err == nil {
		return nil
	} else if !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	fs.Remove(name + tempSuffix)
	return fmt.Errorf("%w: %w", short, err)
}

// writeTemp writes a file and reads it again: what is wrong with it must come out
// while the manifest before is still there.
func writeTemp(fs vfs.FS, name string, data []byte) error {
	f, err := createAnew(fs, name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	got, err := readFile(fs, name)
	if err == nil && !bytes.Equal(got, data) {
		err = fmt.Errorf("%s reads differently from what was written", name)
	}
	return err
}

// createAnew creates a file under a temporary name, which an attempt that failed may
// have left.
func createAnew(fs vfs.FS, name string) (vfs.File, error) {
	f, err := fs.Create(name)
	if !errors.Is(err, iofs.ErrExist) {
		return f, err
	}
	if err := fs.Remove(name); err != nil {
		return nil, err
	}
	return fs.Create(name)
}
