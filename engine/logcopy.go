package engine

import (
	"fmt"
	"sync"

	"colonnade/engine/manifest"
	"colonnade/internal/poison"
	"colonnade/wal"
)

// The second half of a recovery: what was read is written again, so that it is
// durable whatever the disk had of it.

// copier writes batches of the log to new segments, beside the reading: it holds
// them until they fill a segment, which is made of just their size, written once and
// synced once. A segment gets its name when all of it is durable, and the next one is
// begun when that name is durable too: so of the copies that a crash leaves, none is
// missing before another. Only its writing is for another goroutine; the rest is for
// the one that reads the log.
type copier struct {
	db      *DB
	most    int64          // that the records of a segment take, but for a larger one
	filling *copyLoad      // nil for none
	idle    chan *copyLoad // those that are free to be filled
	ready   chan *copyLoad // those that are written next
	over    chan struct{}

	segments []*segment // those that are written: for others once over is closed

	mu  sync.Mutex
	err error // the first failure
}

// copyLoad is the batches of one copy.
type copyLoad struct {
	payloads []byte // one after another
	batches  []heldBatch
	room     int64      // that their records take
	durable  chan error // gets the outcome, if not nil
}

// heldBatch is a batch among others.
type heldBatch struct {
	seq  uint64
	size int
}

// copyBytes is the most that a copy has for records, but for a larger one. There are
// two of them in memory.
const copyBytes = 4 << 20

func newCopier(db *DB) *copier {
	c := &copier{
		db:    db,
		most:  min(copyBytes, segmentRoom(db.opt.SegmentBytes)),
		idle:  make(chan *copyLoad, 2),
		ready: make(chan *copyLoad, 2),
		over:  make(chan struct{}),
	}
	c.idle <- new(copyLoad)
	c.idle <- new(copyLoad)
	go func() {
		defer close(c.over)
		for h := range c.ready {
			err := c.failure()
			if err == nil {
				err = c.write(h)
			}
			if h.durable != nil {
				h.durable <- err
			}
			h.reset()
			c.idle <- h
		}
	}()
	return c
}

// add has a batch copied, and keeps nothing of payload. The error may be of one that
// was added before.
func (c *copier) add(seq uint64, payload []byte) error {
	need := recordSize(len(payload))
	full := c.filling != nil && c.filling.room+need > c.most
	if full {
		c.handOver()
	}
	h := c.fill()
	h.payloads = append(h.payloads, payload...)
	h.batches = append(h.batches, heldBatch{seq, len(payload)})
	h.room += need
	if !full {
		return nil
	}
	return c.failure()
}

// cut has everything written that was added, in however small a segment. The outcome
// comes once that, and all before, is durable.
func (c *copier) cut() <-chan error {
	durable := make(chan error, 1)
	c.fill().durable = durable
	c.handOver()
	return durable
}

// end writes the rest and ends the goroutine.
func (c *copier) end() error {
	if c.filling != nil {
		c.handOver()
	}
	close(c.ready)
	<-c.over
	return c.failure()
}

func (c *copier) fill() *copyLoad {
	if c.filling == nil {
		c.filling = <-c.idle
	}
	return c.filling
}

func (c *copier) handOver() {
	c.ready <- c.filling
	c.filling = nil
}

func (c *copier) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// reset empties h, of which it keeps no more memory than most copies need.
func (h *copyLoad) reset() {
	poison.Bytes(h.payloads)
	if cap(h.payloads) > 2*copyBytes {
		h.payloads = nil
	}
	*h = copyLoad{payloads: h.payloads[:0], batches: h.batches[:0]}
}

// write makes a segment of h, unless it is empty.
func (c *copier) write(h *copyLoad) error {
	if len(h.batches) == 0 {
		return nil
	}
	db := c.db
	db.mu.Lock()
	s := &segment{number: db.log.next, size: segmentSize(h.room), maxSeq: h.batches[len(h.batches)-1].seq}
	db.log.next++
	db.mu.Unlock()
	err := c.writeSegment(s, h)
	if err == nil {
		c.segments = append(c.segments, s)
		return nil
	}
	err = fmt.Errorf("copy log: %w", err)
	if short := shortage(err); short != nil {
		err = fmt.Errorf("%w: %w", short, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	return err
}

func (c *copier) writeSegment(s *segment, h *copyLoad) error {
	fs, fill, name := c.db.opt.FS, c.db.path(manifest.LogDir, manifest.FillFile(s.number)), c.db.segmentPath(s.number)
	f, err := createAnew(fs, fill)
	if err != nil {
		return err
	}
	w := wal.NewSingleSyncWriter(f, wal.Header{Store: c.db.store, Number: s.number, Size: s.size, Copy: true})
	rest := h.payloads
	for _, b := range h.batches {
		w.Append(b.seq, rest[:b.size])
		rest = rest[b.size:]
	}
	if err = w.Finish(); err == nil {
		err = fs.Rename(fill, name)
	}
	if err == nil {
		err = fs.SyncDir(c.db.path(manifest.LogDir))
	}
	if err != nil {
		fs.Remove(fill) // whichever of the two names it has
		fs.Remove(name)
	}
	return err
}

// discard removes the copies of a recovery that has failed: an open that is
// refused again and again must not fill the disk.
func (r *recovery) discard() {
	if r.flushed {
		return
	}
	for _, s := range r.copies.segments {
		r.remove(r.db.segmentPath(s.number))
	}
}
