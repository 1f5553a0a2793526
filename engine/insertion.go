package engine

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"colonnade/internal/cores"
	"colonnade/internal/poison"
	"colonnade/memtable"
)

// insertion puts batches of the log into memtables, several at once: their order is
// in their sequence numbers, not in when they go in. Only its inserts are for other
// goroutines; the rest is for the one that reads the log.
type insertion struct {
	db      *DB
	most    int             // bytes in a load, but for one batch
	alone   int             // bytes of the largest batch that gets into a load
	full    int64           // bytes of the log in a table
	filling *load           // nil for none
	idle    chan *load      // those that are free to be filled
	ready   chan *load      // those that go in next
	pending *sync.WaitGroup // of what was handed over since the last cut

	mu  sync.Mutex
	err error // the first failure
}

// load is batches of one file on their way from the log to the memtables: many of
// them, since handing over costs as much as putting a small one in, and since rows
// that come in order find their places soon.
type load struct {
	file     string
	payloads []byte // one after another
	batches  []loadBatch
	runs     []rowRun
	open     bool       // the last of the runs has no end yet
	parts    Batch      // the partitions that they are for, with their memories
	into     []loadPart // where their entries go, for each of parts
	pending  *sync.WaitGroup
}

// loadBatch is what the runs of a batch have in common.
type loadBatch struct {
	seq  uint64
	time int64
}

// loadPart is where entries of a load for one partition go.
type loadPart struct {
	p     *partition
	table *memtable.Table
	bytes int64 // of its runs
}

// rowRun is entries of a batch that lie together and are for one row of one partition.
// It has places in the payloads of its load instead of slices, which would have to be
// looked at by the garbage collector.
type rowRun struct {
	prefix          uint64 // the row's first bytes, to compare by
	rowFrom, rowEnd uint32
	from, end       uint32
	batch           uint32 // index in batches
	part            uint32 // index in parts
}

const (
	// insertAhead is how many loads there are for each goroutine.
	insertAhead = 2
	// insertShare is the part of the memtable budget that one load may have: so what
	// is on its way is a small part of it.
	insertShare = 32
	// insertBytes is what a load has at most, but for one batch of up to insertAlone: a
	// larger one goes in where it is.
	insertBytes = 512 << 10
	insertAlone = 2 << 20
	// tableBytes is what a memory gets, as it is in the log, before it goes on with
	// another table, where that is between tableMost and tableLeast of the memtable
	// budget. In larger ones rows are farther apart than the processor's caches reach, and
	// many cost the flush that merges them. Measured: see docs/performance.md,
	// Recovery of a long log.
	tableBytes = 2 << 20
	tableMost  = 16
	tableLeast = 128
	// insertParts is from how many partitions on a load gets no other batch.
	insertParts = 64
)

// assign notes that a batch is for the partition, and returns its place in parts. It
// needs DB.mu.
func (l *load) assign(p *partition, seq uint64) (part uint32) {
	i := l.parts.touch(p.id)
	l.parts.parts[i].mem = p.active
	if i == len(l.into) {
		l.into = append(l.into, loadPart{p: p, table: p.active.last()})
	}
	if p.active.minSeq == 0 {
		p.active.minSeq = seq
	}
	p.active.maxSeq = seq
	return uint32(i)
}

// begin notes a run that begins with the entry at the given place of the batch that
// comes next, which b reads.
func (l *load) begin(b *batchReader, payload []byte, at int, part uint32) {
	base := len(l.payloads)
	end := base + len(payload) - b.left
	l.runs = append(l.runs, rowRun{
		prefix:  prefix(b.row),
		rowFrom: uint32(end - len(b.row)),
		rowEnd:  uint32(end),
		from:    uint32(base + at),
		batch:   uint32(len(l.batches)),
		part:    part,
	})
	l.open = true
}

// finish notes that the last run ends at the given place of its batch.
func (l *load) finish(at int) {
	if l.open {
		r := &l.runs[len(l.runs)-1]
		r.end = uint32(len(l.payloads) + at)
		l.into[r.part].bytes += int64(r.end - r.from)
		l.open = false
	}
}

// prefix returns the first eight bytes of a row as a number that orders as they do.
func prefix(row []byte) uint64 {
	var b [8]byte
	copy(b[:], row)
	return binary.BigEndian.Uint64(b[:])
}

