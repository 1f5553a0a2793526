package engine

import "github.com/colonnade-db/colonnade/engine/manifest"

// recovery brings a store back to work, whether it was closed or not:
//
//  0. Remove files that never got their name, and find the highest file number.
//  1. Read the log segments from the manifest's LogStart on, in order. Put the batches that are not in
//     files into the memtables, with several goroutines. When the memtables grow too large, flush them
//     while reading on.
//  2. Write again what was read, while reading on. It may have come from a page cache that never
//     reached the disk, for example after a failed sync. Flush all of a long log; otherwise copy the
//     batches, with their sequence numbers, to new segments, and sync these.
//  3. Make the segment for new batches.
//  4. Install a manifest whose LogStart is the first copy and whose Copied is the last one, or the new
//     segment for both if there are no copies. Before this edit the old segments count, and copies of
//     an interrupted recovery count only for batches after those. After it the old segments count for
//     nothing.
//  5. Remove what nothing refers to: old segments, copies of an interrupted recovery, files of
//     unfinished flushes and compactions. Not earlier: the manifest that was read may not be durable
//     either, and only the edit of step 4 proves that no older one can come back.
//
// A flush in step 1 is durable at once. Its batches must then be durable in all of their partitions,
// because power may fail and take the end of the old log, which may never have reached the disk. See
// recover_flush.go.
//
// So a torn record is decided on once: what step 2 writes stays, what it does not write never comes
// back.
type recovery struct {
	db            *DB
	manifest      *manifest.Manifest // as found; flushes during recovery install others
	old           []*segment         // in the directory, in order
	segmentName   string             // of the segment that is being read
	lastSeq       uint64             // of the last record read
	hasNewBatches bool               // the log has batches that no recovery has copied
	inserter      *replayInserter
	// onBatch is called with every batch of the log. An error is damage, unless it is a writeError.
	onBatch func(seq uint64, payload []byte) error

	flushAll  bool // all of the log is flushed, and nothing is copied
	copier    *logCopier
	lastBytes int64      // of all memtables at the last check
	flushed   bool       // some copied batches are in files, so the copies must stay
	flush     chan error // receives the outcome of the flush under way, nil for none
}

func newRecovery(db *DB) *recovery {
	r := &recovery{db: db, manifest: db.manifest}
	r.onBatch = r.replayBatch
	return r
}

func (r *recovery) run() error {
	for _, step := range []func() error{r.removeTemporary, r.findTables, r.listSegments} {
		if err := step(); err != nil {
			return err
		}
	}
	db := r.db
	r.inserter, r.copier, r.flushAll = newReplayInserter(db), newLogCopier(db), r.shouldFlushAll()
	err := r.replay()
	if err == nil && r.flushAll {
		err = r.startFlushAll()
	}
	for _, end := range []func() error{r.inserter.end, r.awaitFlush, r.copier.end} {
		if e := end(); err == nil {
			err = e
		}
	}
	if err != nil {
		r.discard()
		return err
	}
	db.visible.Store(db.lastSeq)
	r.freezeTables()
	if err := db.prepareSegment(0); err != nil {
		return err
	}
	db.log.segments = r.copier.segments
	db.startLog()
	if err := r.install(); err != nil {
		return err
	}
	return r.removeOrphans()
}

// freezeTables freezes the memtables of several tables, so that they are flushed once the store is
// open: reads would have to look into each table. It has range tombstones looked at as those of new
// batches are.
func (r *recovery) freezeTables() {
	r.db.mu.Lock()
	defer r.db.mu.Unlock()
	for _, p := range r.db.partitions {
		for _, m := range append(p.frozen[:len(p.frozen):len(p.frozen)], p.active) {
			if m.ranges.Len() > 0 {
				r.db.expectRangesLocked(p, m, m.maxSeq)
			}
		}
		if len(p.active.tables) > 1 {
			r.db.freezeLocked(p)
		}
	}
}

// firstSegment is the size of the first segment after an open. Making one of Options.SegmentBytes would
// take most of the time of an open: 58 ms with 16 MiB, 21 ms with 256 KiB.
const firstSegment = 256 << 10

// install makes the copies, or the new segment, the beginning of the log.
func (r *recovery) install() error {
	return r.db.install(nil, func(m *manifest.Manifest) error {
		m.LogStart = r.db.log.segments[0].number
		if n := len(r.copier.segments); n > 0 {
			m.Copied = r.copier.segments[n-1].number
		} else if r.flushAll {
			m.Copied = r.db.log.segments[0].number // so torn segments are kept as long as that one
		}
		m.Settled = r.db.lastSeq + 1
		return nil
	}, func() {})
}
