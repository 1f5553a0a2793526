package engine

// Recovery flushes: when memtables have grown during recovery, they are flushed while the log is read
// on. What is flushed is durable even if this recovery does not finish. So each flushed batch must be
// durable in all of its partitions:
//
//   - For a long log, one manifest edit flushes all memtables. It has either all batches up to some
//     batch, or none of them. Nothing is copied.
//   - Otherwise the largest memtables are flushed, after a sync of the copies, which have the batches
//     of the others.

// flushAllPartitions is the most partitions for which all memtables are flushed at once.
const flushAllPartitions = 32

// shouldFlushAll reports whether all of the log is flushed: its segments exceed the memtable budget, so
// much of it would be flushed anyway, and there are so few partitions that flushes do not write many
// small files. A manifest of version 1 cannot record how far such flushes have come. An archive of the log needs the
// copies: what was read of the last segment may not be durable there.
func (r *recovery) shouldFlushAll() bool {
	var size int64
	for _, s := range r.liveSegments() {
		size += s.size
	}
	return !r.db.opt.ArchiveLog && size > r.db.opt.MemtableBytes && len(r.db.partitions) <= flushAllPartitions && r.manifest.Settled > 0
}

// flushIfFull flushes memtables that hold too much. It does nothing unless their bytes have changed,
// which they do not at every batch.
func (r *recovery) flushIfFull() error {
	bytes := r.db.memTableBytes.Load()
	if bytes == r.lastBytes {
		return nil
	}
	r.lastBytes = bytes
	if r.flushAll {
		return r.flushAllIfFull()
	}
	return r.flushLargestIfFull()
}

// flushAllIfFull flushes all memtables when the active ones hold half of the budget. The other half is
// for those being flushed.
func (r *recovery) flushAllIfFull() error {
	db := r.db
	db.mu.Lock()
	active := db.memTableBytes.Load() - db.frozenBytes
	db.mu.Unlock()
	if active <= db.opt.MemtableBytes/2 {
		return nil
	}
	return r.startFlushAll()
}

// startFlushAll starts to flush all that was read, after the flush under way.
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

// flushLargestIfFull flushes the largest memtables when all together hold too much. It waits for the
// flush under way only when they hold the whole budget.
func (r *recovery) flushLargestIfFull() error {
	db := r.db
	db.mu.Lock()
	frozen := db.freezeLargestLocked(db.memTableBytes.Load())
	waiting := len(db.frozen) > 0
	db.mu.Unlock()
	if frozen {
		r.inserter.submit()
	}
	if r.flush != nil {
		if waiting && db.memTableBytes.Load() < db.opt.MemtableBytes && len(r.flush) == 0 {
			return nil // the flush is under way, and there is room
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

// startFlushLargest starts to flush what is frozen. Before that, all inserts are done and the copies
// are durable.
func (r *recovery) startFlushLargest() {
	db := r.db
	db.mu.Lock()
	db.visible.Store(db.lastSeq)
	list := db.nextFlushLocked()
	db.mu.Unlock()
	if len(list) == 0 {
		return
	}
	durable := r.copier.barrier()
	r.startFlush(func() error {
		if err := <-durable; err != nil {
			return err
		}
		r.flushed = true // read after r.flush has the outcome
		return db.flush(list)
	})
}

// startFlush starts a flush once all that was read is in the memtables.
func (r *recovery) startFlush(flush func() error) {
	inserted := r.inserter.barrier()
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
