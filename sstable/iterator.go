package sstable

import (
	"bytes"
	"errors"
	"math"
	"sync"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/internal/poison"
)

// ReadOptions control an iterator.
type ReadOptions struct {
	// Columns are the columns to return, nil for all. Tombstones of families and
	// rows are returned with any of them (see cell.Columns.Wants).
	Columns *cell.Columns
	// KeysOnly returns nil values and reads none from value blocks. Their lengths
	// still count in Scanned.
	KeysOnly bool
	// FillCache puts blocks that are read into the cache, if it admits them.
	// Without it they go through buffers of the iterator. Cached blocks are used
	// in either case.
	FillCache bool
	// Times are those of the versions that the caller needs, nil for all. Blocks without
	// any of them are left out, unless they have tombstones that cover versions of any
	// time; rows may be missing with them. Entries of other times that are in the blocks
	// read are returned.
	Times *cell.TimeRange
	// Passed, if not nil, is a column up to which the caller needs nothing more of the
	// current row, empty for none. The caller changes it as it reads. Blocks of the row
	// that have nothing after it are left out.
	Passed *[]byte
	// Counts, if not nil, is added to.
	Counts *ReadCounts
	// ReadaheadEnd is a row at and after which the caller wants nothing, nil for
	// none. Later rows may still be returned, but not read ahead. The iterator
	// keeps the slice.
	ReadaheadEnd []byte
	// ReadaheadStart is the same for an iterator that moves down: it wants nothing
	// before this row.
	ReadaheadStart []byte
}

// ReadCounts says what iterators have used of files, and what they have left out. A block to which an iterator that
// moves down comes back counts again.
type ReadCounts struct {
	BlocksRead, BlocksCached uint64 // cell blocks, from the file and from the cache
	ValuesRead, ValuesCached uint64 // value blocks

	// BytesDecompressed are those of the blocks of both kinds that were read from the file, as long as they
	// are without compression.
	BytesDecompressed uint64

	SkippedByTimes   uint64 // cell blocks with no time of the read
	SkippedByColumns uint64 // cell blocks of a row with none of its columns, or none that it still needs

	CellsLeftOut uint64 // cells that are not selected, in the blocks used
}

// wholeBlocks reports whether the small values of cell blocks are surely needed. A scan
// of some columns may need none of a block, but a cached block serves other reads, too.
func (o *ReadOptions) wholeBlocks() bool {
	return !o.KeysOnly && (o.Columns == nil || o.FillCache)
}

// An Iterator walks over the rows of a file, up or down, and over the cells of each
// row. It is not safe for concurrent use.
//
// After an error there is no current row, and every further call does nothing. Cells
// returned before are valid, but maybe not the whole row: check Err before using a
// row.
type Iterator struct {
	r   *Reader
	o   ReadOptions
	err error

	index *index // nil until the first SeekRow
	entry int    // of the current block
	block *cellBlock
	row   int    // in the block, if valid
	key   []byte // of the current row
	valid bool   // there is a current row
	down  bool   // the iterator moves down; see iterator_reverse.go

	keyEntry int // entry whose block prefix key begins with, -1 for none

	lastRun cell.Run // describes the cells returned last

	first, next, end int // cells of the row in the block: first, next to return, end
	suffixEnd        int // end of the row's suffix in the block's row bytes

	// dictOffsets and dictNames are the column dictionary of the current block, as
	// returned by cellBlock.dictionary. Most blocks of a table have the same one, and
	// what is derived from it is kept.
	dictOffsets, dictNames []byte
	dictColumns            int      // number of columns, since columns without names have no bytes; 0 before the first block
	selectsAllColumns      bool     // every column is known to be selected
	columns                [][]byte // slices of dictNames, if selectsAllColumns
	// For each column unless selectsAllColumns: 0 if unknown, else its length shifted by
	// classShift, and classSelected or classSkipped.
	columnClass []uint32

	small   smallValues
	large   largeValues
	scanned cell.Scanned

	times  timeFilter
	passed []byte // scratch

	blockBuf      blockBuffer // the current block if it is neither cached nor in a readahead window
	readBuf       readBuffer  // what was read with it
	readaheadSize uint64      // of a scan's next read
	endEntry      int         // what readaheadEnd returns, 0 before the first call
	startEntry    int         // one more than what readaheadStart returns, 0 before the first call
	readahead     readahead
	prefetcher    blockPrefetcher
}

