package sstable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/internal/prefetch"
)

// The index is a cell block with one entry for each cell block of the file, in order.
// The key of an entry is a lower bound: at or before the first cell of its block,
// after the last cell of the block before. The value locates the block, and says how
// many bytes of the file its small blocks take, which directly precede it:
//
//	+-----+--------+------+-----+------+      +-----------+---------------+
//	| row | column | time | seq | kind |  ->  | handle 12 | small bytes 4 |
//	+-----+--------+------+-----+------+      +-----------+---------------+
//
// If a block begins with a new row, the bound is the head of the shortest row key that
// separates it from the block before: no column, the time of tombstones, the sequence
// number headSeq, which no cell has, and the kind of a row tombstone. So a search for
// a row that exists finds the block where it begins. If a block continues a row, the
// bound is the key of its first cell, so a wide row can be searched by column.

// Constants that are part of the format. headSeq is the sequence number of the head of
// a row.
const (
	headSeq        = math.MaxUint64
	indexEntrySize = handleSize + 4
)

var (
	errIndexValue = errors.New("index: an entry is not the place of a block")
	errIndexOrder = errors.New("index: blocks out of order or outside the file")
)

// An index is an open index block. It is immutable.
//
// A binary search over the rows of a long block would miss the CPU's caches twice
// in each step: for the offset of a key, and for the key. So the distinguishing bytes
// of every sampleEvery-th row stand together, and most steps are made there. What the
// rest of the search and the entry it finds need is prefetched all at once.
type index struct {
	cellBlock
	sharedPrefix   []byte   // what all rows but the first, a shortened key, have after the prefix
	samplePrefixes []uint64 // the 8 bytes after that, of row 1 and every sampleEvery-th row after it
	sampleOffsets  []uint32 // offsets of the same rows in rowBytes
}

const (
	sampleEvery = 32 // cached reads of 1 M and 10 M rows take 0.85 and 0.82 of the time; 16 and 64: within noise
	// maxPrefetchedKeys limits the bytes of keys to prefetch: rows can be long.
	maxPrefetchedKeys = 2 << 10
)

// Memory returns the bytes that count in a cache.
func (x *index) Memory() int {
	return x.cellBlock.Memory() + 8*cap(x.samplePrefixes) + 4*cap(x.sampleOffsets)
}

// keyPrefix returns the first eight bytes of a key as a number, padded with zeros.
// Numbers order as keys do, but different keys may have the same.
func keyPrefix(key []byte) uint64 {
	var prefix [8]byte
	copy(prefix[:], key)
	return binary.BigEndian.Uint64(prefix[:])
}

// buildSamples samples the rows, whose order has not been checked yet.
func (x *index) buildSamples() {
	if x.rows < 2 {
		return
	}
	first, last := x.rowSuffix(1), x.rowSuffix(x.rows-1)
	x.sharedPrefix = first[:commonPrefix(first, last)]
	n := (x.rows + sampleEvery - 2) / sampleEvery
	x.samplePrefixes, x.sampleOffsets = make([]uint64, 0, n), make([]uint32, 0, n)
	for r := 1; r < x.rows; r += sampleEvery {
		x.sampleOffsets = append(x.sampleOffsets, uint32(x.rowOffsets.int(x.raw, r)))
		x.samplePrefixes = append(x.samplePrefixes, keyPrefix(bytes.TrimPrefix(x.rowSuffix(r), x.sharedPrefix)))
	}
}

// parse opens the index of a file whose blocks end at limit.
func (x *index) parse(raw []byte, limit uint64) error {
	if err := x.cellBlock.parse(raw); err != nil {
		return err
	}
	if x.valueLength != indexEntrySize || x.smallBlocks > 0 {
		return errIndexValue
	}
	x.buildSamples()
	var end uint64
	for e := range x.cells {
		h, from := x.handle(e), x.from(e)
		if from > h.offset || from < end || !h.within(limit) {
			return errIndexOrder
		}
		end = h.end()
	}
	return nil
}

// handle returns the handle of the block of entry e.
func (x *index) handle(e int) handle {
	return parseHandle(x.values[e*indexEntrySize:])
}

// from returns where the small blocks of entry e begin, or its cell block if it has
// none. In an index that was not validated it may return anything.
func (x *index) from(e int) uint64 {
	p := x.values[e*indexEntrySize:]
	return parseHandle(p).offset - uint64(binary.LittleEndian.Uint32(p[handleSize:]))
}

// readEnd returns the end of the entries that one read can fetch, of at most this many
// bytes from what entry e needs on. They must be adjacent in the file. It is e if the
// first is too long.
func (x *index) readEnd(e int, bytes uint64) (end int) {
	if e >= x.cells {
		return e
	}
	limit := x.from(e) + bytes
	at := x.from(e)
	for ; e < x.cells && x.from(e) == at && x.handle(e).end() <= limit; e++ {
		at = x.handle(e).end()
	}
	return e
}

// rowOf returns the row of entry e, as a row number of the index.
func (x *index) rowOf(e int) int {
	if x.rows == x.cells {
		return e
	}
	return sort.Search(x.rows, func(r int) bool { return x.rowStarts.int(x.raw, r+1) > e })
}

