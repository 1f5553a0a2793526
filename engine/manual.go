package engine

import (
	"context"

	"github.com/colonnade-db/colonnade/engine/compaction"
)

// Flush writes all memtables to files and returns when that is done. It may or may not include Commits
// that come meanwhile.
func (db *DB) Flush(ctx context.Context) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	var last uint64 // every batch up to here is to be in files
	for _, p := range db.partitions {
		if p.active.minSeq != 0 {
			db.freezeLocked(p)
		}
	}
	last = db.lastSeq
	return db.awaitLocked(ctx, func() (bool, error) {
		for p := range db.frozen {
			if p.frozen[0].minSeq <= last {
				return false, nil
			}
		}
		return true, nil
	})
}

// awaitLocked waits, with DB.mu released, until done returns true or an error. It fails when the DB is
// closed or read-only.
func (db *DB) awaitLocked(ctx context.Context, done func() (bool, error)) error {
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if err := db.writableLocked(); err != nil {
			return err
		}
		progress := db.background.progress
		db.background.signalLocked()
		db.mu.Unlock()
		var err error
		select {
		case <-progress:
		case <-ctx.Done():
			err = ctx.Err()
		}
		db.mu.Lock()
		if err != nil {
			return err
		}
	}
}

// flushPartitionLocked is Flush for one partition.
func (db *DB) flushPartitionLocked(ctx context.Context, p *partition) error {
	if p.active.minSeq != 0 {
		db.freezeLocked(p)
	}
	last := db.lastSeq
	return db.awaitLocked(ctx, func() (bool, error) {
		return p.dropped || len(p.frozen) == 0 || p.frozen[0].minSeq > last, nil
	})
}

// Compact flushes a partition and merges its files into the last level, without what no reader can see.
// It returns when that is done.
func (db *DB) Compact(ctx context.Context, id PartitionID) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	p := db.partitions[id]
	if p == nil {
		return ErrNoPartition
	}
	if err := db.flushPartitionLocked(ctx, p); err != nil {
		return err
	}
	manual := new(compaction.Manual)
	return db.awaitLocked(ctx, func() (bool, error) {
		switch {
		case p.dropped:
			return false, ErrNoPartition
		case p.damage != nil:
			return false, p.damage
		case p.quarantined.Load() != nil:
			return false, p.quarantined.Load()
		case manual.Done:
			return true, nil
		case p.manual == nil: // once that of another caller is done
			p.manual = manual
			db.background.compactable[p] = true
		}
		return false, nil
	})
}

// CompactSoon has the files of a partition compacted as Compact does, without memtables, and does not wait for it. It
// returns false if a manual compaction is under way.
func (db *DB) CompactSoon(id PartitionID) bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	p := db.partitions[id]
	switch {
	case p == nil || p.dropped || db.writableLocked() != nil: // there is nothing to compact, or it cannot be
	case p.damage != nil || p.quarantined.Load() != nil: // it would wait for ever
	case p.manual != nil:
		return false
	default:
		p.manual = new(compaction.Manual)
		db.background.compactable[p] = true
		db.background.signalLocked()
	}
	return true
}
