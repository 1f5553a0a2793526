package sstable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"colonnade/cell"

	"github.com/cespare/xxhash/v2"
)

// Limits of what a file takes.
const (
	MaxKey   = 64 << 10  // bytes of a row key, and of a column
	MaxValue = 256 << 20 // bytes of a value
)

const (
	defaultBlockSize  = 32 << 10
	defaultFilterBits = 10
	maxBlockSize      = 1 << 20
)

// WriterOptions say how a file is written. The zero value of a field that is not
// the ID stands for its default.
type WriterOptions struct {
	ID          ID
	Compression Compression
	// BlockSize is the size that blocks should have before compression, 32 KiB
	// by default and at most 1 MiB. Blocks end at the end of a row if they can,
	// and stay a little below.
	BlockSize int
	// FilterBits is the size of the filter for each row, 10 by default.
	FilterBits int
}

// A Writer writes one file. It is not safe for concurrent use. It holds one
// block of cells, one of values, the index and eight bytes for each row.
//
// Each block is written with one Write. After an error the Writer is of no more
// use, and neither is what it wrote.
type Writer struct {
	w   io.Writer
	o   WriterOptions
	sum checksums
	err error

	offset uint64 // bytes written
	digest xxhash.Digest

	block     cellBuilder
	bound     bound  // of the block
	values    []byte // of the value block being filled
	index     cellBuilder
	indexRow  []byte
	rowHashes []uint64
	info      Info
	rawBlocks uint64 // bytes of the blocks written, before compression

	row    []byte    // of the last cell
	last   cell.Cell // the last cell, without its value; its column is a copy
	family int       // of info.Families: that of the last column, or -1

	raw, stored []byte // buffers
}

// A bound is the key of an index entry while its block is filled.
type bound struct {
	row    []byte
	cell   cell.Cell
	column []byte
}

// NewWriter returns a Writer for a file that w takes from its first byte to its last.
func NewWriter(w io.Writer, o WriterOptions) *Writer {
	if o.BlockSize <= 0 {
		o.BlockSize = defaultBlockSize
	}
	o.BlockSize = min(o.BlockSize, maxBlockSize)
	if o.FilterBits <= 0 {
		o.FilterBits = defaultFilterBits
	}
	t := &Writer{w: w, o: o, sum: newChecksums(o.ID)}
	t.digest.Reset()
	t.block.reset()
	t.index.reset()
	t.info = Info{
		MinSeq: math.MaxUint64, MinTime: math.MaxInt64,
		Compression: o.Compression, BlockSize: o.BlockSize, FilterBits: o.FilterBits,
	}
	if o.Compression > Zstd {
		t.err = fmt.Errorf("sstable: unknown %v", o.Compression)
	}
	return t
}

// Add adds the next cell. Cells must come in strictly ascending order of row and
// cell.Compare. The Writer keeps none of the slices.
func (t *Writer) Add(row []byte, c *cell.Cell) error {
	if t.err != nil {
		return t.err
	}
	newRow, err := t.check(row, c)
	if err != nil {
		t.err = err
		return err
	}
	if t.full(newRow) {
		if t.err = t.finishBlock(); t.err != nil {
			return t.err
		}
	}
	if t.block.cells() == 0 {
		t.setBound(row, c, newRow)
		t.block.addRow(row)
	} else if newRow {
		t.block.addRow(row)
	}
	if newRow {
		t.row = append(t.row[:0], row...)
		t.rowHashes = append(t.rowHashes, xxhash.Sum64(row))
		t.info.Rows++
	}
	t.count(row, c)
	if len(c.Value) < separateFrom {
		t.block.addCell(c, c.Value, false)
		return nil
	}
	t.err = t.addSeparate(c)
	return t.err
}

