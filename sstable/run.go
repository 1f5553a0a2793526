package sstable

import (
	"bytes"
	"math"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
)

// The loops over the cells of the current block. A scan does nothing else for each cell,
// so they only add and compare small numbers.

// maxRunCells is the most cells that one call of Cells returns.
const maxRunCells = 512

// Cells appends the next run of the current row's cells to dst: at most maxRunCells,
// from one block, and from at most one small and one large block. It appends nothing
// only if the row has no more cells. Columns and values are valid until the next
// Cells, NextRow or SeekRow. Cells whose column is not selected are left out, but
// count as scanned.
func (it *Iterator) Cells(dst []cell.Cell) []cell.Cell {
	if it.valid && it.selectsAllColumns && it.next == it.first && it.next+1 == it.end && it.block.allSmallSets {
		return it.runSingleCell(dst)
	}
	n := len(dst)
	for it.valid {
		if it.next < it.end {
			it.lastRun.SingleVersion, it.lastRun.AllSelected = false, it.selectsAllColumns
			dst = it.run(dst)
			if len(dst) > n {
				it.lastRun.EndOfRow = it.valid && it.next == it.end && (it.row+1 < it.block.rows || !it.continues())
				break
			}
		} else if it.row+1 < it.block.rows || !it.nextBlock() {
			break
		}
	}
	return dst
}

// continues reports whether the current row, the last of the current block, has cells in
// the next one.
func (it *Iterator) continues() bool {
	return it.index.continues(it.entry+1, it.key) > it.entry+1
}

// run appends cells up to maxRunCells, the end of the row in the block, or the end of the
// loaded value block.
func (it *Iterator) run(dst []cell.Cell) []cell.Cell {
	switch {
	case it.block.largeCount > 0:
		return it.runLarge(dst)
	case it.selectsAllColumns:
		return it.runAll(dst)
	}
	return it.runSelected(dst)
}

// runAll appends all cells, in a block without large values and with all columns
// selected.
func (it *Iterator) runAll(dst []cell.Cell) []cell.Cell {
	b, raw := it.block, it.block.raw
	base, start := b.rowValue(it.row, it.first), b.valueStart(it.first, it.next)
	values, limit := []byte(nil), math.MaxInt
	if !it.o.KeysOnly {
		if !it.small.has(base+start) && !it.small.load(it, base+start) {
			return dst
		}
		values, limit = it.small.raw, it.small.to-base
		base -= it.small.from // from here on relative to values
	}
	n := min(it.end-it.next, maxRunCells)
	dst = slices.Grow(dst, n)
	out := dst[len(dst) : len(dst)+n]
	if b.allSmallSets && b.sameVersion(it.next, it.next+n) && it.valuesEnd(it.next+n) <= limit {
		it.runOneVersion(out, values, base, start)
		return dst[:len(dst)+n]
	}
	begin, columnBytes := start, 0
	last, time, seq := -1, int64(0), uint64(0) // of the cell before
	known := cell.Run{DictionaryID: it.lastRun.DictionaryID, AllSelected: true, MinSeq: math.MaxUint64, MinTime: math.MaxInt64}
	same, before := false, -1
	kinds := byte(0)
	for k := range out {
		i := it.next + k
		end := b.valueEnd(i, start)
		if end > limit {
			n = k
			break
		}
		id := b.columnIDs.int(raw, i)
		kind, version := b.kind(i, id), b.versionID(i)
		c := &out[k]
		c.Column = it.columns[id]
		if values != nil {
			c.Value = values[base+start : base+end : base+end]
		} else {
			c.Value = nil
		}
		if version != last {
			time = int64(b.timeBase + b.times.at(raw, version))
			seq = b.seqBase + b.seqs.at(raw, version)
			last = version
			known.MinSeq, known.MaxSeq = min(known.MinSeq, seq), max(known.MaxSeq, seq)
			known.MinTime = min(known.MinTime, time)
		}
		c.Time, c.Seq = time, seq
		c.Kind = cell.Kind(kind >> kindShift)
		c.Type = cell.Type(kind & typeMask)
		c.ColumnID = uint32(id) + 1
		kinds |= kind
		same = same || id == before
		before = id
		if c.Kind >= cell.DeleteColumn {
			c.Time = cell.TombstoneTime
		}
		columnBytes += len(c.Column)
		start = end
	}
	if n == 0 {
		it.fail(it.r.corrupt(it.index.handle(it.entry).offset, errSmall))
		return dst
	}
	known.SingleVersion = kinds>>kindShift == 0 && !same
	it.lastRun = known
	it.next += n
	it.count(n, columnBytes+start-begin)
	return dst[:len(dst)+n]
}

