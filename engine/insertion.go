package engine

import (
	"fmt"
	"runtime"
	"sync"
)

// insertion puts batches of the log into memtables, several at once: their order is
// in their sequence numbers, not in when they go in. It takes most of the time of a
// recovery.
type insertion struct {
	db      *DB
	idle    chan *replayed // those that are free to be filled
	ready   chan *replayed // those that go in next
	pending sync.WaitGroup // batches given to it

	mu  sync.Mutex
	err error // the first failure
}

// replayed is a batch on its way from the log to the memtables.
type replayed struct {
	file    string // that it was read from
	payload []byte
	batch   Batch // with the partitions that it is for
}

const (
	// insertAhead is how many batches each goroutine may have before it.
	insertAhead = 4
	// insertShare is the part of the memtable budget from which a batch goes in
	// before the next one is read: so what is on its way is a small part of it.
	insertShare = 64
)

func newInsertion(db *DB) *insertion {
	workers := runtime.GOMAXPROCS(0)
	n := workers * insertAhead
	in := &insertion{db: db, idle: make(chan *replayed, n), ready: make(chan *replayed, n)}
	for range n {
		in.idle <- new(replayed)
	}
	for range workers {
		go func() {
			for b := range in.ready {
				in.insert(b)
				in.idle <- b
				in.pending.Done()
			}
		}()
	}
	return in
}

// start lets b go in. It keeps nothing of payload.
func (in *insertion) start(b *replayed, payload []byte) {
	in.pending.Add(1)
	if int64(len(payload)) < in.db.opt.MemtableBytes/insertShare {
		b.payload = append(b.payload[:0], payload...)
		in.ready <- b
		return
	}
	kept := b.payload
	b.payload = payload
	in.insert(b)
	b.payload = kept
	in.idle <- b
	in.pending.Done()
}

// wait waits until all are in.
func (in *insertion) wait() error {
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

func (in *insertion) insert(b *replayed) {
	err := b.batch.insertLive(b.payload)
	for i := range b.batch.parts {
		in.db.account(b.batch.parts[i].mem)
	}
	if err != nil {
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.err == nil {
			in.err = &CorruptError{File: b.file, Offset: -1, Reason: fmt.Sprintf("batch %d: %v", b.batch.seq, err)}
		}
	}
}

// insertLive puts the entries of an encoded batch that are for the partitions of b
// into the memtables of these.
func (b *Batch) insertLive(payload []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("insert: %v", p)
		}
	}()
	var in batchReader
	in.init(payload)
	for in.next() {
		if part := b.part(in.partition); part != nil {
			in.cell.Seq = b.seq
			part.ins.Add(part.mem.table, in.row, &in.cell)
		}
	}
	return in.err
}
