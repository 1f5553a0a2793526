package engine

import (
	"fmt"

	"github.com/colonnade-db/colonnade/internal/cores"
	"github.com/colonnade-db/colonnade/memtable"
)

const (
	// smallBatch is the largest batch, in bytes, that is inserted together with others of its group.
	// The goroutine of its Commit inserts a larger one.
	smallBatch = 8 << 10
	// searchWidth is how many small batches look for their rows at a time. A CPU can wait for about a
	// dozen cache lines at once. With 1, 4, 8, 16 and 32 a row takes about 1.41, 1.38, 1.31, 1.24 and
	// 1.26 µs (BenchmarkLocate of package memtable).
	searchWidth = 16
)

// startInserting has the small batches of a group inserted, searchWidth at a time, by one goroutine per
// CPU, or fewer if there are few batches.
func (db *DB) startInserting(g *group) {
	for range min(cores.Count(), (len(g.batches)+searchWidth-1)/searchWidth) {
		db.startInserter(g)
	}
}

// startInserter wakes an idle inserter goroutine for a group, or starts one.
func (db *DB) startInserter(g *group) {
	select {
	case db.inserters <- g:
	default:
		go db.insertLoop(g)
	}
}

// insertLoop inserts small batches of groups, of g first. It refers to none of them while it is idle.
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

// insertSmall claims and inserts small batches of a group until none is left to claim.
func (db *DB) insertSmall(g *group, searches []memtable.Search) {
	for {
		end := int(g.claimed.Add(searchWidth))
		if end-searchWidth >= len(g.batches) {
			return
		}
		db.insertTogether(g, g.batches[end-searchWidth:min(end, len(g.batches))], searches)
	}
}

// AwaitRows calls wait, which waits for rows that batches are about to change, see Batch.Inserted. Those that
// have entered are inserted first, and those that enter meanwhile at once. Otherwise small batches are inserted when
// the group before theirs is synced, which may take as long as the disk likes.
func (db *DB) AwaitRows(wait func()) {
	db.mu.Lock()
	db.awaiting++
	g, batches := db.group, []pendingBatch(nil)
	if g != nil {
		batches = g.batches[min(int(g.claimed.Load()), len(g.batches)):]
		g.claimed.Store(int32(len(g.batches))) // inserters start once the group is not forming any more
	}
	db.mu.Unlock()
	for i := range batches {
		if b := &batches[i]; b.shared() {
			db.insert(g, b)
		}
	}
	wait()
	db.mu.Lock()
	db.awaiting--
	db.mu.Unlock()
}

// insertTogether inserts the small ones of these batches, at most as many as there are searches. When the
// first rows of several adjacent ones go into one table, it searches for these rows together.
func (db *DB) insertTogether(g *group, batches []pendingBatch, searches []memtable.Search) {
	defer clear(searches)
	for from := 0; from < len(batches); {
		var table *memtable.Table
		n, end := 0, from
		for ; end < len(batches); end++ {
			b := &batches[end]
			if !b.shared() {
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
			if b := &batches[from]; b.shared() {
				db.insert(g, b)
			}
		}
	}
}

// insert inserts a batch into the memTables. It fails only by a bug of ours. Then the DB turns read-only,
// because what the memTables hold must never be seen, and the group does not wait for the batch.
func (db *DB) insert(g *group, b *pendingBatch) {
	err := b.insert()
	for i := range b.parts {
		db.accountMemTable(b.parts[i].mem)
	}
	if b.done != nil {
		b.done()
	}
	if err != nil {
		db.mu.Lock()
		db.failLocked(err)
		db.mu.Unlock()
	}
	if g.arrive() {
		db.mu.Lock()
		db.settleReadyLocked()
		db.mu.Unlock()
	}
}

// shared reports whether the batch is inserted together with others, and not by the goroutine of its Commit.
// One with range tombstones is not: its first entry may have no row to look for.
func (b *pendingBatch) shared() bool {
	return !b.now && len(b.payload) <= smallBatch && b.payload[0] != rangesVersion
}

// firstRow returns the row of the first entry.
func (b *pendingBatch) firstRow() []byte {
	var r batchReader
	r.init(b.payload)
	r.next()
	return r.row
}

// part returns the entry of parts for a partition that the batch touches.
func (b *pendingBatch) part(id PartitionID) *batchPart {
	for i := range b.parts {
		if b.parts[i].id == id {
			return &b.parts[i]
		}
	}
	return nil
}

func (b *pendingBatch) insert() (err error) {
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
		if r.deletesRange() {
			p.mem.ranges.Add(r.deleted(b.seq))
			continue
		}
		r.cell.Seq = b.seq
		p.ins.Add(table, r.row, &r.cell)
	}
	return r.err
}
