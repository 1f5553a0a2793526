package sstable

import (
	"bytes"
	"fmt"

	"github.com/colonnade-db/colonnade/cell"
)

// verifyRow checks the cells of row r of the current block.
func (v *verifier) verifyRow(r int) error {
	b := &v.block
	v.key = b.appendRow(v.key[:0], r)
	row := v.key
	if !bytes.Equal(row, v.row) {
		v.info.beginRow(row)
		if !v.filter.MayContain(HashRow(row)) {
			return v.t.corrupt(v.t.footer.filter.offset, fmt.Errorf("filter: row %q is missing", row))
		}
	}
	first, end := b.rowCells(r)
	base, start := b.rowValue(r, first), 0
	for i := first; i < end; i++ {
		id, valueEnd := b.columnID(i), b.valueEnd(i, start)
		kind := b.kind(i, id)
		value, err := v.value(i, kind, base+start, base+valueEnd)
		if err != nil {
			return err
		}
		c := b.cellAt(i, id, kind, value)
		if err := v.verifyCell(row, &c); err != nil {
			return v.t.corrupt(v.offset, err)
		}
		start = valueEnd
	}
	return nil
}

// verifyCell checks and counts a cell, and compares it with the one before.
func (v *verifier) verifyCell(row []byte, c *cell.Cell) error {
	if v.info.Cells > 0 && comparePlace(v.row, &v.last, row, c) >= 0 {
		return fmt.Errorf("cell block: row %q column %q after row %q column %q", row, c.Column, v.row, v.last.Column)
	}
	if err := c.Check(); err != nil {
		return fmt.Errorf("cell block: row %q: %w", row, err)
	}
	v.info.count(row, c)
	v.span = v.span.Union(c.Times())
	if !bytes.Equal(c.Column, v.column) {
		v.family = v.info.addFamily(c.Column, v.family)
	}
	v.row = append(v.row[:0], row...)
	v.column = append(v.column[:0], c.Column...)
	v.last = *c
	v.last.Column, v.last.Value = v.column, nil
	return nil
}

// resetValues prepares for another cell block.
func (v *verifier) resetValues() {
	v.small, v.smallBlock, v.smallFrom, v.smallTo = nil, 0, 0, 0
	v.large, v.largeBlock, v.largeTo = nil, 0, 0
	if v.block.smallBlocks == 0 {
		v.small, v.smallTo = v.block.values, v.block.valueBytes
	}
}

// value returns the value of cell i, whose small value is from start to end.
func (v *verifier) value(i int, kind byte, start, end int) ([]byte, error) {
	if kind&kindLarge != 0 {
		return v.largeValue(i, end-start)
	}
	if start == end {
		return nil, nil
	}
	if start == v.smallTo {
		h, from, to := v.block.small(v.smallBlock)
		raw, err := v.t.readBlock(h, smallLimit(from, to), &v.smallBuffer.read, &v.smallBuffer.raw)
		if err != nil {
			return nil, err
		}
		if len(raw) != to-from {
			return nil, v.t.corrupt(h.offset, errSmall)
		}
		v.small, v.smallFrom, v.smallTo = raw, from, to
		v.smallBlock++
	}
	if start < v.smallFrom || end > v.smallTo {
		return nil, v.t.corrupt(v.offset, errSmall)
	}
	return v.small[start-v.smallFrom : end-v.smallFrom], nil
}

// largeValue returns the value of cell i, which is marked large. References must cover the
// large blocks from the first byte to the last.
func (v *verifier) largeValue(i, small int) ([]byte, error) {
	ref, ok := v.block.reference(i)
	if !ok || small != 0 {
		return nil, v.t.corrupt(v.offset, errReference)
	}
	if v.large == nil || v.largeTo == len(v.large) {
		if int(ref.block) != v.largeBlock {
			return nil, v.t.corrupt(v.offset, errReference)
		}
		raw, err := v.t.readBlock(v.block.large(v.largeBlock), MaxValue, &v.largeBuffer.read, &v.largeBuffer.raw)
		if err != nil {
			return nil, err
		}
		v.large, v.largeTo = raw, 0
		v.largeBlock++
	}
	value, ok := ref.slice(v.large)
	if !ok || int(ref.start) != v.largeTo || int(ref.block) != v.largeBlock-1 {
		return nil, v.t.corrupt(v.offset, errReference)
	}
	v.largeTo += len(value)
	return value, nil
}

// endValues checks that all value blocks were used up.
func (v *verifier) endValues() error {
	b := &v.block
	if v.largeBlock != b.largeBlocks || v.largeTo != len(v.large) || v.smallBlock != b.smallBlocks {
		return v.corrupt("cell block: not all of its value blocks are in use")
	}
	return nil
}
