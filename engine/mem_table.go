package engine

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/engine/rangedel"
	"github.com/colonnade-db/colonnade/engine/rowmerge"
	"github.com/colonnade-db/colonnade/memtable"
)

// memTable is a memtable with its place in the order of batches. A batch goes into the memTable that
// was active when it got its sequence number, so the memTables of a partition divide the order.
type memTable struct {
	// tables has one element, or several in a memTable that recovery has filled; the last one takes
	// new entries. It is changed before Open returns, with DB.mu held.
	tables   []*memtable.Table
	ranges   rangedel.Growing // range tombstones
	ranged   bool             // it has or will get some; guarded by DB.mu
	minSeq   uint64           // of its batches, 0 for none
	maxSeq   uint64
	bytes    atomic.Int64 // of tables and ranges, as counted in DB.memTableBytes
	released atomic.Bool  // flushed or dropped: not counted any more

	covered     int64 // bytes of files that ranges cover, of those looked at
	frozenBytes int64 // as counted in DB.frozenBytes
	logged      int64 // bytes of the log that recovery has put into the last table
}

func newMemTable() *memTable { return &memTable{tables: []*memtable.Table{memtable.New()}} }

// last returns the table that entries go into.
func (m *memTable) last() *memtable.Table { return m.tables[len(m.tables)-1] }

// entries returns the number of entries.
func (m *memTable) entries() (n int) {
	for _, t := range m.tables {
		n += t.Len()
	}
	return n
}

// source returns all entries.
func (m *memTable) source() rowmerge.Source {
	var list []rowmerge.Source
	for _, t := range slices.Backward(m.tables) {
		list = append(list, t.NewIterator(memtable.ReadOptions{}))
	}
	if len(list) == 1 {
		return list[0]
	}
	all := new(rowmerge.Iterator)
	all.Init(list)
	return all
}

// accountMemTable updates DB.memTableBytes after entries went into m.
func (db *DB) accountMemTable(m *memTable) {
	now := m.ranges.Bytes()
	for _, t := range m.tables {
		now += t.Bytes()
	}
	db.memTableBytes.Add(now - m.bytes.Swap(now))
	if m.released.Load() { // its partition was dropped meanwhile
		db.memTableBytes.Add(-m.bytes.Swap(0))
	}
}

// releaseMemTableLocked stops counting the bytes of m.
func (db *DB) releaseMemTableLocked(m *memTable) {
	db.frozenBytes -= m.frozenBytes
	m.released.Store(true)
	db.memTableBytes.Add(-m.bytes.Swap(0))
}

// freezeLocked makes the partition's memTable immutable and gives it a new one. Batches that have
// their sequence numbers already still go into the frozen one.
func (db *DB) freezeLocked(p *partition) {
	m := p.active
	m.frozenBytes = m.bytes.Load()
	db.frozen[p] = true
	db.frozenBytes += m.frozenBytes
	p.frozen = append(p.frozen, m)
	p.active = newMemTable()
	db.publishLocked(p)
	db.background.signalLocked()
}

// unfreezeLocked removes the oldest frozen memTable from its partition, after its flush.
func (db *DB) unfreezeLocked(p *partition, m *memTable) {
	db.releaseMemTableLocked(m)
	if p.frozen = p.frozen[1:]; len(p.frozen) == 0 {
		delete(db.frozen, p)
	}
}

// freezeLargestLocked freezes the largest memTables when the active ones hold more than half of the
// memtable budget; the other half is for those being flushed. held is the bytes of all. It freezes
// until the active ones hold three eighths, so that with thousands of small ones it does not search
// for the largest at every batch. It reports whether it has frozen any. If held is the whole budget,
// something is frozen afterwards.
func (db *DB) freezeLargestLocked(held int64) (frozen bool) {
	active := held - db.frozenBytes
	if active <= db.opt.MemtableBytes/2 {
		return false
	}
	var list []*partition
	for _, p := range db.partitions {
		if p.active.minSeq != 0 {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *partition) int { return cmp.Compare(b.active.bytes.Load(), a.active.bytes.Load()) })
	for _, p := range list {
		if active <= db.opt.MemtableBytes*3/8 {
			break
		}
		active -= p.active.bytes.Load()
		db.freezeLocked(p)
	}
	return len(list) > 0
}

// freezeOldestLocked freezes the memTables that pin the oldest log segment. It reports whether there
// is a memTable whose flush lets the segment go.
func (db *DB) freezeOldestLocked() bool {
	l := &db.log
	oldest := l.segments[0]
	if oldest.number != l.unpinned {
		for _, p := range db.partitions {
			if p.active.minSeq != 0 && p.active.minSeq <= oldest.maxSeq {
				db.freezeLocked(p)
			}
		}
		if len(l.segments) > 1 { // no more batches are assigned to it
			l.unpinned = oldest.number
		}
	}
	for p := range db.frozen {
		if p.frozen[0].minSeq <= oldest.maxSeq {
			return true
		}
	}
	return false
}

// oldestSeq returns the sequence number of the first batch that is in no file, not counting those of
// the memTable skip. It is 0 if there is none.
func (p *partition) oldestSeq(skip *memTable) uint64 {
	for _, m := range p.frozen {
		if m != skip && m.minSeq != 0 {
			return m.minSeq
		}
	}
	return p.active.minSeq
}
