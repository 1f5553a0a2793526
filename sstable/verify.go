package sstable

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/colonnade-db/colonnade/cell"

	"github.com/cespare/xxhash/v2"
)

// Verify reads the whole file and checks every promise of the format: all blocks and their
// checksums, that blocks are adjacent, that cells are valid and in strictly ascending
// order, that each byte of the value blocks belongs to one cell, that the index bounds the
// blocks, that the filter has every row, and that times and properties are those of the cells. If
// checksum is not 0 it must be that of Finish; it is checked last, since it cannot locate
// damage.
//
// Verify reads one block at a time and bypasses the cache. An io.ReaderAt can slow it
// down or stop it with an error.
func (t *Reader) Verify(checksum uint64) error {
	v, err := newVerifier(t)
	if err != nil {
		return err
	}
	for e := range v.index.cells {
		if err := v.verifyBlock(e); err != nil {
			return err
		}
	}
	if err := v.finish(); err != nil || checksum == 0 {
		return err
	}
	return t.verifyChecksum(checksum)
}

// VerifyBytes reads the whole file and checks the checksum of Finish, and that index, filter
// and times are valid. It is many times faster than Verify, and shows that the file has the
// bytes the Writer wrote, not that those were right.
func (t *Reader) VerifyBytes(checksum uint64) error {
	if _, err := newVerifier(t); err != nil {
		return err
	}
	return t.verifyChecksum(checksum)
}

