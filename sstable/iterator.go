package sstable

import (
	"bytes"
	"errors"
	"math"
	"sync"
	"sync/atomic"

	"colonnade/cell"
	"colonnade/internal/poison"
)

// ReadOptions say what an iterator is for.
type ReadOptions struct {
	// Columns are the columns wanted, nil for all. Tombstones of families and
	// rows are always returned when met (see cell.Columns.Wants).
	Columns *cell.Columns
	// KeysOnly leaves out the values that would have to be read from elsewhere;
	// they are nil, but their length counts in Scanned.
	KeysOnly bool
	// FillCache puts the blocks that are read into the cache, if it wants them. Without it they go
	// through one private buffer; blocks that are cached are used either way.
	FillCache bool
	// ReadaheadEnd is a row from which on nothing is wanted, nil for none. Rows from there on are returned
	// all the same, but not read before they are asked for. The iterator keeps it.
	ReadaheadEnd []byte
}

// wholeBlocks reports whether the values of cell blocks are sure to be wanted: a
// scan of some columns may come to none of them, but what goes into the cache is
// for others too.
func (o *ReadOptions) wholeBlocks() bool {
	return !o.KeysOnly && (o.Columns == nil || o.FillCache)
}

// An Iterator walks over the rows of a file, and over the cells of each. It is
// not safe for concurrent use.
//
// After an error there is no current row and every further call does nothing;
// what was returned before is whole cells but maybe not a whole row, so a caller
// has to ask Err before it uses a row it has collected.
type Iterator struct {
	r   *Reader
	o   ReadOptions
	err error

	index *index // nil until the first SeekRow
	entry int    // of the block at hand
	block *cellBlock
	row   int    // in the block, while key is valid
	key   []byte // of the current row
	valid bool   // is there a current row?

	keyEntry int // the entry whose block's prefix key begins with, -1 for none

	lastRun cell.Run // the entries returned last; its dictionary is that of the block at hand

	first, next, end int // the row's cells in the block: its first, the next to take, the end
	suffixEnd        int // where the suffix of its key ends among those of the block

	// offsets and names are the dictionary of the block at hand, as cellBlock.dictionary
	// has it. Most blocks of a table have the same, and what is known of it stays.
	dictOffsets, dictNames []byte
	dictColumns            int      // how many: columns without names have no bytes either. 0 before the first block
	selectsAllColumns      bool     // every column is known to be wanted
	columns                [][]byte // cut out of names, if all is set
	// What is known of the columns, unless all is set: 0 nothing, else the length of
	// the column over classShift, and classWanted or classUnwanted.
	columnClass []uint32

	small   smallValues
	large   largeValues
	scanned cell.Scanned

	blockBuf      blockBuffer // the block at hand when it is neither in the cache nor in a stretch
	readBuf       readBuffer  // what was read with it
	readaheadSize uint64      // of the window, in a scan
	endEntry      int         // what wanted returns, 0 before it is needed
	readahead     readahead
	coming        coming
}

var errBound = errors.New("cell block: does not begin with the row that the index says")

const (
	classSelected = 1
	classSkipped  = 2
	classShift    = 2
)

// Dictionaries are numbered by iterator and, in that, by block loaded. An iterator
// keeps its number, and goes on counting, when it is used again.
var (
	iteratorPool = sync.Pool{New: func() any {
		return &Iterator{lastRun: cell.Run{DictionaryID: dictionaryCount.Add(1) << dictionaryBits}}
	}}
	dictionaryCount atomic.Uint64
)

const dictionaryBits = 40

// NewIterator returns an iterator, at no row. It must be closed.
func (t *Reader) NewIterator(o ReadOptions) *Iterator {
	it := iteratorPool.Get().(*Iterator)
	it.r, it.o, it.keyEntry = t, o, -1
	return it
}

// Close gives back what the iterator holds. The iterator and all it returned
// must not be used any more. It waits for a read that is under way, in a scan that
// has blocks opened ahead.
func (it *Iterator) Close() {
	it.readahead.stop()
	it.blockBuf.trim()
	it.readBuf.trim()
	it.small.buffers.trim()
	it.large.buffers.trim()
	poison.Bytes(it.key)
	poison.Bytes(it.dictOffsets)
	poison.Bytes(it.dictNames)
	*it = Iterator{
		lastRun: cell.Run{DictionaryID: it.lastRun.DictionaryID}, key: it.key[:0], dictOffsets: it.dictOffsets[:0], dictNames: it.dictNames[:0], columns: it.columns[:0], columnClass: it.columnClass[:0], blockBuf: it.blockBuf, readBuf: it.readBuf,
		small: smallValues{buffers: it.small.buffers}, large: largeValues{buffers: it.large.buffers},
	}
	iteratorPool.Put(it)
}