var (
	errBound     = errors.New("cell block: does not begin with the row that the index says")
	errContinued = errors.New("cell block: does not end with the row that the index says")
)

const (
	classSelected = 1
	classSkipped  = 2
	classShift    = 2
)

// A dictionary id has the number of the iterator in its upper bits and a count of its
// dictionaries below. A reused iterator keeps its number and goes on counting.
var (
	iteratorPool = sync.Pool{New: func() any {
		return &Iterator{lastRun: cell.Run{DictionaryID: dictionaryCount.Add(1) << dictionaryBits}}
	}}
	dictionaryCount atomic.Uint64
)

const dictionaryBits = 40

// NewIterator returns an iterator without a current row. Close it after use.
func (t *Reader) NewIterator(o ReadOptions) *Iterator {
	it := iteratorPool.Get().(*Iterator)
	it.r, it.o, it.keyEntry = t, o, -1
	return it
}

// Close releases the iterator. Neither it nor anything it returned may be used after
// that. It waits for readahead that is under way.
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
		passed: it.passed[:0],
		small:  smallValues{buffers: it.small.buffers}, large: largeValues{buffers: it.large.buffers},
	}
	iteratorPool.Put(it)
}

// Err returns the error that ended the iteration, or nil.
func (it *Iterator) Err() error { return it.err }

// Run describes the cells that Cells returned last. It is valid as long as they are.
func (it *Iterator) Run() *cell.Run { return &it.lastRun }

// Scanned returns what the iterator has stepped over since NewIterator.
func (it *Iterator) Scanned() cell.Scanned { return it.scanned }

// Row returns the key of the current row, nil if there is none. It is valid until the
// next move to another row.
func (it *Iterator) Row() []byte {
	if !it.valid {
		return nil
	}
	return it.key
}

// SeekRow moves to the first row whose key is at least row. An empty key is the start of
// the file.
func (it *Iterator) SeekRow(row []byte) {
	it.valid = false
	if it.err != nil {
		return
	}
	if it.index == nil && !it.openIndex() {
		return
	}
	if it.loadFrom(it.index.seek(row)) {
		it.toRow(it.block.findRow(row))
	}
}

// openIndex loads the index, and the times of the blocks if the read has a range of times.
func (it *Iterator) openIndex() bool {
	if it.index, it.err = it.r.openIndex(); it.err != nil {
		return false
	}
	if it.o.Times == nil {
		return true
	}
	times, err := it.r.openTimes(it.index)
	if times != nil {
		it.times = times.filter(*it.o.Times)
	}
	it.err = err
	return err == nil
}

// loadFrom makes the first block from an entry on that the read needs the current one. It reports false if
// there is none, or on an error.
func (it *Iterator) loadFrom(entry int) bool {
	if it.times.active() {
		if entry = it.skipTo(entry, it.index.cells); entry >= it.readaheadEnd() {
			return false
		}
	}
	return entry < it.index.cells && it.load(entry)
}

// skipTo returns the first entry from e on, up to end, whose block has times of the read.
func (it *Iterator) skipTo(e, end int) int {
	next := it.times.next(e, min(end, it.readaheadEnd()))
	it.countSkippedByTimes(next - e)
	return next
}

// countBlock counts a cell block that is used, nil for none.
func (it *Iterator) countBlock(b *cellBlock, read bool) {
	counts := it.o.Counts
	if counts == nil || b == nil {
		return
	}
	if !read {
		counts.BlocksCached++
		return
	}
	counts.BlocksRead++
	counts.BytesDecompressed += uint64(len(b.raw) - guard)
	if b.smallBlocks == 1 && len(b.values) > 0 { // they were read with it
		it.countValues(len(b.values), true)
	}
}

