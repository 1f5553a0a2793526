// Package memtable keeps the newest entries of a partition in memory, sorted.
//
// A Table serves concurrent inserts and reads without locks. It never removes an
// entry. Its owner freezes a full table by not inserting any more, writes it to a
// sorted file, and drops it as a whole.
//
// # Structure
//
// A table is a skiplist of rows, and each row is a skiplist of its entries:
//
//	rows     head ──> "com.a/" ──────────> "com.b/" ──────────> end
//	                    │                    │
//	entries             └─> e1 ─> e2 ─> e3   └─> e1 ─> e2
//
// So a row key is stored and compared once per row, not once per entry. Going to
// the next row is one step, however wide the row. And the entries of a batch, which
// mostly share few rows, are linked next to each other.
//
// Rows ascend by key. Entries of a row are in the order of cell.Cell.Compare.
// Readers get all entries, including tombstones, whatever their sequence number.
// The engine decides what a snapshot sees.
//
// # Invariants
//
//  1. A node is written in full before a link to it is stored, and its key
//     (row, or column, time and sequence) never changes afterwards.
//  2. Nodes are never unlinked and their memory is never reused, so the links of
//     a node may be followed at any time.
//  3. A link changes only from one node to an earlier one that is inserted before
//     it, by compare-and-swap. So every level is always sorted.
//  4. A node is linked from level 0 upward: a node that can be found on a level
//     is on all levels below.
//  5. The content of an entry (kind, type, value) is one record that never
//     changes. A replacement stores the place of another record in one atomic
//     step, so a reader sees the old record or the new one, never a mixture.
//
// # Memory
//
// Nodes live in an arena of large chunks without Go pointers, linked by 32-bit
// references, so the garbage collector has nothing to scan in them. A new table
// has no chunk. The first ones, one for rows and one for entries, are 1 KiB, and each doubles up
// to 1 MiB.
package memtable

import (
	"sync/atomic"
	"unsafe"

	"github.com/colonnade-db/colonnade/cell"
)

// Table is a sorted set of entries. All methods are safe for concurrent use.
//
// A table can hold 7 GiB, whatever the sizes of its entries, and a row key,
// column or value almost 4 GiB. Owners freeze tables at a small fraction of
// that. Add panics at the limit.
type Table struct {
	rowsHead struct {
		tower [maxHeight]atomic.Uint32
		end   uint64 // the tower grows down from here, see node.go
	}
	arena arena

	entries atomic.Int64
	rows    atomic.Int64
	seeds   atomic.Uint64 // counts the generators of heights
}

// New returns an empty table. It takes no chunk of memory before the first Add.
func New() *Table {
	t := new(Table)
	t.arena.bytes.Store(int64(unsafe.Sizeof(*t)))
	return t
}

// Add inserts an entry and copies its bytes. It replaces an entry with the same
// row, column, time and sequence number: the last one of a batch counts.
//
// An Inserter is much faster for several entries of a row.
func (t *Table) Add(row []byte, c *cell.Cell) {
	var in Inserter
	in.Add(t, row, c)
}

// Bytes returns the memory of the table: its chunks, full or not, and the fixed
// part.
func (t *Table) Bytes() int64 { return t.arena.bytes.Load() }

// Len returns the number of entries, including tombstones.
func (t *Table) Len() int { return int(t.entries.Load()) }

// Rows returns the number of rows that have entries.
func (t *Table) Rows() int { return int(t.rows.Load()) }

// rowList returns the list of rows.
func (t *Table) rowList() list {
	h := unsafe.Pointer(&t.rowsHead.end)
	return list{arena: &t.arena, low: h, high: h}
}

// entryList returns the list of the entries of a row.
func (t *Table) entryList(row unsafe.Pointer) list {
	l := list{arena: &t.arena, low: lowHead(row)}
	if r := ref((*rowNode)(row).upperHead.Load()); r != 0 {
		l.high = t.arena.at(r)
	}
	return l
}