// runOneVersion fills out with small Sets of the same version, as the cells of a row are if
// one batch wrote them. Their values are in values, if needed, at base plus an offset
// in the row, which is start for the first. The loop reads the block through local
// variables: a store into out could change the block, as far as the compiler knows.
func (it *Iterator) runOneVersion(out []cell.Cell, values []byte, base, start int) {
	b, raw, columns, kinds := it.block, it.block.raw, it.columns, it.block.kinds
	version := b.versionID(it.next)
	time, seq := int64(b.timeBase+b.times.at(raw, version)), b.seqBase+b.seqs.at(raw, version)
	ids, ends, length := b.columnIDs, b.valueEnds, b.valueLength
	begin, columnBytes, same, before := start, 0, false, -1
	i := it.next
	for k := range out {
		id := ids.int(raw, i)
		end := start + length
		if length < 0 {
			end = ends.int(raw, i)
		}
		column, value := columns[id], []byte(nil)
		if values != nil {
			value = values[base+start : base+end : base+end]
		}
		c := &out[k]
		c.Column, c.Value, c.Time, c.Seq = column, value, time, seq
		c.Kind, c.Type, c.ColumnID = cell.Set, cell.Type(kinds[id]), uint32(id)+1
		columnBytes += len(column)
		same = same || id == before
		before, start = id, end
		i++
	}
	r := &it.lastRun
	r.AllSelected, r.SingleVersion = true, !same
	r.MinSeq, r.MaxSeq, r.MinTime = seq, seq, time
	it.next = i
	it.count(len(out), columnBytes+start-begin)
}

// runSingleCell appends the only cell of a row in the current block, which has only small
// Sets and all columns selected. It skips what runAll and runOneVersion have to find out:
// a scan of such rows takes 0.62 of the time.
func (it *Iterator) runSingleCell(dst []cell.Cell) []cell.Cell {
	b, raw, i := it.block, it.block.raw, it.next
	start, length := b.rowValue(it.row, i), b.valueEnd(i, 0)
	var value []byte
	if !it.o.KeysOnly {
		s := &it.small
		if !s.has(start) && !s.load(it, start) {
			return dst
		}
		from, to := start-s.from, start-s.from+length
		if to > len(s.raw) {
			it.fail(it.r.corrupt(it.index.handle(it.entry).offset, errSmall))
			return dst
		}
		value = s.raw[from:to:to]
	}
	n := len(dst)
	dst = slices.Grow(dst, 1)[:n+1]
	id, version := b.columnIDs.int(raw, i), b.versionID(i)
	column := it.columns[id]
	time, seq := int64(b.timeBase+b.times.at(raw, version)), b.seqBase+b.seqs.at(raw, version)
	c := &dst[n]
	c.Column, c.Value, c.Time, c.Seq = column, value, time, seq
	c.Kind, c.Type, c.ColumnID = cell.Set, cell.Type(b.kinds[id]), uint32(id)+1
	r := &it.lastRun
	r.AllSelected, r.SingleVersion = true, true
	r.MinSeq, r.MaxSeq, r.MinTime = seq, seq, time
	r.EndOfRow = it.row+1 < b.rows || !it.continues()
	it.next = i + 1
	it.count(1, len(column)+length)
	return dst
}

// valuesEnd returns where the small values of the cells before i end, relative to the row's
// values. The row has at least one of these cells.
func (it *Iterator) valuesEnd(i int) int {
	return it.block.valueEnd(i-1, it.block.valueStart(it.first, i-1))
}

// runSelected appends the selected cells of a block without large values. Of the others it
// reads only the column.
func (it *Iterator) runSelected(dst []cell.Cell) []cell.Cell {
	b, raw := it.block, it.block.raw
	base, columnBytes, room := b.rowValue(it.row, it.first), 0, maxRunCells
	var used usedValues
	i := it.next
	for ; i < it.end && room > 0; i++ {
		id := b.columnIDs.int(raw, i)
		class := it.columnClass[id]
		if class == 0 {
			class = it.classify(id)
		}
		if class&classSelected != 0 {
			kind, start := b.kind(i, id), b.valueStart(it.first, i)
			value, _, done := it.value(i, kind, base+start, base+b.valueEnd(i, start), &used)
			if done {
				break
			}
			dst = append(dst, b.cellAt(i, id, kind, value))
			room--
		}
		columnBytes += int(class >> classShift)
	}
	n := i - it.next
	size := b.valueStart(it.first, i) - b.valueStart(it.first, it.next)
	it.next = i
	it.count(n, columnBytes+size)
	it.countLeftOut(n, maxRunCells-room)
	return dst
}

// runLarge appends the selected cells of a block with large values.
func (it *Iterator) runLarge(dst []cell.Cell) []cell.Cell {
	b := it.block
	base, start := b.rowValue(it.row, it.first), b.valueStart(it.first, it.next)
	size, room := 0, maxRunCells
	var used usedValues
	i := it.next
	for ; i < it.end && room > 0; i++ {
		id := b.columnID(i)
		kind, end := b.kind(i, id), b.valueEnd(i, start)
		length := end - start
		if it.selects(id) {
			value, n, done := it.value(i, kind, base+start, base+end, &used)
			if done {
				break
			}
			dst = append(dst, b.cellAt(i, id, kind, value))
			length = n
			room--
		} else if kind&kindLarge != 0 {
			length = it.largeLength(i)
		}
		size += b.columnLength(id) + length
		start = end
	}
	n := i - it.next
	it.next = i
	it.count(n, size)
	it.countLeftOut(n, maxRunCells-room)
	return dst
}