// countValues counts a value block of n bytes that is used.
func (it *Iterator) countValues(n int, read bool) {
	switch counts := it.o.Counts; {
	case counts == nil:
	case read:
		counts.ValuesRead++
		counts.BytesDecompressed += uint64(n)
	default:
		counts.ValuesCached++
	}
}

func (it *Iterator) countSkippedByTimes(n int) {
	if it.o.Counts != nil {
		it.o.Counts.SkippedByTimes += uint64(max(n, 0))
	}
}

func (it *Iterator) countSkippedByColumns(n int) {
	if it.o.Counts != nil {
		it.o.Counts.SkippedByColumns += uint64(n)
	}
}

// countLeftOut counts the cells that are not selected among n of which some were returned.
func (it *Iterator) countLeftOut(n, returned int) {
	if it.o.Counts != nil {
		it.o.Counts.CellsLeftOut += uint64(n - returned)
	}
}

// NextRow moves to the next row. Cells that were not returned count as scanned if they are
// in the current block; further blocks of the row are skipped.
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
	if !it.times.wants(end - 1) {
		it.loadNext(end)
		return
	}
	if it.load(end-1) && it.checkRow() {
		it.toRow(1)
	}
}

// toRow moves to row r of the block, or to the first row of the next block if the block
// has no row r.
func (it *Iterator) toRow(r int) {
	if r < it.block.rows {
		it.setRow(r)
	} else {
		it.loadNext(it.entry + 1)
	}
}

// loadNext moves to the first row of the first block from an entry on that the read needs. The row may
// have begun in a block that is left out.
func (it *Iterator) loadNext(entry int) {
	if it.loadFrom(entry) {
		it.setRow(0)
	}
}

// setRow moves to row r of the current block.
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

// stepRow moves to the next row of the current block, which begins where the current row
// ends.
func (it *Iterator) stepRow() {
	if it.prefetcher.holds(it.entry + 1) {
		it.prefetcher.fetch(prefetchEach)
	}
	b := it.block
	it.row++
	from := it.suffixEnd
	it.suffixEnd = b.rowOffsets.int(b.raw, it.row+1)
	it.key = append(it.key[:len(b.prefix)], b.rowBytes[from:it.suffixEnd]...)
	it.first, it.next, it.end = it.end, it.end, b.rowStarts.int(b.raw, it.row+1)
}

// checkRow checks that the current block begins with the current row, as its bound in
// the index says.
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

// nextBlock moves to the next block with cells of the current row that may be selected.
// It reports false if there is none, or on an error.
func (it *Iterator) nextBlock() bool {
	e := it.entry + 1
	end := it.index.continues(e, it.key)
	if e == end {
		return false
	}
	if it.o.Columns != nil {
		selected, ok := nextSelected(it.o.Columns, it.index.column(it.index.columnID(e)))
		if !ok {
			it.countSkippedByColumns(end - 1 - e) // the next row may begin in the last one
			return false
		}
		e = it.seekColumn(e, end, selected)
	}
	if it.o.Passed != nil && len(*it.o.Passed) > 0 {
		it.passed = append(append(it.passed[:0], *it.o.Passed...), 0) // the next possible column
		e = it.seekColumn(e, end, it.passed)
	}
	if it.times.active() {
		n := it.times.next(e, end)
		it.countSkippedByTimes(n - e)
		if e = n; e == end {
			return false
		}
	}
	if !it.load(e) || !it.checkRow() {
		return false
	}
	it.setRow(0) // key stays: checkRow has compared it
	return true
}

// seekColumn is index.seekColumn, and counts what it skips.
func (it *Iterator) seekColumn(e, end int, column []byte) int {
	next := it.index.seekColumn(e, end, column)
	it.countSkippedByColumns(next - e)
	return next
}

// nextSelected returns the first column at or after this one that a read of the set needs.
// That includes tombstones: of a family, before a range within the family, and of the
// row.
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

// load makes the block of an entry the current one.
func (it *Iterator) load(entry int) bool {
	if it.block != nil && it.entry == entry {
		return true
	}
	b, err := it.open(entry)
	if err != nil {
		it.fail(err)
		return false
	}
	it.enter(entry, b)
	return true
}

