package engine

import (
	"fmt"

	"colonnade/internal/cores"
	"colonnade/memtable"
)

const (
	// smallBatch is up to what size, in bytes, batches wait to be inserted with others of
	// their group. A larger one is inserted by its own goroutine, on whatever processor there is.
	smallBatch = 8 << 10
	// searchWidth is how many of them look for their rows at a time. A processor waits for a
	// dozen lines of memory at once.
	searchWidth = 16
)

// startInserting has the small batches of a group inserted, searchWidth at a time, by one
// goroutine for each processor, or fewer if there is not so much to do.
func (db *DB) startInserting(g *group) {
	for range min(cores.Count(), (len(g.batches)+searchWidth-1)/searchWidth) {
		db.startInserter(g)
	}
}

// startInserter has a goroutine insert small batches of a group: one that did so before, if it
// is idle by now.
func (db *DB) startInserter(g *group) {
	select {
	case db.inserters <- g:
	default:
		go db.insertLoop(g)
	}
}

// insertLoop inserts small batches of groups, of g first. While it is idle it keeps nothing of
// them.
func (db *DB) insertLoop(g *group) {
	var searches [searchWidth]memtable.Search
	for {
		db.insertSmall(g, searches[:])
		g = nil
		select {
		case g = <-db.inserters:
		case <-db.background.stop:
			return
		}
	}
}

// insertSmall puts small batches of a group into the memtables, until there are none that
// nobody has claimed.
func (db *DB) insertSmall(g *group, searches []memtable.Search) {
	for {
		end := int(g.claimed.Add(searchWidth))
		if end-searchWidth >= len(g.batches) {
			return
		}
		db.insertTogether(g, g.batches[end-searchWidth:min(end, len(g.batches))], searches)
	}
}

// insertTogether puts the small ones of these batches into the memtables, as many as there are
// searches at most. Where the first rows of several are for one table, it looks for these rows
// together.
func (db *DB) insertTogether(g *group, batches []pending, searches []memtable.Search) {
	defer clear(searches)
	for from := 0; from < len(batches); {
		var table *memtable.Table
		n, end := 0, from
		for ; end < len(batches); end++ {
			b := &batches[end]
			if !b.small() {
				continue
			}
			first := &b.parts[0] // that of the first entry
			t := first.mem.last()
			if n > 0 && t != table {
				break
			}
			table = t
			searches[n].In, searches[n].Row = &first.ins, b.firstRow()
			n++
		}
		if n > 1 {
			memtable.Locate(table, searches[:n])
		}
		for ; from < end; from++ {
			if b := &batches[from]; b.small() {
				db.insert(g, b)
			}
		}
	}
}

// insert puts the entries of a batch into the memtables. It cannot fail but for a
// fault of our own; what the memtables then hold must never be seen, and the
// group must not wait for it.
func (db *DB) insert(g *group, b *pending) {
	err := b.insert()
	for i := range b.parts {
		db.accountMemTable(b.parts[i].mem)
	}
	if err != nil {
		db.mu.Lock()
		db.failLocked(err)
		db.mu.Unlock()
	}
	if g.arrived() {
		db.mu.Lock()
		db.settleWholeLocked()
		db.mu.Unlock()
	}
}

func (b *pending) small() bool { return len(b.payload) <= smallBatch }

// firstRow returns the row of the first entry.
func (b *pending) firstRow() []byte {
	var r batchReader
	r.init(b.payload)
	r.next()
	return r.row
}

// part returns the entry of parts for a partition that the batch touches.
func (b *pending) part(id PartitionID) *batchPart {
	for i := range b.parts {
		if b.parts[i].id == id {
			return &b.parts[i]
		}
	}
	return nil
}

func (b *pending) insert() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("insert batch %d: %v", b.seq, p)
		}
	}()
	var r batchReader
	r.init(b.payload)
	p := &b.parts[0]
	table := p.mem.last()
	for r.next() {
		if r.partition != p.id {
			p = b.part(r.partition)
			table = p.mem.last()
		}
		r.cell.Seq = b.seq
		p.ins.Add(table, r.row, &r.cell)
	}
	return r.err
}