// usedValues says whether a run has used values from a small and a large block. It must
// end before it needs another one of the same kind.
type usedValues struct {
	small, large bool
}

// value returns the value of cell i, whose small value is from start to end, and its
// length. done reports that the run ends before it: the value is in another block, or
// cannot be read.
func (it *Iterator) value(i int, kind byte, start, end int, used *usedValues) (value []byte, n int, done bool) {
	if kind&kindLarge != 0 {
		return it.largeValue(i, used)
	}
	if it.o.KeysOnly {
		return nil, end - start, false
	}
	s := &it.small
	if start < s.from || end > s.to {
		if used.small {
			return nil, 0, true
		}
		if !s.load(it, start) {
			return nil, 0, true
		}
		if end > s.to {
			it.fail(it.r.corrupt(it.index.handle(it.entry).offset, errSmall))
			return nil, 0, true
		}
	}
	used.small = true
	start, end = start-s.from, end-s.from
	return s.raw[start:end:end], end - start, false
}

func (it *Iterator) largeValue(i int, used *usedValues) (value []byte, n int, done bool) {
	v, ok := it.block.reference(i)
	if ok && it.o.KeysOnly {
		return nil, int(v.length), false
	}
	if ok {
		if used.large && !it.large.holds(v) || !it.large.load(it, v) {
			return nil, 0, true
		}
		used.large = true
		value, ok = v.slice(it.large.raw)
	}
	if !ok {
		it.fail(it.r.corrupt(it.index.handle(it.entry).offset, errReference))
		return nil, 0, true
	}
	return value, len(value), false
}

// largeLength returns the length of cell i's large value.
func (it *Iterator) largeLength(i int) int {
	v, ok := it.block.reference(i)
	if !ok {
		it.fail(it.r.corrupt(it.index.handle(it.entry).offset, errReference))
	}
	return int(v.length)
}

// skipCells counts the remaining cells of the row in the block, at least one.
func (it *Iterator) skipCells() {
	b := it.block
	start := b.valueStart(it.first, it.next)
	size := it.valuesEnd(it.end) - start
	for i := it.next; i < it.end; i++ {
		id := b.columnID(i)
		size += b.columnLength(id)
		if b.largeCount > 0 && b.kind(i, id)&kindLarge != 0 {
			size += it.largeLength(i)
		}
	}
	n := it.end - it.next
	it.next = it.end
	it.count(n, size)
}

// count adds n cells of the current row, with size bytes of columns and values, to what
// was scanned.
func (it *Iterator) count(n, size int) {
	it.scanned.Cells += uint64(n)
	it.scanned.Bytes += uint64(n*(len(it.key)+8) + size)
}

// setDictionary prepares for the columns of b, unless they are those of the block before.
func (it *Iterator) setDictionary(b *cellBlock) {
	offsets, names := b.dictionary()
	if it.dictColumns == b.columns && bytes.Equal(it.dictOffsets, offsets) && bytes.Equal(it.dictNames, names) {
		return
	}
	it.dictColumns = b.columns
	it.dictOffsets, it.dictNames = append(it.dictOffsets[:0], offsets...), append(it.dictNames[:0], names...)
	it.lastRun.DictionaryID++
	it.selectsAllColumns = it.selectsAll(b)
	if !it.selectsAllColumns {
		it.columnClass = slices.Grow(it.columnClass[:0], b.columns)[:b.columns]
		clear(it.columnClass)
		return
	}
	it.columns = slices.Grow(it.columns[:0], b.columns)[:b.columns]
	raw, ends, names := b.raw, b.columnOffsets, it.dictNames
	from := 0
	for id := range it.columns {
		to := ends.int(raw, id+1)
		it.columns[id] = names[from:to:to]
		from = to
	}
}

// maxEagerChecks limits the comparisons of columns with ranges when a block is loaded: more
// would not pay for a read of one row.
const maxEagerChecks = 64

// selectsAll reports whether every column of the block is selected, as in a scan of the
// only family of a locality group. False means unknown for large dictionaries.
func (it *Iterator) selectsAll(b *cellBlock) bool {
	if it.o.Columns == nil {
		return true
	}
	if b.columns*len(it.o.Columns.Ranges()) > maxEagerChecks {
		return false
	}
	for id := range b.columns {
		if !it.o.Columns.Contains(b.column(id)) {
			return false
		}
	}
	return true
}

// selects reports whether a column of the block is selected.
func (it *Iterator) selects(id int) bool {
	if it.selectsAllColumns {
		return true
	}
	class := it.columnClass[id]
	if class == 0 {
		class = it.classify(id)
	}
	return class&classSelected != 0
}

// classify checks a column of the block against the selected ones, once.
func (it *Iterator) classify(id int) uint32 {
	column := it.block.column(id)
	class := uint32(classSkipped)
	if it.o.Columns.Wants(column) {
		class = classSelected
	}
	it.columnClass[id] = uint32(len(column))<<classShift | class
	return it.columnClass[id]
}
