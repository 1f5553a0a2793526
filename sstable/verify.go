package sstable

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"colonnade/cell"

	"github.com/cespare/xxhash/v2"
)

// Verify reads the whole file and checks all that it promises: every block and
// its checksum, that the blocks stand side by side, that the cells are valid and
// in strictly ascending order, that the index bounds the blocks, that the filter
// has every row, and that the properties say what is there. With a checksum
// other than 0, which must be the one of Finish, it checks that as well.
//
// It reads one block at a time and goes past the cache, so an io.ReaderAt that
// waits or fails can slow it down or end it.
func (t *Reader) Verify(checksum uint64) error {
	if checksum != 0 {
		if err := t.verifyChecksum(checksum); err != nil {
			return err
		}
	}
	v, err := newVerifier(t)
	if err != nil {
		return err
	}
	for e := range v.index.cells {
		if err := v.verifyBlock(e); err != nil {
			return err
		}
	}
	return v.finish()
}

func (t *Reader) verifyChecksum(want uint64) error {
	var d xxhash.Digest
	d.Reset()
	p := make([]byte, 256<<10)
	for at := int64(0); at < t.info.Size; at += int64(len(p)) {
		p = p[:min(int64(len(p)), t.info.Size-at)]
		if err := readFull(t.r, t.id.Number, p, at); err != nil {
			return err
		}
		d.Write(p)
	}
	if got := d.Sum64(); got != want {
		return t.corrupt(0, fmt.Errorf("checksum of the file is %#x, written with %#x", got, want))
	}
	return nil
}

// A verifier walks over the cells of a file and computes what the properties
// should say.
type verifier struct {
	t      *Reader
	index  index
	filter filter
	at     uint64 // where the next block has to begin

	info   Info // as found so far
	row    []byte
	last   cell.Cell
	column []byte // of last

	block         cellBlock
	buffers       buffers
	values        values
	start         int    // in the value block: where the next value has to begin
	nextReference uint32 // the value block that comes next
}

func newVerifier(t *Reader) (*verifier, error) {
	v := &verifier{t: t, info: Info{MinSeq: math.MaxUint64, MinTime: math.MaxInt64}}
	raw, err := t.readFresh(t.footer.index, maxIndex)
	if err != nil {
		return nil, err
	}
	if err := v.index.parse(raw, t.footer.filter.offset); err != nil {
		return nil, t.corrupt(t.footer.index.offset, err)
	}
	if raw, err = t.readFresh(t.footer.filter, maxFilter); err != nil {
		return nil, err
	}
	if err := v.filter.parse(raw); err != nil {
		return nil, t.corrupt(t.footer.filter.offset, err)
	}
	return v, nil
}

// verifyBlock checks the cell block of an index entry and its value blocks.
func (v *verifier) verifyBlock(entry int) error {
	h := v.index.handle(entry)
	corrupt := func(err error) error { return v.t.corrupt(h.offset, err) }
	raw, err := v.t.readBlock(h, maxCellBlock, &v.buffers)
	if err != nil {
		return err
	}
	b := &v.block
	if err := b.parse(raw); err != nil {
		return corrupt(err)
	}
	for i := range b.valueBlockCount() {
		if b.valueBlock(i).offset != v.at {
			return corrupt(errors.New("a value block does not follow the block before"))
		}
		v.at = b.valueBlock(i).end()
	}
	if h.offset != v.at {
		return corrupt(errors.New("does not follow the block before"))
	}
	v.at = h.end()
	if err := v.verifyDictionary(); err != nil {
		return corrupt(err)
	}
	if err := v.verifyBound(entry); err != nil {
		return corrupt(err)
	}
	v.nextReference = 0
	for r := range b.rows {
		if err := v.verifyRow(h, r); err != nil {
			return err
		}
	}
	if err := v.endValues(); err != nil || int(v.nextReference) != b.valueBlockCount() {
		return corrupt(errors.New("value blocks are not referred to as a whole"))
	}
	v.info.CellBlocks++
	v.info.ValueBlocks += uint64(b.valueBlockCount())
	return nil
}

// verifyDictionary checks that the columns ascend, which searches rely on.
func (v *verifier) verifyDictionary() error {
	for id := 1; id < v.block.columns; id++ {
		if bytes.Compare(v.block.column(id-1), v.block.column(id)) >= 0 {
			return errors.New("columns of the dictionary out of order")
		}
	}
	return nil
}

// verifyBound checks that the bound of the block at hand lies after the last
// cell of the block before and not after its own first cell.
func (v *verifier) verifyBound(entry int) error {
	x, b := &v.index, &v.block
	r := x.rowOf(entry)
	row := x.appendRow(nil, r)
	bound := x.cellOf(r, entry)
	first, firstRow := b.cellOf(0, 0), b.appendRow(nil, 0)
	if v.info.Cells > 0 && comparePlace(v.row, &v.last, row, &bound) >= 0 {
		return errors.New("its bound in the index is not above the block before")
	}
	if comparePlace(row, &bound, firstRow, &first) > 0 {
		return errors.New("its bound in the index is above its first cell")
	}
	if continues := bytes.Equal(firstRow, v.row); continues == x.isHead(entry) {
		return errors.New("its bound in the index does not say whether it continues a row")
	}
	return nil
}

