package sstable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"colonnade/cell"
)

// Limits of what a file takes.
const (
	MaxKey   = 64 << 10  // bytes of a row key, and of a column
	MaxValue = 256 << 20 // bytes of a value
)

const (
	defaultBlockSize  = 4 << 10
	defaultFilterBits = 10
	maxBlockSize      = 1 << 20
	// fewCells is how many cells a block should have even if their keys are long:
	// so the index, with a key for each block, stays a small part of the file.
	// For them a block grows up to longKeys times its size.
	minBlockCells  = 16
	maxBlockGrowth = 8
)

// WriterOptions say how a file is written. The zero value of a field that is not
// the ID stands for its default.
type WriterOptions struct {
	ID          ID
	Compression Compression
	// BlockSize is the size that blocks should have before compression, 4 KiB
	// by default and at most 1 MiB. Blocks end at the end of a row if they can,
	// and stay a little below, unless their keys are long.
	BlockSize int
	// FilterBits is the size of the filter for each row, 10 by default.
	FilterBits int
	// ShortLived is for a file that will soon be read and written again. Where compression
	// of cell blocks or small values saves little, it is only tried now and then. Cell
	// blocks are folded all the same.
	ShortLived bool

	// smallBlock is the size of small blocks, by default twice that of blocks: so
	// all small values of a cell block lie in one, unless its keys are long. Files
	// that were written before there was such a rule have short ones.
	smallBlock int
}

// A Writer writes one file. It is not safe for concurrent use. It holds one
// cell block with its small values, one large block, the index and eight bytes
// for each row.
//
// The file is written in pieces of about 128 KiB. After an error the Writer is of
// no more use, and neither is what it wrote.
type Writer struct {
	o   WriterOptions
	out output
	err error

	block     cellBuilder
	bound     bound  // of the block
	large     []byte // the large block being filled
	index     cellBuilder
	indexRow  []byte
	rowHashes []uint64
	info      Info

	row         []byte      // of the last cell
	lastVersion cellVersion // of the last cell
	lastColumn  []byte      // of the last cell of the block before
	family      int         // the place of the last family in info

	raw  []byte // buffers
	cuts []int
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
	if o.smallBlock <= 0 {
		o.smallBlock = 2 * o.BlockSize
	}
	if o.FilterBits <= 0 {
		o.FilterBits = defaultFilterBits
	}
	t := &Writer{o: o, out: output{w: w, sum: newChecksums(o.ID), shortLived: o.ShortLived}}
	t.out.digest.Reset()
	t.block.reset()
	t.index.reset()
	t.info = emptyInfo()
	t.info.Compression, t.info.BlockSize, t.info.FilterBits = o.Compression, o.BlockSize, o.FilterBits
	if o.Compression > Zstd {
		t.err = fmt.Errorf("sstable: unknown %v", o.Compression)
	}
	return t
}

// Add adds the next cells of a row: all it has, or those that come after the ones added before.
// Rows must come in strictly ascending order, and so must the cells of a row (cell.Compare). The
// Writer keeps none of the slices.
func (t *Writer) Add(row []byte, cells []cell.Cell) error {
	if t.err == nil && len(cells) > 0 {
		t.err = t.add(row, cells)
	}
	return t.err
}

func (t *Writer) add(row []byte, cells []cell.Cell) error {
	newRow, err := t.isNew(row)
	if err != nil {
		return err
	}
	if newRow {
		if err := t.beginRow(row, &cells[0]); err != nil {
			return err
		}
	}
	fits := t.surelyFits(cells)
	for i := range cells {
		c := &cells[i]
		first := newRow && i == 0
		if !first && !fits && t.full(false) {
			if err := t.splitRow(row, c); err != nil {
				return err
			}
		}
		if !t.block.addPredicted(c) {
			if err := t.addChecked(row, c, first); err != nil {
				return err
			}
		}
		t.info.count(row, c)
		t.lastVersion = cellVersion{c.Time, c.Seq}
	}
	return nil
}

// isNew reports whether cells begin a row. It refuses rows that are out of order or cannot be
// stored.
func (t *Writer) isNew(row []byte) (bool, error) {
	if len(row) == 0 || len(row) > MaxKey {
		return false, fmt.Errorf("sstable: row of %d bytes: outside the limits", len(row))
	}
	order := bytes.Compare(t.row, row)
	if order > 0 {
		return false, fmt.Errorf("sstable: rows out of order: %q after %q", row, t.row)
	}
	return order < 0, nil
}

