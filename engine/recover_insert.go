package engine

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/colonnade-db/colonnade/internal/cores"
	"github.com/colonnade-db/colonnade/internal/poison"
	"github.com/colonnade-db/colonnade/memtable"
)

// replayInserter puts the batches of the log into memtables, with several goroutines: sequence numbers
// give the order, not the time of the insert. Its methods are for the goroutine that reads the log.
type replayInserter struct {
	db         *DB
	maxChunk   int               // bytes of a chunk of several batches
	maxBatch   int               // bytes of the largest batch that goes into a chunk
	tableBytes int64             // bytes of the log for each table
	filling    *insertChunk      // nil for none
	free       chan *insertChunk // to fill
	ready      chan *insertChunk // to insert
	pending    *sync.WaitGroup   // for chunks submitted since the last barrier

	mu  sync.Mutex
	err error // the first failure
}

// insertChunk is a chunk of batches of one log segment. It has many batches: handing a chunk to a
// goroutine costs as much as inserting a small batch, and rows inserted in order find their places
// faster.
type insertChunk struct {
	file     string
	payloads []byte // one after another
	batches  []insertBatch
	runs     []rowRun
	open     bool        // the last run has no end yet
	parts    Batch       // its partitions and memtables
	into     []chunkPart // for each of parts
	pending  *sync.WaitGroup
}

// insertBatch is a batch of a chunk.
type insertBatch struct {
	seq  uint64
	time int64
}

// chunkPart says where the entries of a chunk for one partition go.
type chunkPart struct {
	p     *partition
	table *memtable.Table
	bytes int64 // of its runs
}

// rowRun is a run of adjacent entries of a batch for one row of one partition. It has offsets into
// the payloads of its chunk. Slices would cost the garbage collector time.
type rowRun struct {
	prefix          uint64 // the first bytes of the row
	rowFrom, rowEnd uint32
	from, end       uint32
	batch           uint32 // index in batches
	part            uint32 // index in parts
}

const (
	// chunksPerWorker is how many chunks there are for each goroutine.
	chunksPerWorker = 2
	// chunkShare is the part of the memtable budget that one chunk may hold, so that all chunks hold
	// a small part of it.
	chunkShare = 32
	// chunkBytes bounds a chunk of several batches, largestInChunk a chunk of one. A larger batch is
	// inserted by the goroutine that reads the log, without a copy.
	//
	// 512 KiB: half a GiB of small batches took 8.1, 8.0 and 8.8 s of CPU time with 0.5, 1 and 2 MiB.
	chunkBytes     = 512 << 10
	largestInChunk = 2 << 20
	// tableBytes is how many bytes of the log a memtable takes before it starts another table. It is
	// at most a tableShareMost-th and at least a tableShareLeast-th of the memtable budget. Larger
	// tables miss the CPU's caches; many tables cost time in the flush that merges them.
	//
	// 2 MiB: half a GiB of small batches took 8.0, 8.1, 8.7 and 8.9 s of CPU time with 1, 2, 4 and
	// 8 MiB, and 10.6 s with one table.
	tableBytes      = 2 << 20
	tableShareMost  = 16
	tableShareLeast = 128
	// chunkPartitions is the number of partitions from which a chunk takes no more batches.
	chunkPartitions = 64
)

// addPartition records that a batch has entries for the partition, and returns its index in parts. The
// caller holds DB.mu.
func (c *insertChunk) addPartition(p *partition, seq uint64) (part uint32) {
	i := c.parts.touch(p.id)
	c.parts.parts[i].mem = p.active
	if i == len(c.into) {
		c.into = append(c.into, chunkPart{p: p, table: p.active.last()})
	}
	if p.active.minSeq == 0 {
		p.active.minSeq = seq
	}
	p.active.maxSeq = seq
	return uint32(i)
}

// beginRun records that a run begins with the entry at an offset of the next batch, which b reads.
func (c *insertChunk) beginRun(b *batchReader, payload []byte, at int, part uint32) {
	base := len(c.payloads)
	end := base + len(payload) - b.left
	c.runs = append(c.runs, rowRun{
		prefix:  prefix(b.row),
		rowFrom: uint32(end - len(b.row)),
		rowEnd:  uint32(end),
		from:    uint32(base + at),
		batch:   uint32(len(c.batches)),
		part:    part,
	})
	c.open = true
}

// endRun records that the last run ends at an offset of its batch.
func (c *insertChunk) endRun(at int) {
	if c.open {
		r := &c.runs[len(c.runs)-1]
		r.end = uint32(len(c.payloads) + at)
		c.into[r.part].bytes += int64(r.end - r.from)
		c.open = false
	}
}

// prefix returns the first eight bytes of a row as a number of the same order.
func prefix(row []byte) uint64 {
	var b [8]byte
	copy(b[:], row)
	return binary.BigEndian.Uint64(b[:])
}

