package sstable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/colonnade-db/colonnade/cell"
)

// Limits of the format.
const (
	MaxKey   = 64 << 10  // bytes of a row key, and of a column
	MaxValue = 256 << 20 // bytes of a value
)

const (
	defaultBlockSize  = 4 << 10 // 16 KiB made uncached row reads 2.1× slower and saved 8 % of disk
	defaultFilterBits = 10      // 1.0 % false positives; 8 bits 2.6 %, 12 bits 0.4 %
	maxBlockSize      = 1 << 20
	// minBlockCells is how many cells a block should have even if keys are long, so
	// that the index, with one key for each block, stays a small part of the file. For
	// that, a block may grow to maxBlockGrowth times its size.
	minBlockCells  = 16
	maxBlockGrowth = 8
)

// WriterOptions configure a file. Zero values mean the defaults, except for ID.
type WriterOptions struct {
	ID          ID
	Compression Compression
	// BlockSize is the target size of blocks before compression; 4 KiB by default,
	// at most 1 MiB. Blocks end with a row if possible, slightly below the target.
	// Blocks with long keys may be larger.
	BlockSize int
	// FilterBits is the filter's size in bits per row, 10 by default.
	FilterBits int
	// ShortLived is for a file that will soon be compacted. Where compression of
	// cell blocks or small values saves little, it is tried only now and then. Cell
	// blocks are still encoded.
	ShortLived bool

	// smallBlock is the size of small blocks; by default twice BlockSize, so that
	// the small values of a cell block are in one, unless its keys are long: 22.1
	// bytes a cell, with parts of 2 KiB 23.3. Old files have short ones.
	smallBlock int
}

// A Writer writes one file. It is not safe for concurrent use. It holds one cell block
// with its small values, one large block, the index, 16 bytes for each block and eight for
// each row.
//
// It writes about 128 KiB at a time. After an error neither the Writer nor what it
// wrote is usable.
type Writer struct {
	o   WriterOptions
	out output
	err error

	block     cellBuilder
	bound     bound  // of block
	large     []byte // large block being filled
	index     cellBuilder
	indexRow  []byte
	rowHashes []uint64
	times     []cell.TimeRange // of each block
	covering  uint64           // tombstones of any time, before the block
	info      Info

	row         []byte      // of the last cell
	lastVersion cellVersion // of the last cell
	lastColumn  []byte      // of the last cell of the block before
	family      int         // index of the last family in info

	raw  []byte // scratch
	cuts []int
}

// A bound is the key of the index entry for the block being filled.
type bound struct {
	row    []byte
	cell   cell.Cell
	column []byte
}

// NewWriter returns a Writer to w, which takes the file from its first byte to the last.
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

// Add adds the next cells of a row: all of them, or those after the cells already added.
// Rows must be strictly ascending, and so must the cells of a row (cell.Compare). The
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

// isNew reports whether the row is a new one. It fails for rows that are out of order or
// too long.
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

// beginRow begins a row, in a new block if the current one is full. c is its first cell.
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

// splitRow continues a row in a new block, from cell c on.
func (t *Writer) splitRow(row []byte, c *cell.Cell) error {
	if err := t.finishBlock(); err != nil {
		return err
	}
	t.setBound(row, c, false)
	t.block.addRow(row)
	return nil
}

// addChecked adds a cell that addPredicted did not take.
func (t *Writer) addChecked(row []byte, c *cell.Cell, first bool) error {
	if err := t.check(row, c, first); err != nil {
		return err
	}
	if len(c.Value) >= LargeValue {
		return t.addLarge(c)
	}
	if t.block.addCell(c) {
		t.family = t.info.addFamily(c.Column, t.family)
	}
	return nil
}

// check fails for cells that are out of order in their row or cannot be stored.
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

