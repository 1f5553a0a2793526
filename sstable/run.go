package sstable

import (
	"slices"

	"colonnade/cell"
)

// The loops that take and skip the cells of the block at hand. They are all that
// a scan does for each cell, so they keep to sums and comparisons of small
// numbers.

// maxRun is the most cells that one call of Cells returns.
const maxRun = 512

// Cells appends the next run of the current row's cells to dst: at most maxRun,
// and never across a block or a value block. It appends nothing only when the
// row has no more. Columns and values are valid until the next Cells, NextRow or
// SeekRow. Cells whose column is not wanted are left out, but count as scanned.
func (it *Iterator) Cells(dst []cell.Cell) []cell.Cell {
	if !it.valid {
		return dst
	}
	n := len(dst)
	for {
		if it.next < it.end {
			dst = it.run(dst)
			if len(dst) > n || !it.valid {
				return dst
			}
			continue
		}
		if it.row+1 < it.block.rows || !it.nextBlock() {
			return dst
		}
	}
}

// run takes cells until there are maxRun, the row ends in the block, or another
// value block is needed.
func (it *Iterator) run(dst []cell.Cell) []cell.Cell {
	if it.o.Columns == nil && len(it.block.valueBlocks) == 0 {
		return it.runAll(dst)
	}
	return it.runSome(dst)
}

// runAll takes every cell of a block in which no values are kept apart.
func (it *Iterator) runAll(dst []cell.Cell) []cell.Cell {
	b := it.block
	from := it.next
	n := min(it.end-from, maxRun)
	it.next += n
	dst = slices.Grow(dst, n)
	out := dst[len(dst) : len(dst)+n]
	values, start := b.rowValuesFrom(it.row, it.first, from)
	begin, columnBytes := start, 0
	for k := range out {
		i := from + k
		id := b.columnIDs.int(i)
		kind, stamp := b.kind(i, id), b.stamp(i)
		end := b.valueEnd(i, start)
		c := &out[k]
		c.Column = b.column(id)
		c.Value = values[start:end:end]
		c.Time = int64(b.timeBase + b.times.at(stamp))
		c.Seq = b.seqBase + b.seqs.at(stamp)
		c.Kind = cell.Kind(kind >> kindShift & kindMask)
		c.Type = cell.Type(kind & typeMask)
		if c.Kind >= cell.DeleteColumn {
			c.Time = cell.TombstoneTime
		}
		columnBytes += len(c.Column)
		start = end
	}
	it.count(n, columnBytes+start-begin)
	return dst[:len(dst)+n]
}

// runSome takes the wanted cells, with values from value blocks.
func (it *Iterator) runSome(dst []cell.Cell) []cell.Cell {
	b := it.block
	from, room := it.next, maxRun
	values, start := b.rowValuesFrom(it.row, it.first, from)
	size := 0
	separate, used := len(b.valueBlocks) > 0, false
	i := from
	for ; i < it.end && room > 0; i++ {
		id := b.columnIDs.int(i)
		kind, end := b.kind(i, id), b.valueEnd(i, start)
		value := values[start:end:end]
		start = end
		class := it.classOf(id)
		size += int(class >> classShift)
		if !separate || kind&kindSeparate == 0 {
			size += len(value)
		} else {
			n, done := it.separate(&value, class, &used)
			if done {
				size -= int(class >> classShift) // not this one
				break
			}
			size += n
		}
		if class&classWanted == 0 {
			continue
		}
		room--
		dst = append(dst, b.cellAt(i, id, kind, value))
	}
	it.next = i
	it.count(i-from, size)
	return dst
}

// separate replaces a reference by the value it stands for, if the cell is
// wanted, and returns the length of the value. The run is done when the value is
// in another block than those before it, or cannot be had; used says whether the
// run has values of the block at hand.
func (it *Iterator) separate(value *[]byte, class uint32, used *bool) (n int, done bool) {
	v, ok := parseReference(*value, it.block.valueBlockCount())
	if !ok {
		it.fail(it.r.corrupt(it.index.handle(it.entry).offset, errReference))
		return 0, true
	}
	if class&classWanted == 0 || it.o.KeysOnly {
		*value = nil
		return int(v.length), false
	}
	if *used && !it.values.holds(v) {
		return 0, true
	}
	h := it.block.valueBlock(int(v.block))
	if !it.values.holds(v) {
		if err := it.values.load(it.r, h, v, it.o.Fill); err != nil {
			it.fail(err)
			return 0, true
		}
	}
	*used = true
	if *value, ok = v.in(it.values.raw); !ok {
		it.fail(it.r.corrupt(it.index.handle(it.entry).offset, errReference))
		return 0, true
	}
	return int(v.length), false
}

// skipCells counts the rest of the row's cells in the block.
func (it *Iterator) skipCells() {
	if it.next == it.end {
		return
	}
	b := it.block
	n := it.end - it.next
	values, start := b.rowValuesFrom(it.row, it.first, it.next)
	size := len(values) - start
	for i := it.next; i < it.end; i++ {
		id := b.columnIDs.int(i)
		size += b.columnLength(id)
		if len(b.valueBlocks) > 0 && b.kind(i, id)&kindSeparate != 0 {
			_, from := b.rowValuesFrom(it.row, it.first, i)
			v, ok := parseReference(values[from:b.valueEnd(i, from)], b.valueBlockCount())
			if !ok {
				it.fail(it.r.corrupt(it.index.handle(it.entry).offset, errReference))
				return
			}
			size += int(v.length) - referenceSize
		}
	}
	it.next = it.end
	it.count(n, size)
}

// count adds n cells of the current row, whose columns and values have this many
// bytes, to what was scanned.
func (it *Iterator) count(n, bytes int) {
	it.scanned.Cells += uint64(n)
	it.scanned.Bytes += uint64(n*(len(it.key)+8) + bytes)
}

// resetClass forgets the columns of the block before.
func (it *Iterator) resetClass(columns int) {
	it.class = slices.Grow(it.class[:0], columns)[:columns]
	clear(it.class)
}

// classOf returns the class of a column of the block, which the filter is asked
// for once.
func (it *Iterator) classOf(id int) uint32 {
	if it.o.Columns == nil {
		return uint32(it.block.columnLength(id))<<classShift | classWanted
	}
	if it.class[id] == 0 {
		column := it.block.column(id)
		class := uint32(classUnwanted)
		if it.o.Columns.Wants(column) {
			class = classWanted
		}
		it.class[id] = uint32(len(column))<<classShift | class
	}
	return it.class[id]
}

// values holds the value block that an iterator read last.
type values struct {
	block   uint32 // its place in the list of the cell block
	raw     []byte // nil: none
	buffers buffers
}

func (s *values) clear() { s.raw = nil }

// holds reports whether the block that v refers to is at hand.
func (s *values) holds(v reference) bool {
	return s.raw != nil && s.block == v.block
}

func (s *values) load(r *Reader, h handle, v reference, fill bool) (err error) {
	s.raw, err = r.openValueBlock(h, fill, &s.buffers)
	s.block = v.block
	return err
}