// beginRow begins a row, and the block if the one before is full. c is the first cell.
func (t *Writer) beginRow(row []byte, c *cell.Cell) error {
	if t.full(true) {
		if err := t.finishBlock(); err != nil {
			return err
		}
	}
	if t.block.cells() == 0 {
		t.setBound(row, c, true)
	}
	t.block.addRow(row)
	t.row = append(t.row[:0], row...)
	t.rowHashes = append(t.rowHashes, HashRow(row))
	t.info.beginRow(row)
	return nil
}

// splitRow goes on with a row in another block, from a cell on.
func (t *Writer) splitRow(row []byte, c *cell.Cell) error {
	if err := t.finishBlock(); err != nil {
		return err
	}
	t.setBound(row, c, false)
	t.block.addRow(row)
	return nil
}

// addOther adds a cell that is not like those before it.
func (t *Writer) addChecked(row []byte, c *cell.Cell, first bool) error {
	if err := t.check(row, c, first); err != nil {
		return err
	}
	if len(c.Value) >= minLargeValue {
		return t.addLarge(c)
	}
	if t.block.addCell(c) {
		t.family = t.info.addFamily(c.Column, t.family)
	}
	return nil
}

// check refuses cells that are out of order in their row or cannot be stored.
func (t *Writer) check(row []byte, c *cell.Cell, first bool) error {
	if err := c.Check(); err != nil {
		return fmt.Errorf("sstable: row %q: %w", row, err)
	}
	if len(c.Column) > MaxKey || len(c.Value) > MaxValue || c.Seq == headSeq {
		return fmt.Errorf("sstable: row %q: column of %d, value of %d bytes, sequence %d: outside the limits",
			row, len(c.Column), len(c.Value), c.Seq)
	}
	if first {
		return nil
	}
	last := cell.Cell{Column: t.lastColumn, Time: t.lastVersion.time, Seq: t.lastVersion.seq}
	if t.block.columns.inRow {
		last.Column = t.block.columns.name(t.block.columns.last)
	}
	if last.Compare(c) >= 0 {
		return fmt.Errorf("sstable: cells out of order: row %q column %q after %q", row, c.Column, last.Column)
	}
	return nil
}

// fits reports whether a row's next cells are sure to fit into the block, so that full need not be
// asked before each of them. False says nothing.
func (t *Writer) surelyFits(cells []cell.Cell) bool {
	b := &t.block
	keys, values := b.maxKeyBytes(len(cells)), len(b.values)
	for i := range cells {
		keys += len(cells[i].Column)
		values += len(cells[i].Value)
		if len(cells[i].Value) >= minLargeValue { // it has its bytes elsewhere, but counts all the same
			keys += largeEntryBytes
		}
	}
	limit := rowLimit(t.o.BlockSize)
	return keys+values <= limit && keys <= keyLimit(limit)
}

// rowLimit is the size at which a block ends inside a row.
func rowLimit(blockSize int) int { return blockSize + blockSize/2 }

// keyLimit is the size at which a block ends that has only keys, or as much beside its values: at a
// half files of rows with one short cell are 5 % longer, and at three quarters such a row takes 8 %
// more to read out of no cache.
func keyLimit(blockSize int) int { return blockSize * 5 / 8 }

// full reports whether the block has to end before the next cell: when it has
// the size of a block, or without its values five eighths of that, because all of it is
// decompressed to read one row. Only long keys give it more room. It ends with a
// row if it can, before another row like those in it would be too much, so that
// most rows lie in one block; inside a row only when it is half as large again.
func (t *Writer) full(newRow bool) bool {
	b := &t.block
	if b.cells() == 0 {
		return false
	}
	limit, more := t.o.BlockSize, 0
	if !newRow {
		limit = rowLimit(limit)
		if b.estimatedSize() < keyLimit(limit) {
			return false
		}
	}
	n := b.size()
	keys := n - len(b.values)
	if keys > keyLimit(limit) && b.cells() < minBlockCells {
		limit *= maxBlockGrowth
	}
	if newRow {
		more = n / len(b.rowEnds)
	}
	return n+more > limit || keys > keyLimit(limit)
}

// setBound notes the lower bound of the block that begins with this cell.
func (t *Writer) setBound(row []byte, c *cell.Cell, newRow bool) {
	b := &t.bound
	if newRow {
		b.row, b.cell = appendBound(b.row[:0], t.row, row), headCell()
		return
	}
	b.row, b.cell = append(b.row[:0], row...), *c
	b.column = append(b.column[:0], c.Column...)
	b.cell.Column, b.cell.Value = b.column, nil
}