// Err returns the error that ended the iteration, if one did.
func (it *Iterator) Err() error { return it.err }

// Run describes the entries that Cells returned last, if there were any. It is valid
// as long as they are.
func (it *Iterator) Run() *cell.Run { return &it.lastRun }

// Scanned returns what the iterator has stepped over since its creation.
func (it *Iterator) Scanned() cell.Scanned { return it.scanned }

// Row returns the key of the current row, or nil if there is none. It is valid
// until the next SeekRow or NextRow.
func (it *Iterator) Row() []byte {
	if !it.valid {
		return nil
	}
	return it.key
}

// SeekRow goes to the first row whose key is at least row. An empty key is the
// start of the file.
func (it *Iterator) SeekRow(row []byte) {
	it.valid = false
	if it.err != nil {
		return
	}
	if it.index == nil {
		if it.index, it.err = it.r.openIndex(); it.err != nil {
			return
		}
	}
	if !it.load(it.index.seek(row)) {
		return
	}
	it.toRow(it.block.findRow(row))
}

// NextRow goes to the next row. Cells of the current row that were not taken
// count as scanned if they are in the block at hand; further blocks of the row
// are passed by.
func (it *Iterator) NextRow() {
	if !it.valid {
		return
	}
	if it.next < it.end {
		if it.skipCells(); !it.valid {
			return
		}
	}
	if it.row+1 < it.block.rows {
		it.stepRow()
		return
	}
	it.valid = false
	end := it.index.continues(it.entry+1, it.key)
	if end == it.entry+1 {
		it.toRow(it.block.rows)
		return
	}
	if it.load(end-1) && it.checkRow() {
		it.toRow(1)
	}
}

// toRow makes row r of the block the current one, or the first row of the next
// block if the block has no row r.
func (it *Iterator) toRow(r int) {
	if r < it.block.rows {
		it.setRow(r)
	} else if it.entry+1 < it.index.cells && it.load(it.entry+1) {
		it.setRow(0)
	}
}

// setRow makes row r of the block at hand the current one, by a step from where the row
// before it ends, if there is one.
func (it *Iterator) setRow(r int) {
	b := it.block
	if it.keyEntry != it.entry {
		it.key = append(it.key[:0], b.prefix...)
		it.keyEntry = it.entry
	}
	it.row, it.suffixEnd, it.end = r-1, b.rowOffsets.int(b.raw, r), b.rowStarts.int(b.raw, r)
	it.valid = true
	it.stepRow()
}

// stepRow makes the row behind the current one, which is in the same block, the current one.
// It begins where that one ends.
func (it *Iterator) stepRow() {
	if it.coming.is(it.entry + 1) {
		it.coming.ask(askedEach)
	}
	b := it.block
	it.row++
	from := it.suffixEnd
	it.suffixEnd = b.rowOffsets.int(b.raw, it.row+1)
	it.key = append(it.key[:len(b.prefix)], b.rowBytes[from:it.suffixEnd]...)
	it.first, it.next, it.end = it.end, it.end, b.rowStarts.int(b.raw, it.row+1)
}

// hasRow makes sure that the block at hand begins with the row of key, as its
// bound in the index says.
func (it *Iterator) checkRow() bool {
	if it.block.isRow(0, it.key) {
		return true
	}
	it.fail(it.r.corrupt(it.index.handle(it.entry).offset, errBound))
	return false
}

func (it *Iterator) fail(err error) {
	it.err, it.valid = err, false
}

// nextBlock goes on to the next block in which the current row has cells that
// may be wanted. It reports false if there is none, or on an error.
func (it *Iterator) nextBlock() bool {
	e := it.entry + 1
	end := it.index.continues(e, it.key)
	if e == end {
		return false
	}
	if it.o.Columns != nil {
		selected, ok := nextSelected(it.o.Columns, it.index.column(it.index.columnID(e)))
		if !ok {
			return false
		}
		e = it.index.seekColumn(e, end, selected)
	}
	if !it.load(e) || !it.checkRow() {
		return false
	}
	it.setRow(0) // the key stays as it is: hasRow has compared it
	return true
}

