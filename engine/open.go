package engine

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"path"

	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/sstable/blockcache"
)

// Open opens the store in a directory. It creates the store if the directory is empty or missing. It
// returns a *vfs.LockedError if another process has the store open, and a *CorruptError if the
// manifest or the log is damaged. A store with a damaged or missing sorted file opens; reads that need
// the file fail.
//
// Nothing that a crash has left is removed before the log has been read and everything that is only in
// there is on disk again; see recovery.
func Open(dir string, opt Options) (*DB, error) {
	opt = opt.WithDefaults()
	db := &DB{opt: opt, dir: path.Clean(dir), partitions: make(map[PartitionID]*partition), frozen: make(map[*partition]bool), rangesDue: make(map[*partition]uint64)}
	db.tableCache = newTableCache(opt.OpenFiles)
	db.counted.failures = make(map[string]uint64)
	db.smallFiles = compaction.NewSmallFileBudget(opt.MemtableBytes)
	db.background.init(&db.mu)
	db.leaders = make(chan struct{})
	db.inserters = make(chan *group)
	db.groupReady = make(chan struct{}, 1)
	db.log.onSpareTaken = db.background.signalLocked
	db.obsolete.wake = func() {
		select {
		case db.background.wake <- struct{}{}:
		default: // a signal is pending already
		}
	}
	if err := opt.FS.MkdirAll(db.dir); err != nil {
		return nil, fmt.Errorf("make store directory: %w", err)
	}
	lock, err := opt.FS.Lock(db.path(manifest.LockFile))
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	db.lock = lock
	db.blockCache = blockcache.New(opt.CacheBytes)
	if err := db.load(); err != nil {
		db.removeObsolete() // opens that fail again and again must not fill the disk
		db.closeFiles()
		lock.Close()
		return nil, fmt.Errorf("open store %s: %w", db.dir, err)
	}
	db.log.reserveBytes = opt.ReserveBytes
	db.mu.Lock()
	db.checkFreeSpaceLocked()
	db.mu.Unlock()
	db.startBackground()
	return db, nil
}

func (db *DB) load() error {
	m, _, err := readManifest(db.opt.FS, db.dir)
	if err != nil {
		return err
	}
	if m == nil {
		if err := db.create(); err != nil {
			return err
		}
		return db.load()
	}
	if m.Edit == 1 {
		// The process that created the store may have been killed before the name of this manifest
		// was durable. If power failed then and took the manifest, a log written meanwhile would
		// look like the rest of a damaged store.
		if err := db.opt.FS.SyncDir(db.dir); err != nil {
			return err
		}
	}
	db.adopt(m)
	return newRecovery(db).run()
}

// adopt takes over the manifest that was read.
func (db *DB) adopt(m *manifest.Manifest) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.manifest, db.store = m, m.Store
	db.lastSeq, db.lastTime, db.nextFile = m.LastSeq, m.LastTime, m.NextFile
	if db.opt.ArchiveLog {
		for _, d := range m.Dropped {
			db.archive.dropped = append(db.archive.dropped, pendingDrop{Dropped: d})
		}
		db.archive.finished = make(chan struct{})
	}
	for _, mp := range m.Partitions {
		p := db.addPartitionLocked(mp)
		db.background.compactable[p] = true
	}
}

// create creates a store, without a log segment. A store that never had a partition needs none, because
// nothing can have been written to it.
func (db *DB) create() error {
	if err := db.checkVacant(); err != nil {
		return err
	}
	for _, sub := range []string{manifest.LogDir, manifest.PartitionsDir} {
		// An empty directory is left from an attempt that failed, perhaps in the sync of its name.
		// Then no later sync makes the name durable, so make the directory again.
		err := db.opt.FS.Remove(db.path(sub))
		if err != nil && !errors.Is(err, iofs.ErrNotExist) {
			return err
		}
		if err := db.opt.FS.MkdirAll(db.path(sub)); err != nil {
			return err
		}
	}
	if err := db.opt.FS.SyncDir(db.dir); err != nil {
		return err
	}
	if err := db.syncParents(); err != nil {
		return err
	}
	m := &manifest.Manifest{Edit: 1, NextFile: 1, NextPartition: 1, LogStart: 1, Partitions: make(map[PartitionID]*manifest.Partition)}
	if _, err := io.ReadFull(db.opt.Rand, m.Store[:]); err != nil {
		return fmt.Errorf("choose store id: %w", err)
	}
	return writeManifest(db.opt.FS, db.dir, m)
}

// syncParents makes the name of the store's directory durable, and the names of the directories above that
// Open may have made: those that have no other content.
func (db *DB) syncParents() error {
	for dir := db.dir; ; {
		above := path.Dir(dir)
		names, err := db.opt.FS.List(above)
		if err == nil {
			err = db.opt.FS.SyncDir(above)
		}
		if errors.Is(err, iofs.ErrPermission) && dir != db.dir {
			return nil // not ours
		}
		if err != nil || above == dir || len(names) > 1 {
			return err
		}
		dir = above
	}
}

// startLog makes the first spare the current segment.
func (db *DB) startLog() {
	db.mu.Lock()
	defer db.mu.Unlock()
	l := &db.log
	s := l.spares[0]
	l.spares = l.spares[1:]
	s.after, s.afterKnown = db.lastSeq, true
	l.segments = append(l.segments, s)
	db.useLocked(s)
	for i := range db.archive.dropped { // before this segment was in use, but perhaps after the last one was read
		db.archive.dropped[i].segment = s.number
	}
}

// checkVacant makes sure that a directory without a manifest is not a store that has lost it. A crash
// during create leaves at most empty directories and an unfinished manifest.
func (db *DB) checkVacant() error {
	names, err := db.opt.FS.List(db.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		switch name {
		case manifest.LockFile, manifest.FileName(1) + manifest.TempSuffix:
		case manifest.LogDir, manifest.PartitionsDir:
			content, err := db.opt.FS.List(db.path(name))
			if err != nil {
				return err
			}
			if len(content) > 0 {
				return &CorruptError{File: db.dir, Offset: -1, Reason: "the manifest is missing, but " + name + " has files"}
			}
		default:
			return fmt.Errorf("directory %s holds other files, such as %q, and no store", db.dir, name)
		}
	}
	return nil
}
