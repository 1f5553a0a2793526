package engine

import "colonnade/engine/manifest"

// recovery brings a store that was not closed, or was, back to work:
//
//  0. Remove files that never got their name, and find the highest file number.
//  1. Read the segments of the log from the manifest's logStart on, in order,
//     and put the batches that are not in files into the memtables, several at
//     once. When they grow too large they are flushed, beside the reading.
//  2. Write what was read again, beside the reading. It may have come from a page
//     cache that the disk never saw, for example after a sync that failed. Of a long
//     log all is flushed, to the last batch; of others the batches are copied, with
//     their sequence numbers, to new segments, which are synced.
//  3. Make the segment that new batches go to.
//  4. Install a manifest whose logStart is the first copy, and whose copied is the last
//     one; the new segment stands for both if there are none. Before this edit the old
//     segments count, and of copies that an interrupted recovery left only the batches
//     behind the end of those; after it the old segments count for nothing.
//  5. Remove what nothing refers to: old segments, copies of a recovery that
//     was interrupted, files of flushes and compactions that never finished. Not
//     before: the manifest that was read may not be durable either, and only
//     the edit of step 4 proves that none before it can come back.
//
// A flush in step 1 is durable at once, and the batches of it must be so in all of
// their partitions, should power fail then and take the end of the old log, which may
// never have reached the disk. See relieve.go.
//
// So a record that was torn is decided on once: what step 2 writes is there for
// good, what it does not write never comes back.
type recovery struct {
	db       *DB
	manifest *manifest.Manifest // that was found; flushes on the way install others
	old      []*segment         // in the directory, in order
	name     string             // of the segment that is read
	lastSeq  uint64             // of the last record read
	grown    bool               // the log has batches that no recovery has copied
	inserts  *insertion         // of what was read
	// take is called with every batch of the log. An error is damage, unless
	// it is a writeError.
	take func(seq uint64, payload []byte) error

	whole   bool       // all of the log is flushed, and nothing is copied
	copies  *copier    // of what was read
	held    int64      // by memtables when they were last looked at
	flushed bool       // some of what was copied is in files: the copies must stay
	flush   chan error // gets the outcome of the flush under way, nil for none
}

func newRecovery(db *DB) *recovery {
	r := &recovery{db: db, manifest: db.manifest}
	r.take = r.takeOver
	return r
}

func (r *recovery) run() error {
	if err := r.survey(); err != nil {
		return err
	}
	if err := r.list(); err != nil {
		return err
	}
	db := r.db
	r.inserts, r.copies, r.whole = newInsertion(db), newCopier(db), r.long()
	err := r.replay()
	if err == nil && r.whole {
		err = r.startFlushAll()
	}
	for _, end := range []func() error{r.inserts.end, r.awaitFlush, r.copies.end} {
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
	db.log.segments = r.copies.segments
	db.startLog()
	if err := r.install(); err != nil {
		return err
	}
	return r.sweep()
}

// freezeTables has memories flushed that were filled table by table, once the store
// is open: reads would have to look into each.
func (r *recovery) freezeTables() {
	r.db.mu.Lock()
	defer r.db.mu.Unlock()
	for _, p := range r.db.partitions {
		if len(p.active.tables) > 1 {
			r.db.freezeLocked(p)
		}
	}
}

// firstSegment is the size of the segment that an open begins to write: one of
// Options.SegmentBytes would take most of its time.
const firstSegment = 256 << 10

// install makes the copies, or the new segment, the beginning of the log.
func (r *recovery) install() error {
	return r.db.install(nil, func(m *manifest.Manifest) error {
		m.LogStart = r.db.log.segments[0].number
		if n := len(r.copies.segments); n > 0 {
			m.Copied = r.copies.segments[n-1].number
		} else if r.whole {
			m.Copied = r.db.log.segments[0].number // so evidence stays while that does
		}
		m.Settled = r.db.lastSeq + 1
		return nil
	}, func() {})
}
