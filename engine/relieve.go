package engine

// What a recovery does when memtables have grown: they are flushed, beside the reading
// of the log. What is flushed is durable whether or not this recovery gets to its end, so
// that each batch must have come to all of its partitions for good:
//
//   - Of a long log, all memtables go in one edit of the manifest, which so has all
//     batches up to one of them, or none of that. Nothing is copied.
//   - Otherwise the largest ones go, and others stay: after a sync of the copies, which have
//     their batches.

// wholeParts is the most partitions with which all memtables are flushed at once.
const wholeParts = 32

// long reports whether all of the log is to be flushed: its segments are larger than the
// memtables may be, so that much of it would be flushed anyway, and there are not so many
// partitions that each flush would be of many small files. A manifest of version 1 could
// not say how far such flushes have come.
func (r *recovery) long() bool {
	var size int64
	for _, s := range r.live() {
		size += s.size
	}
	return size > r.db.opt.MemtableBytes && len(r.db.partitions) <= wholeParts && r.manifest.Settled > 0
}

// relieve flushes memtables that hold too much. It looks when what they hold has changed,
// which is not at every batch.
func (r *recovery) relieve() error {
	held := r.db.memTableBytes.Load()
	if held == r.held {
		return nil
	}
	r.held = held
	if r.whole {
		return r.relieveAll()
	}
	return r.relieveLargest()
}

// relieveAll flushes all memtables when they hold half of their budget; the other half
// is for those being flushed.
func (r *recovery) relieveAll() error {
	db := r.db
	db.mu.Lock()
	growing := db.memTableBytes.Load() - db.frozenBytes
	db.mu.Unlock()
	if growing <= db.opt.MemtableBytes/2 {
		return nil
	}
	return r.startFlushAll()
}

// startFlushAll begins to flush all that was read, once the flush under way is over.
func (r *recovery) startFlushAll() error {
	if err := r.awaitFlush(); err != nil {
		return err
	}
	db := r.db
	db.mu.Lock()
	for _, p := range db.partitions {
		if p.active.minSeq != 0 {
			db.freezeLocked(p)
		}
	}
	db.visible.Store(db.lastSeq)
	list := db.flushableLocked()
	db.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	last := r.lastSeq
	r.startFlush(func() error { return db.flushAll(list, last) })
	return nil
}

// relieveLargest flushes the largest memtables while all hold too much: beside the
// reading of the log, until they hold all that they may.
func (r *recovery) relieveLargest() error {
	db := r.db
	db.mu.Lock()
	frozen := db.freezeLargestLocked(db.memTableBytes.Load())
	waiting := len(db.frozen) > 0
	db.mu.Unlock()
	if frozen {
		r.inserts.handOver()
	}
	if r.flush != nil {
		if waiting && db.memTableBytes.Load() < db.opt.MemtableBytes && len(r.flush) == 0 {
			return nil // under way, and there is room
		}
		if err := r.awaitFlush(); err != nil {
			return err
		}
	}
	if !waiting {
		return nil
	}
	r.startFlushLargest()
	return nil
}

// startFlushLargest begins to flush what is frozen. All of it is in the memtables, and the
// copies are durable, before.
func (r *recovery) startFlushLargest() {
	db := r.db
	db.mu.Lock()
	db.visible.Store(db.lastSeq)
	list := db.nextFlushLocked()
	db.mu.Unlock()
	if len(list) == 0 {
		return
	}
	durable := r.copies.cut()
	r.startFlush(func() error {
		if err := <-durable; err != nil {
			return err
		}
		r.flushed = true // for others once r.flush has the outcome
		return db.flush(list)
	})
}

// startFlush lets a flush begin once all that was read is in the memtables.
func (r *recovery) startFlush(flush func() error) {
	inserted := r.inserts.cut()
	done := make(chan error, 1)
	r.flush = done
	go func() {
		err := inserted()
		if err == nil {
			err = flush()
		}
		done <- err
	}()
}

// awaitFlush waits for the flush under way.
func (r *recovery) awaitFlush() error {
	if r.flush == nil {
		return nil
	}
	err := <-r.flush
	r.flush = nil
	return err
}
