package memtable

import (
	"bytes"
	"sync"
	"unsafe"

	"colonnade/cell"
	"colonnade/internal/prefetch"
)

const (
	// A run that Cells appends ends with the first of these that is reached, so
	// that a merge of sources needs bounded memory.
	maxRunCells = 512
	maxRunBytes = 1 << 20 // of values

	// nearRows is how many steps SeekRow goes forward before it searches. A step
	// costs about as much as one level of a search.
	maxSteps = 4

	// askedAhead is how many bytes are asked for from a row's first entry on: ten small
	// ones, which lie together where one batch has brought them.
	askedAhead = 1 << 10
)

// ReadOptions says what an iterator returns.
type ReadOptions struct {
	Columns  *cell.Columns // nil: all
	KeysOnly bool          // leave values nil
}

// Iterator walks the rows of a table in order, and the entries of each.
//
// It works without locks beside inserts: an entry that is added while the
// iterator is at work may be met or not, one that was there before is met. At
// first it is at no row; SeekRow comes first.
//
// The bytes it hands out are the table's own and must not be changed. They stay
// as they are for as long as anyone holds them, but hold the table's memory.
//
// An Iterator is for one goroutine, and must not be used after Close.
type Iterator struct {
	table    *Table
	keysOnly bool
	filter   filter

	row     unsafe.Pointer // the current row, nil: none
	next    ref            // its next entry to look at, 0: none
	scanned cell.Scanned
	run     cell.Run // of the entries that Cells returned last
}

// iterators keeps closed iterators, so that a read allocates none.
var iteratorPool = sync.Pool{New: func() any { return new(Iterator) }}

// NewIterator returns an iterator over the table.
func (t *Table) NewIterator(o ReadOptions) *Iterator {
	it := iteratorPool.Get().(*Iterator)
	*it = Iterator{table: t, keysOnly: o.KeysOnly, filter: newFilter(o.Columns)}
	return it
}

// Close releases the iterator.
func (it *Iterator) Close() {
	if it.table == nil {
		return
	}
	*it = Iterator{}
	iteratorPool.Put(it)
}

// Err returns nil: reading memory does not fail.
func (it *Iterator) Err() error { return nil }

// Run describes the entries that Cells returned last, until the next Cells. They are known to be
// plain if one batch has written them with one time, as it mostly has a whole row: a batch has one
// entry of a column and time.
func (it *Iterator) Run() *cell.Run { return &it.run }

// Scanned counts the entries that Cells stepped over, left out or not. What
// NextRow and SeekRow leave behind was not looked at and does not count.
func (it *Iterator) Scanned() cell.Scanned { return it.scanned }

// Row returns the key of the current row, nil if there is none.
func (it *Iterator) Row() []byte {
	if it.row == nil {
		return nil
	}
	return key(it.row)
}

// SeekRow moves to the first row whose key is row or above. An empty row is the
// start.
func (it *Iterator) SeekRow(row []byte) {
	if it.row != nil && bytes.Compare(row, key(it.row)) > 0 {
		for range maxSteps {
			it.step()
			if it.row == nil || bytes.Compare(row, key(it.row)) <= 0 {
				return
			}
		}
	}
	var f finger
	l := it.table.rowList()
	r, _ := l.search(&searchKey{key: row}, &f)
	it.setRow(r)
}

// NextRow moves to the next row. It is one step, however many entries of the
// current row were not taken.
func (it *Iterator) NextRow() {
	it.step()
	it.askAhead()
}

func (it *Iterator) step() {
	if it.row != nil {
		it.setRow(ref(link(it.row, 0).Load()))
	}
}

// askAhead asks the processor for what the next steps will read, while the entries of the
// current row are taken: the first entries of the row behind it, whose node was asked for
// one row earlier, and the node of the row after that. Rows are in the order of their keys,
// their memory in the order in which they came, so that each would be waited for.
func (it *Iterator) askAhead() {
	if it.row == nil {
		return
	}
	a := &it.table.arena
	next := ref(link(it.row, 0).Load())
	if next == 0 {
		return
	}
	p := a.at(next)
	if first := ref(link(lowHead(p), 0).Load()); first != 0 {
		prefetch.Lines(a.at(first), askedAhead)
	}
	if after := ref(link(p, 0).Load()); after != 0 {
		prefetch.Lines(a.at(after), 1)
	}
}

// settle makes r the current row, or the first behind it that has entries: a
// row is linked just before its first entry is.
func (it *Iterator) setRow(r ref) {
	it.filter.reset()
	for ; r != 0; r = ref(link(it.row, 0).Load()) {
		it.row = it.table.arena.at(r)
		it.next = ref(link(lowHead(it.row), 0).Load())
		if it.next != 0 {
			return
		}
	}
	it.row, it.next = nil, 0
}

// Cells appends the next run of the current row's entries, in order, and
// nothing only when the row has no more.
//
// Entries whose column the read does not want are left out. Past a run of them
// it goes on by a search, and what that skips, which may include tombstones of
// families that the read does not touch, is not looked at.
func (it *Iterator) Cells(dst []cell.Cell) []cell.Cell {
	if it.next == 0 {
		return dst
	}
	a := &it.table.arena
	rowLen := uint64(len(key(it.row)))
	from, end, size := len(dst), len(dst)+maxRunCells, 0
	it.run = cell.Run{SingleVersion: true}
	for it.next != 0 && len(dst) < end && size < maxRunBytes {
		p := a.at(it.next)
		n := (*entryNode)(p)
		v := (*record)(a.at(ref(n.value.Load())))
		column := key(p)
		it.next = ref(link(p, 0).Load())
		it.scanned.Cells++
		it.scanned.Bytes += rowLen + uint64(n.keyLen) + 8 + uint64(v.length)
		if !it.filter.wants(column) {
			if it.filter.misses >= maxMisses {
				it.skip(column)
			}
			continue
		}
		var value []byte
		if !it.keysOnly {
			value = v.payload()
			size += len(value)
		}
		if len(dst) == from {
			it.run.MinSeq, it.run.MaxSeq, it.run.MinTime = n.seq, n.seq, n.time
		}
		it.run.SingleVersion = it.run.SingleVersion && v.kind == cell.Set && n.seq == it.run.MinSeq && n.time == it.run.MinTime
		dst = append(dst, cell.Cell{Column: column, Value: value, Time: n.time, Seq: n.seq, Kind: v.kind, Type: v.typ})
	}
	it.run.EndOfRow = it.next == 0
	it.run.AllSelected = it.filter.all || it.run.SingleVersion // what else the filter lets through are tombstones
	return dst
}

// skip searches for the next entry behind a column that the filter may want.
func (it *Iterator) skip(column []byte) {
	column, ok := it.filter.target(column)
	if !ok {
		it.next = 0
		return
	}
	var f finger
	l := it.table.entryList(it.row)
	it.next, _ = l.search(&searchKey{key: column, entry: true, time: cell.TombstoneTime, seq: ^uint64(0)}, &f)
}
