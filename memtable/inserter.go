package memtable

import (
	"bytes"
	"math/bits"
	"unsafe"

	"colonnade/cell"
)

// Inserter adds entries to tables and remembers where the last one went: the
// next entry of the same row, or the next row, costs a step or two instead of a
// search. Entries may come in any order. The zero Inserter is ready for use.
//
// An Inserter is for one goroutine; any number of them may work on a table at
// once. It keeps the table of its last Add alive until Reset.
type Inserter struct {
	// Ascending says that most rows come behind the one before, as in a long sorted
	// list. The search for one then begins where the last one ended, which costs
	// more where they are far apart. It may change at any time, and stays over Reset.
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

// use forgets a place in another table.
func (in *Inserter) setTable(t *Table) {
	if in.table != t {
		in.Reset()
		in.table = t
		if in.rand == 0 {
			in.rand = mix(t.seeds.Add(1))
		}
	}
}

// findRow returns the node of a row, a new one if need be.
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

// addEntry adds an entry to the row at hand, or replaces what it holds.
func (in *Inserter) addEntry(c *cell.Cell) {
	a, l := &in.table.arena, in.table.entryList(in.row)
	k := searchKey{key: c.Column, entry: true, time: c.Time, seq: c.Seq}
	r, found := in.cells.seek(&l, &k, true) // where the row has older versions, it is behind these
	if found {
		in.cells.prev[0] = r
		(*entryNode)(a.at(r)).value.Store(uint32(a.newRecord(c)))
		return
	}
	height := in.height()
	if height > lowHeight && l.high == nil {
		l.high = in.addUpperHead()
	}
	// Where another goroutine adds an entry at the same place at this moment,
	// either may be the one that counts, and theirs is linked.
	r, added := in.cells.insert(&l, &k, r, a.newEntry(height, c), height)
	in.cells.prev[0] = r
	if added {
		in.table.entries.Add(1)
	}
}

// growHead gives the row at hand its upper head.
func (in *Inserter) addUpperHead() unsafe.Pointer {
	a, head := &in.table.arena, &(*rowNode)(in.row).upperHead
	head.CompareAndSwap(0, uint32(a.newUpperHead()))
	return a.at(ref(head.Load()))
}

// height draws the height of a new node: one more with probability 1/4.
func (in *Inserter) height() int {
	in.rand += golden
	return min(1+bits.TrailingZeros64(mix(in.rand))/2, maxHeight)
}

// golden is the odd number whose multiples spread most evenly over 64 bits.
const golden = 0x9e3779b97f4a7c15

// mix scatters the bits of x, so that consecutive numbers give independent
// ones. It is the output function of the SplitMix64 generator.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
