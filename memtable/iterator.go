package memtable

import (
	"bytes"
	"sync"
	"unsafe"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/internal/prefetch"
)

const (
	// A run of Cells ends at the first of these bounds, so a merge of sources needs bounded memory.
	maxRunCells = 512
	maxRunBytes = 1 << 20 // of values

	// maxSteps is how many steps SeekRow goes forward before it searches. A step costs about as
	// much as one level of a search.
	maxSteps = 4

	// prefetchBytes is how many bytes are prefetched from a row's first entry on: ten small entries,
	// which are adjacent if one batch has written them.
	prefetchBytes = 1 << 10
)

// ReadOptions control an iterator.
type ReadOptions struct {
	Columns  *cell.Columns // nil: all
	KeysOnly bool          // leave values nil
	LeftOut  *uint64       // nil, or added to: entries of unwanted columns that Cells counts in Scanned
}

// Iterator iterates over the rows of a table, upward or downward, and the entries of each in order.
//
// It needs no locks beside inserts. It returns all entries that were there before, and may or may
// not return entries that are added meanwhile. A new Iterator is at no row; call SeekRow or
// SeekBelow first.
//
// The returned bytes belong to the table and must not be changed. They never change, and they keep
// the table's memory alive.
//
// An Iterator is for one goroutine, and must not be used after Close.
type Iterator struct {
	table    *Table
	keysOnly bool
	filter   filter
	leftOut  *uint64

	row     unsafe.Pointer // the current row, nil: none
	next    ref            // its next entry to look at, 0: none
	scanned cell.Scanned
	run     cell.Run // of the last entries of Cells

	below *rowsBelow // of an iterator that moves down, nil before the first SeekBelow
}

// iteratorPool keeps closed iterators, so that a read allocates none.
var iteratorPool = sync.Pool{New: func() any { return new(Iterator) }}

// NewIterator returns an iterator over the table.
func (t *Table) NewIterator(o ReadOptions) *Iterator {
	it := iteratorPool.Get().(*Iterator)
	*it = Iterator{table: t, keysOnly: o.KeysOnly, filter: newFilter(o.Columns), leftOut: o.LeftOut, below: it.below}
	return it
}

// Close releases the iterator.
func (it *Iterator) Close() {
	if it.table == nil {
		return
	}
	*it = Iterator{below: it.below}
	iteratorPool.Put(it)
}

// Err returns nil: reading memory does not fail.
func (it *Iterator) Err() error { return nil }

// Run describes the last entries of Cells, until the next Cells. They are known to be single-version
// if one batch has written them with one time, as is usual for a whole row: a batch has at most one
// entry of a column and time.
func (it *Iterator) Run() *cell.Run { return &it.run }

// Scanned counts the entries that Cells stepped over, returned or not. It does not count entries that
// NextRow and SeekRow skip.
func (it *Iterator) Scanned() cell.Scanned {
	n := it.scanned
	n.Read = n.Bytes
	return n
}

// Row returns the key of the current row, nil if there is none.
func (it *Iterator) Row() []byte {
	if it.row == nil {
		return nil
	}
	return key(it.row)
}

// SeekRow moves to the first row at or after row. An empty row is the start.
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

// NextRow moves to the next row. It is one step, however many entries of the current row are left.
func (it *Iterator) NextRow() {
	it.step()
	it.prefetchNext()
}

func (it *Iterator) step() {
	if it.row != nil {
		it.setRow(ref(link(it.row, 0).Load()))
	}
}

// prefetchNext prefetches what the next steps will read, while the entries of the current row are taken:
// the first entries of the next row, whose node was prefetched one row earlier, and the node of the
// row after it. Rows are sorted, but their memory is in the order of insertion, so each would be a
// cache miss.
func (it *Iterator) prefetchNext() {
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
		prefetch.Lines(a.at(first), prefetchBytes)
	}
	if after := ref(link(p, 0).Load()); after != 0 {
		prefetch.Lines(a.at(after), 1)
	}
}

// setRow makes r the current row, or the first row after it that has entries: a row is linked just
// before its first entry is.
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

// Cells appends the next run of the current row's entries, in order. It appends nothing only at the
// end of the row.
//
// It leaves out entries of unwanted columns. After a number of them it searches for the next wanted
// one. It neither returns nor counts what it skips, which may include tombstones of families that the
// read does not touch.
func (it *Iterator) Cells(dst []cell.Cell) []cell.Cell {
	if it.next == 0 {
		return dst
	}
	a := &it.table.arena
	rowLen := uint64(len(key(it.row)))
	from, end, size := len(dst), len(dst)+maxRunCells, 0
	before := it.scanned.Cells
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
	if it.leftOut != nil {
		*it.leftOut += it.scanned.Cells - before - uint64(len(dst)-from)
	}
	it.run.EndOfRow = it.next == 0
	it.run.AllSelected = it.filter.all || it.run.SingleVersion // otherwise the filter also passes tombstones
	return dst
}

// skip searches for the next entry after a column that the filter may want.
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