// enter makes b, the block of an entry, the current one.
func (it *Iterator) enter(entry int, b *cellBlock) {
	it.entry, it.block = entry, b
	it.scanned.Read += uint64(len(b.raw))
	if b.smallBlocks > 0 && !it.o.KeysOnly {
		it.scanned.Read += uint64(len(b.values)) // read with the cell block, if at all
	}
	it.small.reset(b)
	it.large.reset()
	it.setDictionary(b)
}

// open returns the block of an entry: from readahead, the cache or the file.
func (it *Iterator) open(entry int) (*cellBlock, error) {
	if it.readahead.active() {
		if b, err := it.readahead.block(it, entry); b != nil || err != nil {
			it.countBlock(b, it.readahead.fromFile(entry))
			return b, err
		}
	}
	sequential := it.block != nil && (entry == it.entry+1 || entry > it.entry && it.times.next(it.entry+1, entry) == entry)
	if !it.prefetcher.holds(entry) {
		it.prefetcher.begin(it, entry)
	}
	if b := it.prefetcher.block; b != nil {
		if sequential {
			it.prefetchNext()
		} else {
			it.prefetcher.fetch(min(prefetchAtSeek, len(b.raw)))
		}
		it.countBlock(b, false)
		return b, nil
	}
	h := it.index.handle(entry)
	if err := it.fillReadBuffer(entry, sequential); err != nil {
		return nil, err
	}
	b, err := it.r.readCellBlock(h, it.o.wholeBlocks(), it.o.FillCache, &it.readBuf, &it.blockBuf)
	it.countBlock(b, true)
	return b, err
}

// prefetchNext handles the next cached block of a scan: it prefetches the rest of the block, and
// the start of the one after it.
func (it *Iterator) prefetchNext() {
	it.prefetcher.fetch(math.MaxInt)
	next, end := it.prefetcher.entry+1, it.index.cells
	if it.times.active() {
		end = min(end, next+maxPrefetchGap)
		next = it.times.next(next, end)
	}
	if next < end {
		it.prefetcher.begin(it, next)
	}
}

// maxPrefetchGap is the most blocks between two that a read needs, the second of which is prefetched.
const maxPrefetchGap = 64

// The reads of a scan grow from minReadahead to maxReadahead bytes, so a short scan reads
// little that it does not need.
const (
	minReadahead = 32 << 10
	maxReadahead = 64 << 10
)

const (
	// maxValuesWithKeys is the most bytes of small blocks that a read of a single row
	// reads with the cell block. It may need only one of several.
	maxValuesWithKeys = 16 << 10
	// maxReadGap is the most bytes of unneeded small blocks that are read between two
	// cell blocks: up to that, it costs less than another call.
	maxReadGap = 4 << 10
)

// readaheadEnd returns the entry from which on no block is needed: the one after the
// block in which the first row at or after ReadOptions.ReadaheadEnd begins. An iterator
// that moves down goes forward only within a row.
func (it *Iterator) readaheadEnd() int {
	if it.down {
		return it.index.continues(it.entry+1, it.key)
	}
	if it.endEntry == 0 {
		_, last := it.index.entriesWithin(nil, it.o.ReadaheadEnd)
		it.endEntry = last + 1
	}
	return it.endEntry
}

// stretchEnd returns the end of the entries from one on, up to end, that are worth reading with one call:
// up to the first gap of more than maxReadGap bytes of blocks that the read does not need.
func (it *Iterator) stretchEnd(entry, end int) int {
	if !it.times.active() {
		return end
	}
	last := entry
	for e := entry + 1; e < end && it.index.from(e)-it.index.handle(last).end() <= maxReadGap; e++ {
		if it.times.wants(e) {
			last = e
		}
	}
	return min(last+1, end)
}

// fillReadBuffer reads the block of an entry and what will be needed with it, if that is
// adjacent: its small blocks and, in a scan, further entries before readaheadEnd. After
// the longest such read, a scan goes on with readahead.
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
		end := it.stretchEnd(entry, min(it.index.readEnd(entry, it.readaheadSize), it.readaheadEnd()))
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
