package lsmstore

import (
	"math/bits"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol"
)

// Metrics says what a Store has done since it was opened, and what it holds. Counts never fall. The numbers
// are not of exactly one moment.
type Metrics struct {
	Engine *engine.Metrics
	Tables []TableMetrics // in no order
	Total  TableCounts    // of all tables, dropped ones included

	Keys         uint64 // entries of idempotency keys that are stored, some of them expired
	KeysUnderWay int    // that are claimed
	Moves        int    // families that move, of all tables
}

// TableMetrics describes one table.
type TableMetrics struct {
	Name          string
	ID            engine.PartitionID // of its default partition: no other table ever has it
	DiskBytes     int64
	MemtableBytes int64
	Moves         int // families that move
	TableCounts
}

// TableCounts counts reads and writes of a table.
type TableCounts struct {
	Reads         uint64 // views opened
	RowsReturned  uint64 // by queries, those for updates included
	CellsReturned uint64
	RowsScanned   uint64
	CellsScanned  uint64
	BytesScanned  uint64

	Writes         uint64 // batches that are durable, those of moves included
	RowsWritten    uint64 // in these, each once a batch, without those of moves and of deletions of ranges
	EntriesWritten uint64 // versions, tombstones, and entries of idempotency keys
	BytesWritten   uint64 // of these, encoded
}

// Add adds what o has counted.
func (c *TableCounts) Add(o *TableCounts) {
	c.Reads += o.Reads
	c.RowsReturned += o.RowsReturned
	c.CellsReturned += o.CellsReturned
	c.RowsScanned += o.RowsScanned
	c.CellsScanned += o.CellsScanned
	c.BytesScanned += o.BytesScanned
	c.Writes += o.Writes
	c.RowsWritten += o.RowsWritten
	c.EntriesWritten += o.EntriesWritten
	c.BytesWritten += o.BytesWritten
}

// Sub takes away what o has counted, which is less in each count, or the same.
func (c *TableCounts) Sub(o *TableCounts) {
	c.Reads -= o.Reads
	c.RowsReturned -= o.RowsReturned
	c.CellsReturned -= o.CellsReturned
	c.RowsScanned -= o.RowsScanned
	c.CellsScanned -= o.CellsScanned
	c.BytesScanned -= o.BytesScanned
	c.Writes -= o.Writes
	c.RowsWritten -= o.RowsWritten
	c.EntriesWritten -= o.EntriesWritten
	c.BytesWritten -= o.BytesWritten
}

// tableCounters count for a table, in shards: reads by the shard of their snapshot, writes by a row that they lock.
type tableCounters [engine.Shards]struct {
	reads, rowsReturned, cellsReturned, rowsScanned, cellsScanned, bytesScanned atomic.Uint64

	_                                   [2]uint64 // writes have a cache line of their own
	writes, rowsWritten, entries, bytes atomic.Uint64
	_                                   [4]uint64
}

// countRead counts a query that is over.
func (c *tableCounters) countRead(shard int, s widecol.Stats) {
	n := &c[shard]
	n.rowsReturned.Add(uint64(s.Rows))
	n.cellsReturned.Add(uint64(s.Cells))
	n.rowsScanned.Add(uint64(s.RowsScanned))
	n.cellsScanned.Add(uint64(s.CellsScanned))
	n.bytesScanned.Add(uint64(s.BytesScanned))
}

// countWrite counts a batch that is durable.
func (c *tableCounters) countWrite(w *writer) {
	n := &c[bits.TrailingZeros64(w.locks.shared|w.locks.alone)%len(c)]
	n.writes.Add(1)
	n.rowsWritten.Add(uint64(w.rows))
	n.entries.Add(uint64(w.batch.Len()))
	n.bytes.Add(uint64(w.batch.Bytes()))
}

func (c *tableCounters) total() (t TableCounts) {
	for i := range c {
		n := &c[i]
		t.Add(&TableCounts{
			Reads: n.reads.Load(), RowsReturned: n.rowsReturned.Load(), CellsReturned: n.cellsReturned.Load(),
			RowsScanned: n.rowsScanned.Load(), CellsScanned: n.cellsScanned.Load(), BytesScanned: n.bytesScanned.Load(),
			Writes: n.writes.Load(), RowsWritten: n.rowsWritten.Load(), EntriesWritten: n.entries.Load(), BytesWritten: n.bytes.Load(),
		})
	}
	return t
}

// Metrics returns the metrics. It waits for no disk. It may be called after Close.
func (s *Store) Metrics() *Metrics {
	m := &Metrics{Engine: s.db.Metrics()}
	sizes := make(map[engine.PartitionID]*engine.PartitionSize, len(m.Engine.Partitions))
	for i := range m.Engine.Partitions {
		p := &m.Engine.Partitions[i]
		sizes[p.ID] = p
	}
	s.mu.RLock()
	m.Total = s.dropped
	tables := make([]*table, 0, len(s.tables))
	for _, t := range s.tables {
		tables = append(tables, t)
	}
	s.mu.RUnlock()
	for _, t := range tables {
		if n, ok := t.metrics(sizes); ok {
			m.Moves += n.Moves
			m.Tables = append(m.Tables, n)
			m.Total.Add(&n.TableCounts)
		}
	}
	var keys engine.PartitionID
	keys, m.KeysUnderWay = s.keys.counts()
	if p := sizes[keys]; p != nil {
		m.Keys = p.Entries
	}
	return m
}

// metrics returns those of a table. It is not ok if the table does not exist yet, or any more.
func (t *table) metrics(sizes map[engine.PartitionID]*engine.PartitionSize) (m TableMetrics, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.damage != nil || t.exists() != nil {
		return m, false
	}
	m.Name, m.ID, m.Moves, m.TableCounts = t.name, t.data, len(t.schema.moving), t.counters.total()
	for _, id := range t.partitions() {
		if p := sizes[id]; p != nil {
			m.DiskBytes += p.DiskBytes
			m.MemtableBytes += p.MemtableBytes
		}
	}
	return m, true
}

// counts returns the partition of the keys, 0 for none, and how many are claimed.
func (k *keyring) counts() (engine.PartitionID, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.partition, len(k.underWay)
}