// addLarge adds a cell with a large value.
func (t *Writer) addLarge(c *cell.Cell) error {
	if len(t.large) > 0 && (len(t.large)+len(c.Value) > t.o.BlockSize || len(c.Value) > maxSharedValue) {
		if err := t.finishLarge(); err != nil {
			return err
		}
	}
	block := len(t.block.largeBlocks)
	if t.block.addLarge(c, reference{uint32(block), uint32(len(t.large)), uint32(len(c.Value))}) {
		t.family = t.info.addFamily(c.Column, t.family)
	}
	t.large = append(t.large, c.Value...)
	if len(t.large) >= t.o.BlockSize {
		return t.finishLarge()
	}
	return nil
}

// finishLarge writes the large block that is being filled.
func (t *Writer) finishLarge() error {
	h, err := t.out.addBlock(t.large, t.o.Compression, nil)
	if err != nil {
		return err
	}
	t.block.largeBlocks = append(t.block.largeBlocks, h)
	t.info.ValueBlocks++
	t.large = t.large[:0]
	if cap(t.large) > maxKeptBuffer {
		t.large = nil
	}
	return nil
}

// finishSmall writes the small blocks of the cell block that is being filled,
// unless its values are few.
func (t *Writer) finishSmall() error {
	b := &t.block
	if len(b.values) <= min(maxInlineValues, t.o.BlockSize) {
		return nil
	}
	t.cuts = b.splitValues(t.o.smallBlock, t.cuts[:0])
	from := 0
	for _, end := range t.cuts {
		h, err := t.out.addBlock(b.values[from:end], t.o.Compression, &t.out.skipValues)
		if err != nil {
			return err
		}
		b.smallBlocks = append(b.smallBlocks, smallBlock{h, end})
		t.info.ValueBlocks++
		from = end
	}
	return nil
}

// finishBlock writes the cell block that is being filled, after its values.
func (t *Writer) finishBlock() error {
	if len(t.large) > 0 {
		if err := t.finishLarge(); err != nil {
			return err
		}
	}
	from := t.out.offset
	if err := t.finishSmall(); err != nil {
		return err
	}
	small := t.out.offset - from
	h, err := t.out.addCells(&t.block, t.o.Compression, &t.out.skipCells)
	if err != nil {
		return err
	}
	t.info.CellBlocks++
	t.addIndex(h, uint32(small))
	t.lastColumn = append(t.lastColumn[:0], t.block.columns.name(t.block.columns.last)...)
	t.block.reset()
	return nil
}

// addIndex adds the entry of a block whose small blocks take this many bytes.
func (t *Writer) addIndex(h handle, small uint32) {
	if t.index.cells() == 0 || !bytes.Equal(t.indexRow, t.bound.row) {
		t.indexRow = append(t.indexRow[:0], t.bound.row...)
		t.index.addRow(t.indexRow)
	}
	c := t.bound.cell
	c.Value = binary.LittleEndian.AppendUint32(h.append(nil), small)
	t.index.addCell(&c)
}

// EstimatedSize is how long the file would be, about, if it were finished now. The
// blocks that are being filled count as if they compressed like those before.
func (t *Writer) EstimatedSize() int64 {
	pending := uint64(t.block.estimatedSize() + len(t.large))
	if t.out.raw > 0 {
		pending = uint64(float64(pending) * min(float64(t.out.offset)/float64(t.out.raw), 1))
	}
	filter := uint64(len(t.rowHashes)*t.o.FilterBits/8 + lineSize)
	return int64(t.out.offset + pending + uint64(t.index.estimatedSize()) + filter + 8*propertyNumbers + footerSize)
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
	p.end(t.row)
	f := footer{id: t.o.ID}
	if err := t.finishTail(&f); err != nil {
		return err
	}
	f.size = t.out.offset + footerSize
	if err := t.out.end(f.append(t.raw[:0])); err != nil {
		return err
	}
	p.Size, p.Checksum = int64(t.out.offset), t.out.digest.Sum64()
	return nil
}

// finishTail writes the blocks that the footer points to.
func (t *Writer) finishTail(f *footer) (err error) {
	rows := newFilter(len(t.rowHashes), t.o.FilterBits)
	for _, h := range t.rowHashes {
		rows.add(h)
	}
	t.raw = rows.append(t.raw[:0])
	if f.filter, err = t.out.addBlock(t.raw, None, nil); err != nil {
		return err
	}
	if f.index, err = t.out.addCells(&t.index, t.o.Compression, nil); err != nil {
		return err
	}
	if max(t.index.size(), len(t.out.encoded)) > maxIndex { // folded it is the longer one if a row has more than 64 KiB or blocks
		return fmt.Errorf("sstable: %d blocks are too many for one file", t.info.CellBlocks)
	}
	t.raw = t.info.append(t.raw[:0])
	f.properties, err = t.out.addBlock(t.raw, None, nil)
	return err
}