func newInsertion(db *DB) *insertion {
	workers := cores.Count()
	n := workers * insertAhead
	in := &insertion{db: db, idle: make(chan *load, n), ready: make(chan *load, n), pending: new(sync.WaitGroup)}
	budget := db.opt.MemtableBytes
	in.most = int(min(insertBytes, budget/insertShare))
	in.alone = int(min(insertAlone, budget/insertShare))
	in.full = max(min(tableBytes, budget/tableMost), budget/tableLeast)
	for range n {
		in.idle <- new(load)
	}
	for range workers {
		go func() {
			for l := range in.ready {
				pending := l.pending
				in.insert(l, l.payloads)
				in.idle <- l
				pending.Done()
			}
		}()
	}
	return in
}

// fill returns the load that the next batch of a file goes into, of n bytes. Its runs
// are to be noted there, and add is to follow if it has any.
func (in *insertion) fill(file string, n int) *load {
	if l := in.filling; l != nil && (l.file != file || len(l.payloads)+n > in.most || len(l.parts.parts) >= insertParts) {
		in.handOver()
	}
	if in.filling == nil {
		in.filling = <-in.idle
		in.filling.file = file
	}
	return in.filling
}

// add lets a batch go in, at the latest before the wait of the next cut returns. It
// keeps nothing of payload: one that is too large for a load is in when it returns.
func (in *insertion) add(seq uint64, payload []byte) {
	l := in.filling
	l.batches = append(l.batches, loadBatch{seq, batchTime(payload)})
	if len(payload) > in.alone {
		in.nextTables(l)
		in.insert(l, payload)
		return
	}
	l.payloads = append(l.payloads, payload...)
}

// handOver lets go in what was added. It comes before a partition gets another
// memory, or table.
func (in *insertion) handOver() {
	if in.filling != nil {
		in.nextTables(in.filling)
		in.filling.pending = in.pending
		in.pending.Add(1)
		in.ready <- in.filling
		in.filling = nil
	}
}

// nextTables lets memories go on with another table whose last one is full with this
// load. Nobody reads before the memory is frozen, which publishes them.
func (in *insertion) nextTables(l *load) {
	db := in.db
	db.mu.Lock()
	defer db.mu.Unlock()
	for i := range l.into {
		m, part := l.parts.parts[i].mem, &l.into[i]
		if m.logged += part.bytes; m.logged >= in.full && part.p.active == m {
			m.tables, m.logged = append(m.tables, memtable.New()), 0
		}
	}
}

// cut returns what waits until all are in that were added since the cut before.
func (in *insertion) cut() (wait func() error) {
	in.handOver()
	pending := in.pending
	in.pending = new(sync.WaitGroup)
	return func() error {
		pending.Wait()
		in.mu.Lock()
		defer in.mu.Unlock()
		return in.err
	}
}

// end waits for what was added since the last cut, and ends the goroutines.
func (in *insertion) end() error {
	err := in.cut()()
	close(in.ready)
	return err
}

// insert puts the batches of a load into the memtables, in the order of the rows, and
// empties it.
func (in *insertion) insert(l *load, payloads []byte) {
	if err := l.insert(payloads); err != nil {
		in.mu.Lock()
		if in.err == nil {
			in.err = err
		}
		in.mu.Unlock()
	}
	in.db.mu.Lock()
	for i := range l.parts.parts {
		in.db.accountMemTable(l.parts.parts[i].mem)
	}
	in.db.mu.Unlock()
	clear(l.into)
	l.into = l.into[:0]
	poison.Bytes(l.payloads)
	l.payloads, l.batches, l.runs = l.payloads[:0], l.batches[:0], l.runs[:0]
	l.parts.Reset()
}

func (l *load) insert(payloads []byte) (err error) {
	var batch loadBatch
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("insert: %v", p)
		}
		if err != nil {
			err = &CorruptError{File: l.file, Offset: -1, Reason: fmt.Sprintf("batch %d: %v", batch.seq, err)}
		}
	}()
	row := func(r *rowRun) []byte { return payloads[r.rowFrom:r.rowEnd] }
	slices.SortFunc(l.runs, func(a, b rowRun) int {
		switch {
		case a.part != b.part:
			return cmp.Compare(a.part, b.part)
		case a.prefix != b.prefix:
			return cmp.Compare(a.prefix, b.prefix)
		}
		if c := bytes.Compare(row(&a), row(&b)); c != 0 {
			return c
		}
		return cmp.Compare(a.from, b.from) // of the same version in a batch, the later one counts
	})
	for i := range l.runs {
		r := &l.runs[i]
		p := &l.parts.parts[r.part]
		p.ins.Ascending = true
		batch = l.batches[r.batch]
		in := batchReader{rest: payloads[r.from:r.end], time: batch.time, partition: p.id, row: row(r)}
		for in.next() {
			in.cell.Seq = batch.seq
			p.ins.Add(l.into[r.part].table, in.row, &in.cell)
		}
		if in.err != nil {
			return in.err
		}
	}
	return nil
}
