package engine

// LevelStats describes one level of a partition.
type LevelStats struct {
	Files int
	Bytes int64
}

// PartitionStats describes a partition.
type PartitionStats struct {
	Levels        []LevelStats // down to the lowest one that has files
	Entries       uint64       // in files, tombstones included
	DiskBytes     int64
	MemtableBytes int64
	// Compacting is that a manual compaction has begun and has not ended, and CompactionLeft the bytes of the files that
	// are left of it.
	Compacting     bool
	CompactionLeft int64
	// RangeTombstones counts those in memtables, and those that may cover entries in files.
	RangeTombstones int
	Damage          error // that stops compactions or that a read has found, nil for none
}

// Stats returns the current state of a partition.
func (db *DB) Stats(id PartitionID) (PartitionStats, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	p := db.partitions[id]
	if p == nil {
		return PartitionStats{}, ErrNoPartition
	}
	s := PartitionStats{Damage: p.knownDamage(), RangeTombstones: p.rangesLocked()}
	for level, files := range p.version.Levels {
		if len(files) == 0 {
			continue
		}
		for len(s.Levels) <= level {
			s.Levels = append(s.Levels, LevelStats{})
		}
		s.Levels[level] = LevelStats{Files: len(files), Bytes: p.version.Size(level)}
		s.DiskBytes += s.Levels[level].Bytes
		for _, f := range files {
			s.Entries += f.Entries
		}
	}
	if p.manual != nil {
		s.Compacting, s.CompactionLeft = true, p.manual.Left(p.version)
	}
	for _, m := range append([]*memTable{p.active}, p.frozen...) {
		s.MemtableBytes += m.bytes.Load()
	}
	return s, nil
}

// SnapshotStats describes the open snapshots. Its numbers are not of exactly one moment.
type SnapshotStats struct {
	Open   int
	Oldest int64 // when the oldest of them was opened, in microseconds since the Unix epoch; 0 without any
}

// Snapshots returns how many snapshots are open, and since when.
func (db *DB) Snapshots() SnapshotStats {
	return db.snapshots.stats()
}

// CacheStats returns what the block cache holds.
func (db *DB) CacheStats() (blocks int, bytes int64) {
	return db.blockCache.Count(), db.blockCache.Bytes()
}

// Health returns why the DB takes no writes: a *ReadOnlyError until it is opened again, ErrSlowDisk until
// the disk answers, ErrDiskFull or ErrOverloaded until the log can be written; nil if it takes them.
func (db *DB) Health() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.failed != nil {
		return db.failed
	}
	return db.pausedLocked()
}
