package engine

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"path"

	"colonnade/engine/compaction"
	"colonnade/engine/manifest"
	"colonnade/sstable/blockcache"
)

// Open opens the store in a directory, and creates it when the directory is
// empty or not there. It returns a *vfs.LockedError when another process has
// the store open, and a *CorruptError when the manifest or the log are damaged.
// A damaged or missing sorted file does not keep the store from opening: reads
// that need it fail.
//
// Nothing that a crash left behind is removed before the log has been read and
// what is only in there is on disk again; see recovery.
func Open(dir string, opt Options) (*DB, error) {
	opt = opt.withDefaults()
	db := &DB{opt: opt, dir: path.Clean(dir), partitions: make(map[PartitionID]*partition), frozen: make(map[*partition]bool)}
	db.tableCache = newTableCache(opt.OpenFiles)
	db.smallFiles = compaction.NewSmallFileBudget(opt.MemtableBytes)
	db.background.init(&db.mu)
	db.leaders = make(chan struct{})
	db.inserters = make(chan *group)
	db.groupReady = make(chan struct{}, 1)
	db.log.onSpareTaken = db.background.signalLocked
	db.obsolete.wake = func() {
		select {
		case db.background.wake <- struct{}{}:
		default: // it will look anyway
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
		db.removeObsolete() // or opens that are refused again and again would fill the disk
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
		// Whoever made the store may have been killed before the name of its only
		// manifest was durable. A log beside a manifest that a loss of power takes
		// away would be taken for what is left of a damaged store.
		if err := db.opt.FS.SyncDir(db.dir); err != nil {
			return err
		}
	}
	db.adopt(m)
	return newRecovery(db).run()
}

// adopt takes over a manifest that was read.
func (db *DB) adopt(m *manifest.Manifest) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.manifest, db.store = m, m.Store
	db.lastSeq, db.lastTime, db.nextFile = m.LastSeq, m.LastTime, m.NextFile
	for _, r := range m.Partitions {
		p := db.addPartitionLocked(r)
		db.background.compactable[p] = true
	}
}

// create makes a new store. A log segment may be missing from a store that never
// had a partition, since nothing can have been written to it.
func (db *DB) create() error {
	if err := db.checkVacant(); err != nil {
		return err
	}
	for _, sub := range []string{manifest.LogDir, manifest.PartitionsDir} {
		// One that is there, empty, is of an attempt that failed, perhaps when its
		// name was synced: then no later sync makes the name durable, but a new one.
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

// syncParents makes the name of the store's directory durable, and the names of those
// above that Open may have made as well: such a one holds nothing but the next.
func (db *DB) syncParents() error {
	for dir := db.dir; ; {
		above := path.Dir(dir)
		names, err := db.opt.FS.List(above)
		if err == nil {
			err = db.opt.FS.SyncDir(above)
		}
		if errors.Is(err, iofs.ErrPermission) && dir != db.dir {
			return nil // somebody else's
		}
		if err != nil || above == dir || len(names) > 1 {
			return err
		}
		dir = above
	}
}

// startLog begins to write the first spare segment.
func (db *DB) startLog() {
	db.mu.Lock()
	defer db.mu.Unlock()
	l := &db.log
	s := l.spares[0]
	l.spares = l.spares[1:]
	l.segments = append(l.segments, s)
	db.useLocked(s)
}

// vacant makes sure that a directory without a manifest holds no store that has
// lost it. A crash while a store was created leaves empty directories and an
// unfinished manifest at most.
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