func (t *Reader) verifyChecksum(want uint64) error {
	var d xxhash.Digest
	d.Reset()
	p := make([]byte, min(256<<10, t.info.Size))
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

// A verifier walks over the cells of a file and computes its properties.
type verifier struct {
	t      *Reader
	index  index
	filter Filter

	at     uint64 // where the next block must begin
	block  cellBlock
	offset uint64 // of the block
	buffer buffers

	small, large       valueBlock // loaded
	smallBlock         int        // next small block
	smallFrom, smallTo int        // range of small values in small
	largeBlock         int        // next large block
	largeTo            int        // end of the last value in large
	smallBuffer        buffers
	largeBuffer        buffers

	info   Info             // found so far
	times  []cell.TimeRange // of the blocks so far
	span   cell.TimeRange   // of the current block
	family int              // index of the last family in info
	row    []byte
	last   cell.Cell
	column []byte // of last

	key, bound []byte // scratch for row keys
}

func newVerifier(t *Reader) (*verifier, error) {
	v := &verifier{t: t, info: emptyInfo()}
	raw, err := t.readOwned(t.footer.index, maxIndex, new(readBuffer))
	if err != nil {
		return nil, err
	}
	if err := v.index.parse(raw, t.footer.filter.offset); err != nil {
		return nil, t.corrupt(t.footer.index.offset, err)
	}
	if raw, err = t.readOwned(t.footer.filter, maxFilter, new(readBuffer)); err != nil {
		return nil, err
	}
	if err := v.filter.parse(raw); err != nil {
		return nil, t.corrupt(t.footer.filter.offset, err)
	}
	if t.footer.version >= timesVersion {
		if _, err := t.readTimes(&v.index); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// corrupt reports damage of the current block.
func (v *verifier) corrupt(format string, args ...any) error {
	return v.t.corrupt(v.offset, fmt.Errorf(format, args...))
}

// verifyBlock checks the cell block of an entry and its value blocks.
func (v *verifier) verifyBlock(entry int) error {
	h := v.index.handle(entry)
	v.offset = h.offset
	raw, err := v.t.readBlock(h, maxCellBlock, &v.buffer.read, &v.buffer.raw)
	if err != nil {
		return err
	}
	b := &v.block
	if err := b.parse(raw); err != nil {
		return v.t.corrupt(h.offset, err)
	}
	if err := v.verifyPlace(entry, h); err != nil {
		return err
	}
	for id := 1; id < b.columns; id++ {
		if bytes.Compare(b.column(id-1), b.column(id)) >= 0 {
			return v.corrupt("cell block: columns of the dictionary out of order")
		}
	}
	if err := v.verifyBound(entry); err != nil {
		return err
	}
	v.resetValues()
	v.span = cell.TimeRange{}
	for r := range b.rows {
		if err := v.verifyRow(r); err != nil {
			return err
		}
	}
	v.times = append(v.times, v.span)
	v.info.addBlock(v.span)
	v.info.ValueBlocks += uint64(b.smallBlocks + b.largeBlocks)
	return v.endValues()
}

// verifyPlace checks that the value blocks and the block at h follow the last block, large
// blocks first.
func (v *verifier) verifyPlace(entry int, h handle) error {
	b := &v.block
	next := func(h handle) bool {
		ok := h.offset == v.at && h.within(v.t.footer.filter.offset)
		v.at = h.end()
		return ok
	}
	ok := true
	for k := range b.largeBlocks {
		ok = ok && next(b.large(k))
	}
	ok = ok && v.at == v.index.from(entry)
	for k := range b.smallBlocks {
		small, _, _ := b.small(k)
		ok = ok && next(small)
	}
	if !ok || !next(h) {
		return v.corrupt("cell block: it and its value blocks do not stand side by side")
	}
	return nil
}

// verifyBound checks that the bound of the current block is above the last cell of the
// block before, and not above its own first cell.
func (v *verifier) verifyBound(entry int) error {
	x, b := &v.index, &v.block
	r := x.rowOf(entry)
	v.bound, v.key = x.appendRow(v.bound[:0], r), b.appendRow(v.key[:0], 0)
	row, firstRow := v.bound, v.key
	bound, first := x.keyAt(entry), b.keyAt(0)
	switch {
	case v.info.Cells > 0 && comparePlace(v.row, &v.last, row, &bound) >= 0:
		return v.corrupt("index: bound of the block is not above the block before")
	case comparePlace(row, &bound, firstRow, &first) > 0:
		return v.corrupt("index: bound of the block is above its first cell")
	case bytes.Equal(firstRow, v.row) == x.isHead(entry):
		return v.corrupt("index: bound of the block does not say whether it continues a row")
	}
	return nil
}

// keyAt returns cell i without its value.
func (b *cellBlock) keyAt(i int) cell.Cell {
	id := b.columnID(i)
	return b.cellAt(i, id, b.kind(i, id), nil)
}

// comparePlace orders cells by row and key.
func comparePlace(row1 []byte, c1 *cell.Cell, row2 []byte, c2 *cell.Cell) int {
	if r := bytes.Compare(row1, row2); r != 0 {
		return r
	}
	return c1.Compare(c2)
}

// finish compares the computed properties with the stored ones.
func (v *verifier) finish() error {
	t := v.t
	if v.at != t.footer.filter.offset {
		return t.corrupt(v.at, errors.New("bytes between the last block and the filter"))
	}
	found, stated := &v.info, t.info
	found.end(v.row)
	found.Compression, found.BlockSize, found.FilterBits = stated.Compression, stated.BlockSize, stated.FilterBits
	if t.footer.version < timesVersion {
		found.Times = cell.AllTimes
	} else if err := v.verifyTimes(); err != nil {
		return err
	}
	if found.numbers() != stated.numbers() || !slices.Equal(found.Families, stated.Families) ||
		!bytes.Equal(found.Smallest, stated.Smallest) || !bytes.Equal(found.Largest, stated.Largest) {
		return t.corrupt(t.footer.properties.offset, errors.New("properties: not those of the cells"))
	}
	return nil
}

// verifyTimes compares the computed times with the stored ones.
func (v *verifier) verifyTimes() error {
	h := v.t.footer.times
	raw, err := v.t.readBlock(h, maxTimes, &v.buffer.read, &v.buffer.raw)
	if err == nil && !bytes.Equal(raw, appendTimes(nil, v.times)) {
		err = v.t.corrupt(h.offset, errors.New("times: not those of the cells"))
	}
	return err
}