func newReplayInserter(db *DB) *replayInserter {
	workers := cores.Count()
	n := workers * chunksPerWorker
	in := &replayInserter{db: db, free: make(chan *insertChunk, n), ready: make(chan *insertChunk, n), pending: new(sync.WaitGroup)}
	budget := db.opt.MemtableBytes
	in.maxChunk = int(min(chunkBytes, budget/chunkShare))
	in.maxBatch = int(min(largestInChunk, budget/chunkShare))
	in.tableBytes = max(min(tableBytes, budget/tableShareMost), budget/tableShareLeast)
	for range n {
		in.free <- new(insertChunk)
	}
	for range workers {
		go func() {
			for c := range in.ready {
				pending := c.pending
				in.insert(c, c.payloads)
				in.free <- c
				pending.Done()
			}
		}()
	}
	return in
}

// fill returns the chunk for the next batch, of n bytes, of a segment file. The caller records the
// runs of the batch there, and calls add if it has any.
func (in *replayInserter) fill(file string, n int) *insertChunk {
	if c := in.filling; c != nil && (c.file != file || len(c.payloads)+n > in.maxChunk || len(c.parts.parts) >= chunkPartitions) {
		in.submit()
	}
	if in.filling == nil {
		in.filling = <-in.free
		in.filling.file = file
	}
	return in.filling
}

// add adds a batch to the current chunk. It is inserted before the wait of the next barrier returns. A
// batch that is too large for a chunk is inserted when add returns. add does not keep payload.
func (in *replayInserter) add(seq uint64, payload []byte) {
	c := in.filling
	c.batches = append(c.batches, insertBatch{seq, batchTime(payload)})
	if len(payload) > in.maxBatch {
		in.switchTables(c)
		in.insert(c, payload)
		return
	}
	c.payloads = append(c.payloads, payload...)
}

// submit hands the current chunk to a goroutine. Call it before a partition gets another memtable.
func (in *replayInserter) submit() {
	if in.filling != nil {
		in.switchTables(in.filling)
		in.filling.pending = in.pending
		in.pending.Add(1)
		in.ready <- in.filling
		in.filling = nil
	}
}

// switchTables starts another table in each memtable whose last one is full with this chunk. Nothing
// reads a memtable of recovery before it is frozen, which publishes its tables.
func (in *replayInserter) switchTables(c *insertChunk) {
	db := in.db
	db.mu.Lock()
	defer db.mu.Unlock()
	for i := range c.into {
		m, part := c.parts.parts[i].mem, &c.into[i]
		if m.logged += part.bytes; m.logged >= in.tableBytes && part.p.active == m {
			m.tables, m.logged = append(m.tables, memtable.New()), 0
		}
	}
}

// barrier returns a function that waits for the inserts of all batches added since the last barrier.
func (in *replayInserter) barrier() (wait func() error) {
	in.submit()
	pending := in.pending
	in.pending = new(sync.WaitGroup)
	return func() error {
		pending.Wait()
		in.mu.Lock()
		defer in.mu.Unlock()
		return in.err
	}
}

// end waits for the batches added since the last barrier, and ends the goroutines.
func (in *replayInserter) end() error {
	err := in.barrier()()
	close(in.ready)
	return err
}

// insert inserts the batches of a chunk, in the order of their rows, and empties the chunk.
func (in *replayInserter) insert(c *insertChunk, payloads []byte) {
	if err := c.insert(payloads); err != nil {
		in.mu.Lock()
		if in.err == nil {
			in.err = err
		}
		in.mu.Unlock()
	}
	in.db.mu.Lock()
	for i := range c.parts.parts {
		in.db.accountMemTable(c.parts.parts[i].mem)
	}
	in.db.mu.Unlock()
	clear(c.into)
	c.into = c.into[:0]
	poison.Bytes(c.payloads)
	c.payloads, c.batches, c.runs = c.payloads[:0], c.batches[:0], c.runs[:0]
	c.parts.Reset()
}

func (c *insertChunk) insert(payloads []byte) (err error) {
	var batch insertBatch
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("insert: %v", p)
		}
		if err != nil {
			err = &CorruptError{File: c.file, Offset: -1, Reason: fmt.Sprintf("batch %d: %v", batch.seq, err)}
		}
	}()
	row := func(r *rowRun) []byte { return payloads[r.rowFrom:r.rowEnd] }
	slices.SortFunc(c.runs, func(a, b rowRun) int {
		switch {
		case a.part != b.part:
			return cmp.Compare(a.part, b.part)
		case a.prefix != b.prefix:
			return cmp.Compare(a.prefix, b.prefix)
		}
		if order := bytes.Compare(row(&a), row(&b)); order != 0 {
			return order
		}
		return cmp.Compare(a.from, b.from) // of the same version in one batch the later entry wins
	})
	for i := range c.runs {
		r := &c.runs[i]
		p := &c.parts.parts[r.part]
		p.ins.Ascending = true
		batch = c.batches[r.batch]
		in := batchReader{rest: payloads[r.from:r.end], time: batch.time, partition: p.id, row: row(r)}
		for in.next() {
			if in.deletesRange() {
				p.mem.ranges.Add(in.deleted(batch.seq))
				continue
			}
			in.cell.Seq = batch.seq
			p.ins.Add(c.into[r.part].table, in.row, &in.cell)
		}
		if in.err != nil {
			return in.err
		}
	}
	return nil
}
