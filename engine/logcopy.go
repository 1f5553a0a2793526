package engine

import (
	"fmt"
	"slices"
)

// The second half of a recovery: what was read is written again, so that it is
// durable whatever the disk had of it.

// fewBytes is how much of the log is held in memory before there is a segment for it.
// A log that has no more gets one of just its size: making a whole one would take most
// of the time of an open.
const fewBytes = 1 << 20

// heldBatch is a batch that is to be copied.
type heldBatch struct {
	seq     uint64
	payload []byte
}

// copySync is how many bytes are copied between two syncs: the disk works while
// the next ones are read.
const copySync = 4 << 20

// copy has a batch copied.
func (r *recovery) copy(seq uint64, payload []byte) error {
	if r.writer != nil {
		return r.append(seq, payload)
	}
	r.few = append(r.few, heldBatch{seq, slices.Clone(payload)})
	r.fewSize += recordSize(len(payload))
	if r.fewSize < min(fewBytes, r.db.opt.SegmentBytes) {
		return nil
	}
	return r.copyFew(r.db.opt.SegmentBytes)
}

// copyFew appends the batches that were held to the copies, of which it begins the
// first.
func (r *recovery) copyFew(size int64) error {
	if len(r.few) == 0 {
		return nil
	}
	if err := r.nextCopy(size, len(r.few[0].payload)); err != nil {
		return err
	}
	for _, b := range r.few {
		if err := r.append(b.seq, b.payload); err != nil {
			return err
		}
	}
	r.few = nil
	return nil
}

// append appends a batch to the copies.
func (r *recovery) append(seq uint64, payload []byte) error {
	if int64(len(payload)) > r.writer.Room() {
		if err := r.nextCopy(r.db.opt.SegmentBytes, len(payload)); err != nil {
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

// nextCopy begins the next copy: of the given size, or with room for n bytes.
func (r *recovery) nextCopy(size int64, n int) error {
	db := r.db
	if err := r.finishCopy(); err != nil {
		return err
	}
	if err := db.prepareSegment(size, n, true); err != nil {
		return err
	}
	s := db.log.spares[0]
	db.log.spares = db.log.spares[1:]
	r.copies = append(r.copies, s)
	r.writer = s.w
	return nil
}

// finishCopies makes the copies complete.
func (r *recovery) finishCopies() error {
	if err := r.copyFew(segmentSize(r.fewSize)); err != nil {
		return err
	}
	return r.finishCopy()
}

// finishCopy finishes the copy under way.
func (r *recovery) finishCopy() error {
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
	frozen := db.freezeLargestLocked(db.memBytes.Load())
	waiting := len(db.frozen) > 0
	db.mu.Unlock()
	if frozen {
		r.inserts.handOver()
	}
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
	if err := r.copyFew(db.opt.SegmentBytes); err != nil {
		return err
	}
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