// isHead reports whether the block of entry e begins with a new row.
func (x *index) isHead(e int) bool {
	return x.seqBase+x.seqs.at(x.raw, x.versionID(e)) == headSeq
}

// seek returns the entry whose block contains the first row at or after the key, unless
// that is the first row of the next block.
func (x *index) seek(key []byte) int {
	r := x.search(key)
	e := x.rowStarts.int(x.raw, r) - 1 // the last bound with a lower row
	if r < x.rows && x.isRow(r, key) && x.isHead(e+1) {
		e++
	}
	return max(e, 0)
}

// search is findRow, by way of the samples.
func (x *index) search(key []byte) int {
	suffix, ok := bytes.CutPrefix(key, x.prefix)
	rest, same := bytes.CutPrefix(suffix, x.sharedPrefix)
	if !ok || !same || len(x.samplePrefixes) == 0 {
		return x.findRow(key)
	}
	low, high := x.sampleRange(keyPrefix(rest))
	low, high = x.narrow(suffix, low, high, 2*sampleEvery)
	x.ask(low, high)
	low, _ = x.narrow(suffix, low, high, 0)
	return low
}

// ask prefetches what a search of the rows from low to high reads, and what seek reads
// of the row it finds.
func (x *index) ask(low, high int) {
	prefetch.Bytes(x.rowOffsets.span(x.raw, low, high))
	from, to := int(x.sampleOffsets[max(low-2, 0)/sampleEvery]), len(x.rowBytes)
	if next := (high - 1) / sampleEvery; next < len(x.sampleOffsets) {
		to = int(x.sampleOffsets[next])
	}
	prefetch.Bytes(x.rowBytes[from:min(to, from+maxPrefetchedKeys)])
	prefetch.Bytes(x.rowStarts.span(x.raw, low, high))
	if x.rows == x.cells {
		prefetch.Bytes(x.values[max(low-1, 0)*indexEntrySize : high*indexEntrySize])
	}
}

// sampleRange returns the rows, low to high included, where the search for a key with
// this prefix ends.
func (x *index) sampleRange(prefix uint64) (low, high int) {
	i, same := slices.BinarySearch(x.samplePrefixes, prefix)
	if i > 0 {
		low = (i-1)*sampleEvery + 2 // after a row that is lower
	}
	if same {
		i += sort.Search(len(x.samplePrefixes)-i, func(k int) bool { return x.samplePrefixes[i+k] > prefix })
	}
	return low, min(i*sampleEvery+1, x.rows)
}

// continues returns the end of the entries from e on whose blocks begin within the row
// with this key; e if there are none. The block of entry e-1 must have that row.
func (x *index) continues(e int, key []byte) (end int) {
	if e >= x.cells {
		return e
	}
	r := x.rowOf(e)
	if !x.isRow(r, key) || x.isHead(e) {
		return e
	}
	return x.rowStarts.int(x.raw, r+1)
}

// seekColumn returns the first of the entries from e to end, all within one row, whose
// block may have the column or a later one.
func (x *index) seekColumn(e, end int, column []byte) int {
	n := sort.Search(end-e-1, func(i int) bool {
		return bytes.Compare(x.column(x.columnID(e+1+i)), column) >= 0
	})
	return e + n
}

// appendBound appends the row of a bound between the last row of a block and the first
// of the next: the shortest key above last and not above first.
func appendBound(dst, last, first []byte) []byte {
	return append(dst, first[:commonPrefix(last, first)+1]...)
}

// headCell is the bound of a block that begins with a new row.
func headCell() cell.Cell {
	return cell.Cell{Time: cell.TombstoneTime, Seq: headSeq, Kind: cell.DeleteRow}
}

// EstimateSize returns about how many bytes of the file belong to rows from start to
// end, end excluded. A nil end is the end of the file. It reads the index, and returns
// 0 if that fails.
func (t *Reader) EstimateSize(start, end []byte) int64 {
	x, err := t.openIndex()
	if err != nil || x.cells == 0 {
		return 0
	}
	first, last := x.entriesWithin(start, end)
	return int64(x.handle(last).end() - x.from(first))
}

// entriesWithin returns the first and the last entry whose blocks may have rows from start
// to end.
func (x *index) entriesWithin(start, end []byte) (first, last int) {
	first, last = x.seek(start), x.cells-1
	if end != nil {
		last = max(x.seek(end), first)
	}
	return first, last
}

// AppendSplits appends ascending rows that divide the file into parts with about as
// many cell blocks each; fewer parts if rows have many blocks. It omits most rows that
// are not between start and end; a nil end is the end of the file. It reads the index,
// and appends nothing if that fails: a read of the rows will report why. The caller owns
// the rows.
func (t *Reader) AppendSplits(dst [][]byte, parts int, start, end []byte) [][]byte {
	x, err := t.openIndex()
	if err != nil {
		return dst
	}
	from, to := x.entriesWithin(start, end)
	last := 0
	for i := 1; i < parts; i++ {
		e := i * x.cells / parts
		if e < from || e > to {
			continue
		}
		if r := x.rowOf(e); r > last {
			dst = append(dst, x.appendRow(nil, r))
			last = r
		}
	}
	return dst
}
