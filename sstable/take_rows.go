package sstable

import (
	"math"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
)

// takenCells is about how many cells TakeRows returns.
const takenCells = 512

// longRow is how many cells a row has, on average in a block, for which TakeRows does not pay if all are selected:
// Cells has a faster loop over the cells of one row.
const longRow = 5

// TakeRows fills dst with the selected cells of the current row, of which none was returned, and of rows after it
// in its block, and moves behind the last of them. It stops before the row until, nil for none; before a row that
// has two versions of a column, or may have cells in the next block; and before one whose values are not loaded. Of
// long rows it takes none. So it may take no row, and then does not move. The cells are valid as those of Cells are.
//
// It does what Cells and NextRow do for each row, without the key of any. Where a row has one cell, that is the
// larger part of a scan.
func (it *Iterator) TakeRows(dst *cell.Rows, until []byte) {
	dst.Reset()
	if !it.valid || it.next != it.first || !it.block.allSmallSets {
		return
	}
	b := it.block
	if it.selectsAllColumns && b.cells >= longRow*b.rows {
		return
	}
	last := b.rows - 1 // it may go on in the next block, and there must be a row to move to
	if until != nil {
		last = min(last, b.findRow(until))
	}
	dst.Run = cell.Run{DictionaryID: it.lastRun.DictionaryID, EndOfRow: true, AllSelected: true, SingleVersion: true, MinSeq: math.MaxUint64, MinTime: math.MaxInt64}
	t := rowTaker{it: it, b: b, rows: dst, version: -1}
	var r, size int
	if b.cells == b.rows && it.selectsAllColumns {
		r, size = t.takeSingles(last)
	} else {
		r, size = t.takeEach(last)
	}
	if r == it.row || !it.valid {
		dst.Reset()
		return
	}
	passed := b.rowStarts.int(b.raw, r) - it.first
	it.scanned.Cells += uint64(passed)
	it.scanned.Bytes += uint64(size)
	it.countLeftOut(passed, len(dst.Cells))
	it.setRow(r)
}

// rowTaker takes the cells of one row after the other.
type rowTaker struct {
	it   *Iterator
	b    *cellBlock
	rows *cell.Rows

	version int // of the cell before, -1 for none
	time    int64
	seq     uint64
}

// takeEach takes rows from the current one up to last. It returns the row behind those that it has taken, and what they
// add to Scanned.Bytes.
func (t *rowTaker) takeEach(last int) (r, size int) {
	it, b := t.it, t.b
	r = it.row
	first, key := it.first, b.rowOffsets.int(b.raw, r)
	for r < last && len(t.rows.Cells) < takenCells {
		end := b.rowStarts.int(b.raw, r+1)
		n, ok := t.take(r, first, end)
		if !ok {
			break
		}
		r++
		next := b.rowOffsets.int(b.raw, r)
		size += n + (end-first)*(len(b.prefix)+next-key+8)
		key, first = next, end
		t.rows.Ends = append(t.rows.Ends, len(t.rows.Cells))
	}
	return r, size
}

// takeSingles is takeEach for a block with one cell in each row and all columns selected. It takes two thirds of the
// time.
func (t *rowTaker) takeSingles(last int) (r, size int) {
	it, b, raw := t.it, t.b, t.b.raw
	r = it.row
	last = min(last, r+takenCells)
	if last <= r {
		return r, 0
	}
	from := b.rowValue(r, r)
	base, values, ok := t.values(r, r, r+1)
	if !ok {
		return r, 0
	}
	base -= from
	limit := math.MaxInt
	if values != nil {
		limit = len(values) - base
	}
	key, start := b.rowOffsets.int(raw, r), from
	id, ids, ends, fixed := 0, b.columnIDs, b.rowValues, b.valueLength
	cells := slices.Grow(t.rows.Cells, last-r)[:last-r]
	list := slices.Grow(t.rows.Ends, last-r)
	for k := range cells {
		to := from + fixed
		if fixed < 0 {
			to = ends.int(raw, r+1)
		}
		if to > limit {
			cells = cells[:k]
			break
		}
		if ids.width > 0 { // not all of one column
			id = ids.int(raw, r)
		}
		if v := b.versionID(r); v != t.version {
			t.enterVersion(v)
		}
		c := &cells[k]
		c.Column, c.Time, c.Seq = it.columns[id], t.time, t.seq
		c.Kind, c.Type, c.ColumnID = cell.Set, cell.Type(b.kinds[id]), uint32(id)+1
		c.Value = nil
		if values != nil {
			c.Value = values[base+from : base+to : base+to]
		}
		size += len(c.Column)
		from = to
		r++
		list = append(list, k+1)
	}
	t.rows.Cells, t.rows.Ends = cells, list
	return r, size + from - start + len(cells)*(len(b.prefix)+8) + b.rowOffsets.int(raw, r) - key
}

// take appends the selected cells of row r, which are from first to end. It returns the bytes of columns and values of
// all. If it cannot take the whole row it appends nothing.
func (t *rowTaker) take(r, first, end int) (size int, ok bool) {
	it, b, raw := t.it, t.b, t.b.raw
	base, values, ok := t.values(r, first, end)
	if !ok {
		return 0, false
	}
	all := it.selectsAllColumns
	n := len(t.rows.Cells)
	cells := slices.Grow(t.rows.Cells, end-first)
	ids, fixed := b.columnIDs, b.valueLength
	start, before := 0, -1
	for i := first; i < end; i++ {
		id := ids.int(raw, i)
		if id == before {
			t.rows.Cells = cells[:n]
			return 0, false
		}
		before = id
		from, to := start, start+fixed
		if fixed < 0 {
			to = b.valueEnds.int(raw, i)
		}
		start = to
		var column []byte
		if all {
			column = it.columns[id]
			size += len(column)
		} else {
			class := it.columnClass[id]
			if class == 0 {
				class = it.classify(id)
			}
			size += int(class >> classShift)
			if class&classSelected == 0 {
				continue
			}
			column = b.column(id)
		}
		if v := b.versionID(i); v != t.version {
			t.enterVersion(v)
		}
		cells = cells[:len(cells)+1]
		c := &cells[len(cells)-1]
		c.Column, c.Time, c.Seq = column, t.time, t.seq
		c.Kind, c.Type, c.ColumnID = cell.Set, cell.Type(b.kinds[id]), uint32(id)+1
		c.Value = nil
		if values != nil {
			c.Value = values[base+from : base+to : base+to]
		}
	}
	t.rows.Cells = cells
	return size + start, true
}

// values returns the loaded small values, nil if none are needed, and where those of row r begin. ok is false if
// not all of the row's are loaded.
func (t *rowTaker) values(r, first, end int) (base int, values []byte, ok bool) {
	it := t.it
	if it.o.KeysOnly {
		return 0, nil, true
	}
	from, to := t.b.rowValue(r, first), t.b.rowValue(r+1, end)
	s := &it.small
	if r == it.row && !s.has(from) && !s.load(it, from) {
		return 0, nil, false
	}
	if from < s.from || to > s.to || len(s.raw) == 0 {
		return 0, nil, false
	}
	return from - s.from, s.raw, true
}

// enterVersion looks up a version, and widens the bounds of the run.
func (t *rowTaker) enterVersion(version int) {
	b, run := t.b, &t.rows.Run
	t.version = version
	t.time, t.seq = int64(b.timeBase+b.times.at(b.raw, version)), b.seqBase+b.seqs.at(b.raw, version)
	run.MinSeq, run.MaxSeq = min(run.MinSeq, t.seq), max(run.MaxSeq, t.seq)
	run.MinTime = min(run.MinTime, t.time)
}