// comparePlace orders cells by row and key.
func comparePlace(row1 []byte, c1 *cell.Cell, row2 []byte, c2 *cell.Cell) int {
	if r := bytes.Compare(row1, row2); r != 0 {
		return r
	}
	return c1.Compare(c2)
}

// verifyRow checks the cells of row r of the block at h.
func (v *verifier) verifyRow(h handle, r int) error {
	b := &v.block
	row := b.appendRow(nil, r)
	first, end := b.rowStarts.int(r), b.rowStarts.int(r+1)
	if !bytes.Equal(row, v.row) {
		v.info.Rows++
		if !v.filter.mayContain(row) {
			return v.t.corrupt(v.t.footer.filter.offset, fmt.Errorf("filter: row %q is missing", row))
		}
	}
	for i := first; i < end; i++ {
		c := b.cellOf(r, i)
		if b.kind(i, b.columnIDs.int(i))&kindSeparate != 0 {
			if err := v.resolve(h, &c); err != nil {
				return err
			}
		}
		if err := v.verifyCell(row, &c); err != nil {
			return v.t.corrupt(h.offset, err)
		}
	}
	return nil
}

// verifyCell checks one cell and its place after the one before, and counts it.
func (v *verifier) verifyCell(row []byte, c *cell.Cell) error {
	if v.info.Cells > 0 && comparePlace(v.row, &v.last, row, c) >= 0 {
		return fmt.Errorf("cells out of order: row %q column %q after row %q column %q", row, c.Column, v.row, v.last.Column)
	}
	if err := c.Check(); err != nil {
		return fmt.Errorf("row %q: %w", row, err)
	}
	p := &v.info
	p.Cells++
	p.Kinds[c.Kind]++
	p.RawBytes += uint64(c.RawSize(row))
	p.MinSeq, p.MaxSeq = min(p.MinSeq, c.Seq), max(p.MaxSeq, c.Seq)
	if c.Kind == cell.Set {
		p.MinTime, p.MaxTime = min(p.MinTime, c.Time), max(p.MaxTime, c.Time)
	}
	if family, _ := cell.SplitColumn(c.Column); len(family) > 0 {
		if at, found := slices.BinarySearch(p.Families, string(family)); !found {
			p.Families = slices.Insert(p.Families, at, string(family))
		}
	}
	if p.Smallest == nil {
		p.Smallest = bytes.Clone(row)
	}
	v.row = append(v.row[:0], row...)
	v.column = append(v.column[:0], c.Column...)
	v.last = *c
	v.last.Column, v.last.Value = v.column, nil
	return nil
}

// resolve replaces the reference of a cell by its value. References must go
// through the value blocks from the first byte to the last.
func (v *verifier) resolve(h handle, c *cell.Cell) error {
	ref, ok := parseReference(c.Value, v.block.valueBlockCount())
	if !ok {
		return v.t.corrupt(h.offset, errReference)
	}
	if !v.values.holds(ref) {
		if err := v.endValues(); err != nil || ref.block != v.nextReference {
			return v.t.corrupt(h.offset, errReference)
		}
		if err := v.loadValues(v.block.valueBlock(int(ref.block)), ref); err != nil {
			return err
		}
	}
	c.Value, ok = ref.in(v.values.raw)
	if !ok || int(ref.start) != v.start {
		return v.t.corrupt(h.offset, errReference)
	}
	v.start += int(ref.length)
	return nil
}

// loadValues reads the value block at h itself, past the cache.
func (v *verifier) loadValues(h handle, ref reference) (err error) {
	v.values.raw, err = v.t.readBlock(h, MaxValue, &v.values.buffers)
	v.values.block = ref.block
	v.nextReference = ref.block + 1
	v.start = 0
	return err
}

// endValues checks that the value block at hand has been referred to as a whole,
// and lets it go.
func (v *verifier) endValues() error {
	if v.values.raw != nil && v.start != len(v.values.raw) {
		return errReference
	}
	v.values.clear()
	return nil
}

// finish compares what was found with the properties.
func (v *verifier) finish() error {
	t := v.t
	if v.at != t.footer.filter.offset {
		return t.corrupt(v.at, errors.New("bytes between the last block and the filter"))
	}
	found, stated := &v.info, t.info
	found.Largest = v.row
	if found.Kinds[cell.Set] == 0 {
		found.MinTime = 0
	}
	found.Compression, found.BlockSize, found.FilterBits = stated.Compression, stated.BlockSize, stated.FilterBits
	if found.numbers() != stated.numbers() || !slices.Equal(found.Families, stated.Families) ||
		!bytes.Equal(found.Smallest, stated.Smallest) || !bytes.Equal(found.Largest, stated.Largest) {
		return t.corrupt(t.footer.properties.offset, errors.New("properties: not those of the cells"))
	}
	return nil
}