// nextWanted returns the first column at or after this one that a set wants to
// see. The tombstones of a family come before its columns, so a range within a
// family wants them too, and those of the row in any case.
func nextSelected(set *cell.Columns, column []byte) (first []byte, ok bool) {
	if len(column) == 0 {
		return column, true
	}
	for _, r := range set.Ranges() {
		if r.End != nil && bytes.Compare(column, r.End) >= 0 {
			continue
		}
		if bytes.Compare(column, r.Start) >= 0 {
			return column, true
		}
		if family, _ := cell.SplitColumn(r.Start); bytes.Compare(column, family) <= 0 {
			return family, true
		}
		return r.Start, true
	}
	return nil, false
}

// load makes the block of an index entry the block at hand.
func (it *Iterator) load(entry int) bool {
	if it.block != nil && it.entry == entry {
		return true
	}
	b, err := it.open(entry)
	if err != nil {
		it.fail(err)
		return false
	}
	it.entry, it.block = entry, b
	it.small.reset(b)
	it.large.reset()
	it.setDictionary(b)
	return true
}

// open returns the block of an index entry: from the stretch that was opened ahead,
// from the cache, or from the file.
func (it *Iterator) open(entry int) (*cellBlock, error) {
	if it.readahead.active() {
		if b, err := it.readahead.block(it, entry); b != nil || err != nil {
			return b, err
		}
	}
	sequential := it.block != nil && entry == it.entry+1
	if !it.coming.is(entry) {
		it.coming.find(it, entry)
	}
	if b := it.coming.block; b != nil {
		if sequential {
			it.comes()
		} else {
			it.coming.ask(min(askedAtSeek, len(b.raw)))
		}
		return b, nil
	}
	h := it.index.handle(entry)
	if err := it.fillReadBuffer(entry, sequential); err != nil {
		return nil, err
	}
	return it.r.readCellBlock(h, it.o.wholeBlocks(), it.o.FillCache, &it.readBuf, &it.blockBuf)
}

// comes is for a block of a walk that is in the cache: the processor is asked for all of it that
// it was not asked for yet, and for the beginning of the next.
func (it *Iterator) comes() {
	it.coming.ask(math.MaxInt)
	if next := it.coming.entry + 1; next < it.index.cells {
		it.coming.find(it, next)
	}
}

// A scan reads the file in stretches that grow from the first number of bytes to
// the second, so that a short one does not read much more than it needs.
const (
	minReadahead = 32 << 10
	maxReadahead = 64 << 10
)

const (
	// mostTogether is the most bytes of small blocks that are read with their cell
	// block for a single row, which may need only one of several.
	maxValuesWithKeys = 16 << 10
	// mostGap is the most bytes of small blocks that are read, though no values are
	// wanted, to get to the next cell block with the same call.
	maxReadGap = 4 << 10
)

// wanted returns the entry from which on no block is wanted: the next one after the block that the first
// row from ReadOptions.ReadaheadEnd on begins in, or would.
func (it *Iterator) readaheadEnd() int {
	if it.endEntry == 0 {
		_, last := it.index.entriesWithin(nil, it.o.ReadaheadEnd)
		it.endEntry = last + 1
	}
	return it.endEntry
}

// readAround reads the block of an entry and what will be needed with it, if that
// is next to it in the file: its small blocks and, in a scan, further entries that are
// wanted. What follows the longest window is opened ahead.
func (it *Iterator) fillReadBuffer(entry int, sequential bool) error {
	if !sequential {
		it.readaheadSize = 0
	}
	h := it.index.handle(entry)
	from := it.index.from(entry)
	switch {
	case it.readBuf.holds(h), it.o.KeysOnly && h.offset-from > maxReadGap:
		return nil
	case sequential:
		it.readaheadSize = min(max(2*it.readaheadSize, minReadahead), maxReadahead)
		end := min(it.index.readEnd(entry, it.readaheadSize), it.readaheadEnd())
		if end <= entry {
			return nil
		}
		if it.readaheadSize == maxReadahead {
			it.readahead.start(it, end)
		}
		return it.readBuf.fill(it.r, from, it.index.handle(end-1).end())
	case it.o.wholeBlocks() && h.offset-from <= maxValuesWithKeys:
		return it.readBuf.fill(it.r, from, h.end())
	}
	return nil
}
