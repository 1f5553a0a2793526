package sstable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sort"

	"colonnade/cell"
	"colonnade/internal/prefetch"
)

// The index is a cell block with one entry for each cell block of the file, in
// order. The key of an entry is a lower bound of its block: at or before the
// first cell of the block, after the last cell of the block before. Its value
// says where the block lies, and how many bytes its small blocks take in the
// file, which stand directly before it:
//
//	+-----+--------+------+-----+------+      +-----------+---------------+
//	| row | column | time | seq | kind |  ->  | handle 12 | small bytes 4 |
//	+-----+--------+------+-----+------+      +-----------+---------------+
//
// Where a block begins with a new row, the bound is the head of the shortest
// row key that does: no column, the time of tombstones, the sequence number
// headSeq, which no cell has, and the kind of a row tombstone. So a search for
// a row that exists finds the block it begins in. Where a block continues the
// row of the block before, the bound is the key of its first cell; so a wide row
// can be searched by column.

// Constants that are part of the format. headSeq is the sequence number of the
// head of a row.
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
// A search that halves the rows of a long block waits for memory at each step, twice: for where a
// key begins, and for the key. So of some rows the bytes that tell keys apart stand together, and
// most steps are made there; for what is left, and for what the entry that is found says, the
// processor is asked all at once.
type index struct {
	cellBlock
	sharedPrefix   []byte   // what all rows but the first, which is cut short, have after the prefix
	samplePrefixes []uint64 // what comes after that, of row 1 and every startEvery-th after it
	sampleOffsets  []uint32 // where the keys of the same rows begin in rowBytes
}

const (
	sampleEvery = 32
	// mostKeyBytes is the most bytes of keys that are asked for: rows can be long.
	maxPrefetchedKeys = 2 << 10
)

// Memory is what the index counts for in a cache.
func (x *index) Memory() int {
	return x.cellBlock.Memory() + 8*cap(x.samplePrefixes) + 4*cap(x.sampleOffsets)
}

// startOf returns the first eight bytes of a key, with zeros for those that it does not have,
// as a number: of keys in order these are in order, too, but may be the same.
func keyPrefix(key []byte) uint64 {
	var prefix [8]byte
	copy(prefix[:], key)
	return binary.BigEndian.Uint64(prefix[:])
}

// takeStarts notes the starts. Rows need not be in order: nobody has looked at that yet.
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

// handle returns the place of the block of entry e.
func (x *index) handle(e int) handle {
	return parseHandle(x.values[e*indexEntrySize:])
}

// from returns where the small blocks before the block of entry e begin, or the
// block itself if it has none. In an index not yet validated it may be anything.
func (x *index) from(e int) uint64 {
	p := x.values[e*indexEntrySize:]
	return parseHandle(p).offset - uint64(binary.LittleEndian.Uint32(p[handleSize:]))
}

// reach returns how far a read of so many bytes, from what entry e needs, goes: up to
// the first entry that does not follow in the file, or of which the block would be
// beyond. It is e where already the first is too long.
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

// rowOf returns the number of the row of entry e among the rows of the index.
func (x *index) rowOf(e int) int {
	if x.rows == x.cells {
		return e
	}
	return sort.Search(x.rows, func(r int) bool { return x.rowStarts.int(x.raw, r+1) > e })
}

// isHead reports whether entry e bounds a block that begins with a new row.
func (x *index) isHead(e int) bool {
	return x.seqBase+x.seqs.at(x.raw, x.versionID(e)) == headSeq
}

// seek returns the entry of the block in which a row at or after the key
// begins, if not at the start of the next one.
func (x *index) seek(key []byte) int {
	r := x.search(key)
	e := x.rowStarts.int(x.raw, r) - 1 // the last bound with a lower row
	if r < x.rows && x.isRow(r, key) && x.isHead(e+1) {
		e++
	}
	return max(e, 0)
}

// search is findRow, by starts first.
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

// ask asks for what it takes to search the rows from low up to high, and for what seek needs of
// the one that is found.
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

// between returns the rows, as low up to high, at one of which or at high the search for a key
// with this start ends.
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

// continues returns the entries from e on whose blocks begin within the row
// with this key, as e up to end. Entry e-1 must be of a block with that row.
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

// seekColumn returns the first of the entries from e up to end, all bounds within
// one row, whose block may hold the column or a later one.
func (x *index) seekColumn(e, end int, column []byte) int {
	n := sort.Search(end-e-1, func(i int) bool {
		return bytes.Compare(x.column(x.columnID(e+1+i)), column) >= 0
	})
	return e + n
}

// appendBound appends the row of the bound between the last row of a block and
// the first of the next: the shortest key above last that is not above first.
func appendBound(dst, last, first []byte) []byte {
	return append(dst, first[:commonPrefix(last, first)+1]...)
}

// headOf is the cell of the bound of a block that begins with a new row.
func headCell() cell.Cell {
	return cell.Cell{Time: cell.TombstoneTime, Seq: headSeq, Kind: cell.DeleteRow}
}

// EstimateSize returns about how many bytes of the file are of rows from start up to end, a nil end
// being that of the file. It reads the index, and returns 0 if that cannot be read.
func (t *Reader) EstimateSize(start, end []byte) int64 {
	x, err := t.openIndex()
	if err != nil || x.cells == 0 {
		return 0
	}
	first, last := x.entriesWithin(start, end)
	return int64(x.handle(last).end() - x.from(first))
}

// within returns the entries of the first and the last block that can have rows from start up to end.
func (x *index) entriesWithin(start, end []byte) (first, last int) {
	first, last = x.seek(start), x.cells-1
	if end != nil {
		last = max(x.seek(end), first)
	}
	return first, last
}

// AppendSplits appends rows, in order, that divide the file into so many parts of
// about as many cell blocks each, fewer where rows have many blocks. It leaves out most that
// are not between start and end, a nil end being that of the file. It reads the
// index, and appends nothing if that cannot be read: whoever reads the rows will hear
// why. The rows are the caller's.
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