// check refuses cells that are out of order or cannot be stored.
func (t *Writer) check(row []byte, c *cell.Cell) (newRow bool, err error) {
	if err := c.Check(); err != nil {
		return false, fmt.Errorf("sstable: row %q: %w", row, err)
	}
	if len(row) == 0 || len(row) > MaxKey || len(c.Column) > MaxKey || len(c.Value) > MaxValue || c.Seq == headSeq {
		return false, fmt.Errorf("sstable: row of %d, column of %d, value of %d bytes, sequence %d: outside the limits",
			len(row), len(c.Column), len(c.Value), c.Seq)
	}
	if t.info.Cells == 0 {
		return true, nil
	}
	r := bytes.Compare(t.row, row)
	if r > 0 || r == 0 && t.last.Compare(c) >= 0 {
		return false, fmt.Errorf("sstable: cells out of order: row %q column %q after row %q column %q",
			row, c.Column, t.row, t.last.Column)
	}
	return r < 0, nil
}

// count takes a cell into the properties.
func (t *Writer) count(row []byte, c *cell.Cell) {
	p := &t.info
	p.Cells++
	p.Kinds[c.Kind]++
	p.RawBytes += uint64(c.RawSize(row))
	p.MinSeq, p.MaxSeq = min(p.MinSeq, c.Seq), max(p.MaxSeq, c.Seq)
	if c.Kind == cell.Set {
		p.MinTime, p.MaxTime = min(p.MinTime, c.Time), max(p.MaxTime, c.Time)
	}
	if p.Smallest == nil {
		p.Smallest = bytes.Clone(row)
	}
	if !bytes.Equal(t.last.Column, c.Column) {
		t.addFamily(c.Column)
	}
	column := append(t.last.Column[:0], c.Column...)
	t.last = *c
	t.last.Column, t.last.Value = column, nil
}

// addFamily notes the family of a column; a row tombstone has none.
func (t *Writer) addFamily(column []byte) {
	name, _ := cell.SplitColumn(column)
	if len(name) == 0 || len(t.info.Families) > 0 && t.info.Families[t.family] == string(name) {
		return
	}
	at, found := slices.BinarySearch(t.info.Families, string(name))
	if !found {
		t.info.Families = slices.Insert(t.info.Families, at, string(name))
	}
	t.family = at
}

// full reports whether the block has to end before the next cell. At the end of
// a row that is when another row like those in it would not fit, so that most
// rows lie in one block; inside a row, when it is half as large again.
func (t *Writer) full(newRow bool) bool {
	b := &t.block
	if b.cells() == 0 {
		return false
	}
	if newRow {
		n := b.size()
		return n+n/len(b.rowEnds) > t.o.BlockSize
	}
	return b.roughSize() > t.o.BlockSize && b.size() > t.o.BlockSize+t.o.BlockSize/2
}

// setBound notes the lower bound of the block that begins with this cell.
func (t *Writer) setBound(row []byte, c *cell.Cell, newRow bool) {
	b := &t.bound
	if newRow {
		b.row, b.cell = appendBound(b.row[:0], t.row, row), headOf()
		return
	}
	b.row, b.cell = append(b.row[:0], row...), *c
	b.column = append(b.column[:0], c.Column...)
	b.cell.Column, b.cell.Value = b.column, nil
}

// addSeparate adds a cell whose value is kept apart.
func (t *Writer) addSeparate(c *cell.Cell) error {
	if len(t.values) > 0 && (len(t.values)+len(c.Value) > t.o.BlockSize || len(c.Value) > loneFrom) {
		if err := t.finishValues(); err != nil {
			return err
		}
	}
	v := reference{uint32(len(t.block.valueBlocks)), uint32(len(t.values)), uint32(len(c.Value))}
	t.values = append(t.values, c.Value...)
	var b [referenceSize]byte
	t.block.addCell(c, v.append(b[:0]), true)
	if len(t.values) >= t.o.BlockSize {
		return t.finishValues()
	}
	return nil
}

// finishValues writes the value block that is being filled.
func (t *Writer) finishValues() error {
	h, err := t.writeBlock(t.values, t.o.Compression)
	if err != nil {
		return err
	}
	t.block.valueBlocks = append(t.block.valueBlocks, h)
	t.info.ValueBlocks++
	t.values = t.values[:0]
	if cap(t.values) > 2*maxBlockSize {
		t.values = nil
	}
	return nil
}

