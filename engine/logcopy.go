package engine

import "fmt"

// The second half of a recovery: what was read is written again, so that it is
// durable whatever the disk had of it.

// copySync is how many bytes are copied between two syncs: the disk works while
// the next ones are read.
const copySync = 4 << 20

// copy appends a batch to the copies.
func (r *recovery) copy(seq uint64, payload []byte) error {
	if r.writer == nil || int64(len(payload)) > r.writer.Room() {
		if err := r.nextCopy(len(payload)); err != nil {
			return err
		}
	}
	r.copies[len(r.copies)-1].maxSeq = seq
	r.writer.Append(seq, payload)
	if r.copied += int64(len(payload)); r.copied < copySync {
		return nil
	}
	r.copied = 0
	if err := r.writer.Sync(); err != nil {
		return fmt.Errorf("copy log: %w", err)
	}
	return nil
}

func (r *recovery) nextCopy(n int) error {
	db := r.db
	if err := r.finishCopies(); err != nil {
		return err
	}
	if err := db.prepareSegment(n, true); err != nil {
		return err
	}
	s := db.log.spares[0]
	db.log.spares = db.log.spares[1:]
	r.copies = append(r.copies, s)
	r.writer = s.w
	return nil
}

func (r *recovery) finishCopies() error {
	if r.writer == nil {
		return nil
	}
	w := r.writer
	r.writer, r.copied = nil, 0
	r.copies[len(r.copies)-1].w = nil
	if err := w.Finish(); err != nil {
		return fmt.Errorf("copy log: %w", err)
	}
	return nil
}

// relieve flushes memtables while they hold too much: beside the reading of the log,
// until they hold all that they may. What is flushed is durable whether or not this
// recovery gets to its end.
func (r *recovery) relieve() error {
	db := r.db
	db.mu.Lock()
	db.freezeLargestLocked()
	waiting := len(db.frozen) > 0
	db.mu.Unlock()
	if r.flush != nil {
		if waiting && db.memBytes.Load() < db.opt.MemtableBytes && len(r.flush) == 0 {
			return nil // under way, and there is room
		}
		if err := r.awaitFlush(); err != nil {
			return err
		}
	}
	if !waiting {
		return nil
	}
	return r.startFlush()
}

// startFlush begins to flush what is frozen. The copies are durable before.
func (r *recovery) startFlush() error {
	db := r.db
	if err := r.inserts.wait(); err != nil {
		return err
	}
	db.mu.Lock()
	db.visible.Store(db.lastSeq)
	list := db.nextFlushLocked()
	db.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	r.flushed = true
	if err := r.writer.Sync(); err != nil {
		return fmt.Errorf("copy log: %w", err)
	}
	done := make(chan error, 1)
	r.flush = done
	go func() { done <- db.flush(list) }()
	return nil
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

// discard removes the copies of a recovery that has failed: an open that is
// refused again and again must not fill the disk.
func (r *recovery) discard() {
	if r.writer != nil {
		r.writer.Close()
	}
	if r.flushed {
		return
	}
	for _, s := range r.copies {
		r.remove(r.db.segmentPath(s.number))
	}
}
