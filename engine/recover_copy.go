package engine

import (
	"fmt"
	"sync"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/internal/poison"
	"github.com/colonnade-db/colonnade/wal"
)

// Recovery writes what it has read of the log again, so that it is durable: what was read may have
// come from a page cache that never reached the disk.

// logCopier copies batches of the log to new segments. It collects them until they fill a segment.
// Then a goroutine writes the segment, of just that size, and syncs it once. A segment gets its name
// when its content is durable, and the next one is begun when the name is durable too. So a crash
// leaves no gap in the copies. Its methods are for the goroutine that reads the log.
type logCopier struct {
	db       *DB
	maxChunk int64           // bytes of records in a segment of several batches
	filling  *copyChunk      // nil for none
	free     chan *copyChunk // to fill
	ready    chan *copyChunk // to write
	done     chan struct{}

	segments []*segment // written; of the writing goroutine until done is closed

	mu  sync.Mutex
	err error // the first failure
}

// copyChunk is the batches of one segment.
type copyChunk struct {
	payloads []byte // one after another
	batches  []copyBatch
	room     int64      // what their records take
	durable  chan error // receives the outcome; may be nil
}

// copyBatch is a batch of a copyChunk.
type copyBatch struct {
	seq  uint64
	size int
}

// copyBytes bounds the records of a segment of several batches. Two chunks are in memory.
const copyBytes = 4 << 20

func newLogCopier(db *DB) *logCopier {
	c := &logCopier{
		db:       db,
		maxChunk: min(copyBytes, segmentRoom(db.opt.SegmentBytes)),
		free:     make(chan *copyChunk, 2),
		ready:    make(chan *copyChunk, 2),
		done:     make(chan struct{}),
	}
	c.free <- new(copyChunk)
	c.free <- new(copyChunk)
	go func() {
		defer close(c.done)
		for h := range c.ready {
			err := c.failure()
			if err == nil {
				err = c.write(h)
			}
			if h.durable != nil {
				h.durable <- err
			}
			h.reset()
			c.free <- h
		}
	}()
	return c
}

// add adds a batch to the current chunk. It does not keep payload. The error may be that of an earlier
// chunk.
func (c *logCopier) add(seq uint64, payload []byte) error {
	need := recordSize(len(payload))
	full := c.filling != nil && c.filling.room+need > c.maxChunk
	if full {
		c.submit()
	}
	h := c.fill()
	h.payloads = append(h.payloads, payload...)
	h.batches = append(h.batches, copyBatch{seq, len(payload)})
	h.room += need
	if !full {
		return nil
	}
	return c.failure()
}

// barrier writes what was added, however little. The channel receives the outcome once all batches
// added so far are durable.
func (c *logCopier) barrier() <-chan error {
	durable := make(chan error, 1)
	c.fill().durable = durable
	c.submit()
	return durable
}

// end writes the last chunk and ends the goroutine.
func (c *logCopier) end() error {
	if c.filling != nil {
		c.submit()
	}
	close(c.ready)
	<-c.done
	return c.failure()
}

func (c *logCopier) fill() *copyChunk {
	if c.filling == nil {
		c.filling = <-c.free
	}
	return c.filling
}

func (c *logCopier) submit() {
	c.ready <- c.filling
	c.filling = nil
}

func (c *logCopier) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// reset empties h. It gives up the memory of an unusually large chunk.
func (h *copyChunk) reset() {
	poison.Bytes(h.payloads)
	if cap(h.payloads) > 2*copyBytes {
		h.payloads = nil
	}
	*h = copyChunk{payloads: h.payloads[:0], batches: h.batches[:0]}
}

// write writes h to a segment, unless it is empty.
func (c *logCopier) write(h *copyChunk) error {
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

func (c *logCopier) writeSegment(s *segment, h *copyChunk) error {
	fs, fill, name := c.db.opt.FS, c.db.path(manifest.LogDir, manifest.FillFile(s.number)), c.db.segmentPath(s.number)
	f, err := createReplacing(fs, fill)
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

// discard removes the copies of a recovery that has failed. Opens that fail again and again must not
// fill the disk.
func (r *recovery) discard() {
	if r.flushed {
		return
	}
	for _, s := range r.copier.segments {
		r.remove(r.db.segmentPath(s.number))
	}
}