// finishBlock writes the cell block that is being filled, after its values.
func (t *Writer) finishBlock() error {
	if len(t.values) > 0 {
		if err := t.finishValues(); err != nil {
			return err
		}
	}
	t.raw = t.block.finish(t.raw[:0])
	h, err := t.writeBlock(t.raw, t.o.Compression)
	if err != nil {
		return err
	}
	t.info.CellBlocks++
	t.addIndex(h)
	t.block.reset()
	return nil
}

func (t *Writer) addIndex(h handle) {
	if t.index.cells() == 0 || !bytes.Equal(t.indexRow, t.bound.row) {
		t.indexRow = append(t.indexRow[:0], t.bound.row...)
		t.index.addRow(t.indexRow)
	}
	var b [handleSize]byte
	t.index.addCell(&t.bound.cell, h.append(b[:0]), false)
}

// writeBlock compresses and writes a block in its envelope.
func (t *Writer) writeBlock(raw []byte, c Compression) (handle, error) {
	t.stored, c = compress(c, t.stored, raw)
	h := handle{t.offset, uint32(len(t.stored))}
	t.stored = t.sum.appendTrailer(t.stored, t.offset, c, len(raw))
	t.rawBlocks += uint64(len(raw))
	err := t.write(t.stored)
	if cap(t.stored) > 4*maxBlockSize {
		t.stored = nil
	}
	return h, err
}

func (t *Writer) write(p []byte) error {
	n, err := t.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("write sstable %d: %w", t.o.ID.Number, err)
	}
	t.offset += uint64(len(p))
	t.digest.Write(p)
	return nil
}

// Size is how long the file would be, about, if it were finished now. The
// blocks that are being filled count as if they compressed like those before.
func (t *Writer) Size() int64 {
	pending := uint64(t.block.roughSize() + len(t.values))
	if t.rawBlocks > 0 {
		pending = uint64(float64(pending) * min(float64(t.offset)/float64(t.rawBlocks), 1))
	}
	filter := uint64(len(t.rowHashes)*t.o.FilterBits/8 + lineSize)
	return int64(t.offset + pending + uint64(t.index.roughSize()) + filter + 8*propertyNumbers + footerSize)
}

// Finish writes what is left: the last blocks, filter, index, properties and
// footer. It neither syncs nor closes. A file must have at least one cell.
func (t *Writer) Finish() (Info, error) {
	if t.err != nil {
		return Info{}, t.err
	}
	t.err = t.finish()
	if t.err != nil {
		return Info{}, t.err
	}
	t.err = errors.New("sstable: the writer is finished")
	return t.info, nil
}

func (t *Writer) finish() error {
	if t.info.Cells == 0 {
		return errors.New("sstable: a file without cells")
	}
	if err := t.finishBlock(); err != nil {
		return err
	}
	p := &t.info
	p.Largest = bytes.Clone(t.row)
	p.Tombstones = p.Cells - p.Kinds[cell.Set]
	if p.Kinds[cell.Set] == 0 {
		p.MinTime = 0
	}
	f := footer{id: t.o.ID}
	if err := t.finishTail(&f); err != nil {
		return err
	}
	f.size = t.offset + footerSize
	if err := t.write(f.append(t.raw[:0])); err != nil {
		return err
	}
	p.Size, p.Checksum = int64(t.offset), t.digest.Sum64()
	return nil
}

// finishTail writes the blocks that the footer points to.
func (t *Writer) finishTail(f *footer) (err error) {
	rows := newFilter(len(t.rowHashes), t.o.FilterBits)
	for _, h := range t.rowHashes {
		rows.add(h)
	}
	t.raw = rows.append(t.raw[:0])
	if f.filter, err = t.writeBlock(t.raw, None); err != nil {
		return err
	}
	t.raw = t.index.finish(t.raw[:0])
	if len(t.raw) > maxIndex {
		return fmt.Errorf("sstable: %d blocks are too many for one file", t.info.CellBlocks)
	}
	if f.index, err = t.writeBlock(t.raw, t.o.Compression); err != nil {
		return err
	}
	t.raw = t.info.append(t.raw[:0])
	f.properties, err = t.writeBlock(t.raw, None)
	return err
}
