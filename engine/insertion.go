package engine

import (
	"fmt"
	"runtime"
	"sync"
)

// insertion puts batches of the log into memtables, several at once: their order is
// in their sequence numbers, not in when they go in. Only its inserts are for other
// goroutines; the rest is for the one that reads the log.
type insertion struct {
	db      *DB
	most    int        // bytes in a load
	filling *load      // nil for none
	idle    chan *load // those that are free to be filled
	ready   chan *load // those that go in next
	pending sync.WaitGroup

	mu  sync.Mutex
	err error // the first failure
}

// load is batches of one file on their way from the log to the memtables: many of
// them, since handing over costs as much as putting a small one in.
type load struct {
	file     string
	payloads []byte // one after another
	batches  []struct {
		seq  uint64
		size int
	}
	parts Batch // the partitions that they are for, with their memtables
}

const (
	// insertAhead is how many loads each goroutine may have before it.
	insertAhead = 4
	// insertShare is the part of the memtable budget that one load may have: so what
	// is on its way is a small part of it.
	insertShare = 64
	// insertBytes is what a load has at most, but for one batch.
	insertBytes = 64 << 10
)

func newInsertion(db *DB) *insertion {
	workers := runtime.GOMAXPROCS(0)
	n := workers * insertAhead
	in := &insertion{db: db, idle: make(chan *load, n), ready: make(chan *load, n)}
	in.most = int(min(insertBytes, db.opt.MemtableBytes/insertShare))
	for range n {
		in.idle <- new(load)
	}
	for range workers {
		go func() {
			for l := range in.ready {
				in.insert(l)
				in.idle <- l
				in.pending.Done()
			}
		}()
	}
	return in
}

// fill returns the load that the next batch of a file goes into. The partitions that
// it is for are to be noted there, and add is to follow.
func (in *insertion) fill(file string) *load {
	if in.filling != nil && in.filling.file != file {
		in.handOver()
	}
	if in.filling == nil {
		in.filling = <-in.idle
		in.filling.file = file
	}
	return in.filling
}

// add lets a batch go in, at the latest before wait returns. It keeps nothing of
// payload: a large one is in when it returns.
func (in *insertion) add(seq uint64, payload []byte) {
	l := in.filling
	if len(payload) > in.most {
		in.insertBatch(l, seq, payload)
		in.account(l)
		return
	}
	l.payloads = append(l.payloads, payload...)
	l.batches = append(l.batches, struct {
		seq  uint64
		size int
	}{seq, len(payload)})
	if len(l.payloads) >= in.most {
		in.handOver()
	}
}

// handOver lets go in what was added. It comes before a partition gets another
// memtable.
func (in *insertion) handOver() {
	if in.filling != nil {
		in.pending.Add(1)
		in.ready <- in.filling
		in.filling = nil
	}
}

// wait waits until all are in.
func (in *insertion) wait() error {
	in.handOver()
	in.pending.Wait()
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.err
}

// end waits as well, and ends the goroutines.
func (in *insertion) end() error {
	err := in.wait()
	close(in.ready)
	return err
}

// insert puts the batches of a load into the memtables and empties it.
func (in *insertion) insert(l *load) {
	rest := l.payloads
	for _, b := range l.batches {
		in.insertBatch(l, b.seq, rest[:b.size])
		rest = rest[b.size:]
	}
	in.account(l)
	l.payloads, l.batches = l.payloads[:0], l.batches[:0]
	l.parts.Reset()
}

func (in *insertion) account(l *load) {
	for i := range l.parts.parts {
		in.db.account(l.parts.parts[i].mem)
	}
}

func (in *insertion) insertBatch(l *load, seq uint64, payload []byte) {
	l.parts.seq = seq
	if err := l.parts.insertLive(payload); err != nil {
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.err == nil {
			in.err = &CorruptError{File: l.file, Offset: -1, Reason: fmt.Sprintf("batch %d: %v", seq, err)}
		}
	}
}

// insertLive puts the entries of an encoded batch that are for the partitions of b
// into the memtables of these. Entries that are in a file already are of a batch before
// the memtable's first, even where others of the load are for the same partition.
func (b *Batch) insertLive(payload []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("insert: %v", p)
		}
	}()
	var in batchReader
	in.init(payload)
	part, last := (*batchPart)(nil), PartitionID(0)
	for in.next() {
		if in.partition != last {
			part, last = b.part(in.partition), in.partition
		}
		if part != nil && b.seq >= part.mem.minSeq {
			in.cell.Seq = b.seq
			part.ins.Add(part.mem.table, in.row, &in.cell)
		}
	}
	return in.err
}
