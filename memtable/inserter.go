package memtable

import (
	"bytes"
	"math/bits"
	"unsafe"

	"github.com/colonnade-db/colonnade/cell"
)

// Inserter adds entries to tables and remembers the place of the last one. So the next entry of the
// same row, or the next row, costs a step or two instead of a search. Entries may come in any order.
// The zero Inserter is ready for use.
//
// An Inserter is for one goroutine. Several may work on a table at once. It keeps the table of its
// last Add alive until Reset.
type Inserter struct {
	// Ascending says that most rows come after the one before, as in a long sorted list. Then a
	// search starts where the last one ended, which costs more if the rows are far apart. It may
	// change at any time, and Reset keeps it.
	Ascending bool

	table *Table
	row   unsafe.Pointer // the row of the last Add
	rows  finger         // at row
	cells finger         // in row
	rand  uint64
}

// Reset forgets the table.
func (in *Inserter) Reset() {
	*in = Inserter{Ascending: in.Ascending, rand: in.rand}
}

// Add inserts an entry into the table, as Table.Add does.
func (in *Inserter) Add(t *Table, row []byte, c *cell.Cell) {
	in.setTable(t)
	if in.row == nil || !bytes.Equal(key(in.row), row) {
		in.row = in.findRow(row)
		in.cells = finger{}
	}
	in.addEntry(c)
}

// setTable forgets the place if it is in another table.
func (in *Inserter) setTable(t *Table) {
	if in.table != t {
		in.Reset()
		in.table = t
		if in.rand == 0 {
			in.rand = mix(t.seeds.Add(1))
		}
	}
}

// findRow returns the node of a row, and creates it if necessary.
func (in *Inserter) findRow(row []byte) unsafe.Pointer {
	a, l := &in.table.arena, in.table.rowList()
	k := searchKey{key: row}
	r, found := in.rows.seek(&l, &k, in.Ascending)
	if !found {
		height := in.height()
		var added bool
		if r, added = in.rows.insert(&l, &k, r, a.newRow(height, row), height); added {
			in.table.rows.Add(1)
		}
	}
	in.rows.prev[0] = r
	return a.at(r)
}

// addEntry adds an entry to the current row, or replaces the entry of the same column and time.
func (in *Inserter) addEntry(c *cell.Cell) {
	a, l := &in.table.arena, in.table.entryList(in.row)
	k := searchKey{key: c.Column, entry: true, time: c.Time, seq: c.Seq}
	r, found := in.cells.seek(&l, &k, true) // after the row's older versions
	if found {
		in.cells.prev[0] = r
		(*entryNode)(a.at(r)).value.Store(uint32(a.newRecord(c)))
		return
	}
	height := in.height()
	if height > lowHeight && l.high == nil {
		l.high = in.addUpperHead()
	}
	// If another goroutine adds the same entry now, either may win, and insert returns the other
	// one's node.
	r, added := in.cells.insert(&l, &k, r, a.newEntry(height, c), height)
	in.cells.prev[0] = r
	if added {
		in.table.entries.Add(1)
	}
}

// addUpperHead gives the current row its upper head.
func (in *Inserter) addUpperHead() unsafe.Pointer {
	a, head := &in.table.arena, &(*rowNode)(in.row).upperHead
	head.CompareAndSwap(0, uint32(a.newUpperHead()))
	return a.at(ref(head.Load()))
}

// height returns a random height for a new node: each further level with probability 1/4.
func (in *Inserter) height() int {
	in.rand += golden
	return min(1+bits.TrailingZeros64(mix(in.rand))/2, maxHeight)
}

// golden is the odd number whose multiples spread most evenly over 64 bits.
const golden = 0x9e3779b97f4a7c15

// mix turns consecutive numbers into independent ones. It is the output function of the SplitMix64
// generator.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