// surelyFits reports whether the next cells of a row surely fit into the block, so that full
// need not be called for each. False means unknown.
func (t *Writer) surelyFits(cells []cell.Cell) bool {
	b := &t.block
	keys, values := b.maxKeyBytes(len(cells)), len(b.values)
	for i := range cells {
		keys += len(cells[i].Column)
		values += len(cells[i].Value)
		if len(cells[i].Value) >= LargeValue { // its bytes go elsewhere but count all the same
			keys += largeEntryBytes
		}
	}
	limit := rowLimit(t.o.BlockSize)
	return keys+values <= limit && keys <= keyLimit(limit)
}

// rowLimit is the size at which a block ends within a row.
func rowLimit(blockSize int) int { return blockSize + blockSize/2 }

// keyLimit is the size without values at which a block ends. Half the block size makes
// files of rows with one short cell 5 % longer, three quarters their uncached reads 8 %
// slower.
func keyLimit(blockSize int) int { return blockSize * 5 / 8 }

// full reports whether the block must end before the next cell: it has reached the block
// size, or its keys have reached keyLimit, since all of a block is decompressed to read
// one row. Long keys give it more room (minBlockCells). Between rows it ends if another row
// of average size would be too much, so most rows lie in one block; within a row it may
// grow to rowLimit.
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

// setBound sets the bound of a block that begins with this cell.
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

// finishLarge writes the large block.
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

// finishSmall writes the small values of the block to small blocks, unless they are few.
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

// finishBlock writes the block, after its values.
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
	t.endTimes()
	t.addIndex(h, uint32(small))
	t.lastColumn = append(t.lastColumn[:0], t.block.columns.name(t.block.columns.last)...)
	t.block.reset()
	return nil
}

// endTimes notes the times of the block, which its versions have unless it has a tombstone that covers
// all.
func (t *Writer) endTimes() {
	times, covering := t.block.versions.span(), t.info.covering()
	if covering > t.covering {
		times, t.covering = cell.AllTimes, covering
	}
	t.times = append(t.times, times)
	t.info.addBlock(times)
}

// addIndex adds the index entry of the block at h, whose small blocks have this many bytes.
func (t *Writer) addIndex(h handle, small uint32) {
	if t.index.cells() == 0 || !bytes.Equal(t.indexRow, t.bound.row) {
		t.indexRow = append(t.indexRow[:0], t.bound.row...)
		t.index.addRow(t.indexRow)
	}
	c := t.bound.cell
	c.Value = binary.LittleEndian.AppendUint32(h.append(nil), small)
	t.index.addCell(&c)
}

// EstimatedSize is about how long the file would be if it were finished now. Pending
// blocks are assumed to compress like those before.
func (t *Writer) EstimatedSize() int64 {
	pending := uint64(t.block.estimatedSize() + len(t.large))
	if t.out.raw > 0 {
		pending = uint64(float64(pending) * min(float64(t.out.offset)/float64(t.out.raw), 1))
	}
	filter := uint64(len(t.rowHashes)*t.o.FilterBits/8 + lineSize)
	return int64(t.out.offset + pending + uint64(t.index.estimatedSize()) + filter + uint64(2*maxUnitWidth*len(t.times)) + 8*propertyNumbers + footerSize)
}

// Finish writes the last blocks, filter, index, times, properties and footer. It does not sync or
// close anything. A file must have at least one cell.
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

// finishTail writes the blocks that the footer refers to.
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
	if max(t.index.size(), len(t.out.encoded)) > maxIndex { // encoded is longer if a row has more than 64 KiB or blocks
		return fmt.Errorf("sstable: %d blocks are too many for one file", t.info.CellBlocks)
	}
	t.raw = appendTimes(t.raw[:0], t.times)
	if f.times, err = t.out.addBlock(t.raw, t.o.Compression, nil); err != nil {
		return err
	}
	t.raw = t.info.append(t.raw[:0])
	f.properties, err = t.out.addBlock(t.raw, None, nil)
	return err
}
