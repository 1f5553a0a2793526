package sstable

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// A countingReader counts the bytes that are read.
type countingReader struct {
	io.ReaderAt
	calls, bytes atomic.Int64
}

func (r *countingReader) ReadAt(p []byte, offset int64) (int, error) {
	r.calls.Add(1)
	r.bytes.Add(int64(len(p)))
	return r.ReaderAt.ReadAt(p, offset)
}

func openCounting(t testing.TB, file []byte, cache Cache) (*Reader, *countingReader) {
	t.Helper()
	c := &countingReader{ReaderAt: bytes.NewReader(file)}
	r, err := Open(c, int64(len(file)), testID, cache)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.openIndex(); err != nil {
		t.Fatal(err)
	}
	c.calls.Store(0)
	c.bytes.Store(0)
	return r, c
}

// wideRow is a file of one very wide row between two narrow ones, with many versions of
// each column.
func wideRow(columns, versions int) (list []entry) {
	value := bytes.Repeat([]byte("v"), 20)
	add := func(row string, qualifier, version int) {
		column := fmt.Appendf(nil, "f\x00%06d", qualifier)
		list = append(list, entry{[]byte(row), cell.Cell{Column: column, Value: value, Time: int64(version), Type: cell.String}})
	}
	add("a", 1, 1)
	for q := range columns {
		for v := range versions {
			add("wide", q, v)
		}
	}
	add("z", 1, 1)
	return sortEntries(list)
}

// A read of one column of a wide row uses the index to find its blocks, and NextRow skips
// the rest of the row.
func TestWideRow(t *testing.T) {
	list := wideRow(6000, 10)
	file, info := build(t, list, WriterOptions{ID: testID})
	if info.CellBlocks < 20 {
		t.Fatalf("only %d blocks", info.CellBlocks)
	}
	for _, q := range []int{0, 1, 2999, 5998, 5999} {
		r, c := openCounting(t, file, nil)
		column := fmt.Appendf(nil, "%06d", q)
		columns := cell.NewColumns(cell.ColumnRange([]byte("f"), column))
		it := r.NewIterator(ReadOptions{Columns: columns})
		got := collect(it, []byte("wide"), 1)
		want := slices.DeleteFunc(slices.Clone(list), func(e entry) bool {
			return string(e.row) != "wide" || !columns.Contains(e.Column)
		})
		diff(t, string(column), got, want)
		if n := it.Scanned().Cells; n > uint64(len(list)/5) {
			t.Errorf("column %s: scanned %d of %d cells", column, n, len(list))
		}
		if n := c.bytes.Load(); n > int64(len(file)/5) {
			t.Errorf("column %s: read %d of %d bytes", column, n, len(file))
		}
		it.SeekRow([]byte("wide"))
		it.NextRow()
		if string(it.Row()) != "z" {
			t.Errorf("column %s: row after the wide one: %q, %v", column, it.Row(), it.Err())
		}
		it.Close()
	}
}

// Large values are read only when their cells are returned. Small ones are skipped only if
// they are many.
func TestValuesReadLate(t *testing.T) {
	var list []entry
	for i := range 500 {
		row := fmt.Appendf(nil, "row%04d", i)
		contents := bytes.Repeat([]byte{byte(i)}, 3000+i)
		list = append(list,
			entry{row, cell.Cell{Column: []byte("f\x00contents"), Value: contents, Type: cell.Bytes}},
			entry{row, cell.Cell{Column: []byte("f\x00language"), Value: []byte("en"), Type: cell.String}},
			entry{row, cell.Cell{Column: []byte("f\x00title"), Value: bytes.Repeat([]byte("t"), 60), Type: cell.String}})
	}
	file, info := build(t, list, WriterOptions{ID: testID})
	for _, test := range []struct {
		name  string
		o     ReadOptions
		most  int64
		plain [2]uint64 // bytes of blocks without compression, from and to
	}{
		{"language", ReadOptions{Columns: cell.NewColumns(cell.ColumnRange([]byte("f"), []byte("language")))}, 80_000, [2]uint64{31_000, 60_000}},
		{"keys", ReadOptions{KeysOnly: true}, 50_000, [2]uint64{5_000, 28_000}},
		{"contents", ReadOptions{Columns: cell.NewColumns(cell.ColumnRange([]byte("f"), []byte("contents")))}, 1_700_000, [2]uint64{1_624_750, 1_670_000}},
		{"all", ReadOptions{}, 1_700_000, [2]uint64{1_655_000, 1_690_000}},
	} {
		r, c := openCounting(t, file, nil)
		it := r.NewIterator(test.o)
		got := collect(it, nil, 1<<30)
		var want []entry
		for _, e := range list {
			if !test.o.Columns.Contains(e.Column) {
				continue
			}
			if test.o.KeysOnly {
				e.Value = nil
			}
			want = append(want, e)
		}
		diff(t, test.name, got, want)
		checkScanned(t, test.name, it.Scanned(), list)
		if n := it.Scanned().Read; n < test.plain[0] || n > test.plain[1] {
			t.Errorf("%s: the blocks have %d bytes, want %d", test.name, n, test.plain)
		}
		if n := c.bytes.Load(); n > test.most {
			t.Errorf("%s: read %d bytes of %d in %d calls", test.name, n, info.Size, c.calls.Load())
		}
		it.Close()
	}
}

// Cells of rows that were skipped count as scanned.
func TestSkippedRowsCount(t *testing.T) {
	for c := None; c <= S2; c++ {
		file, _, list := smallFile(t, testID, c)
		it := open(t, file, testID, nil).NewIterator(ReadOptions{})
		rows := 0
		for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
			rows++
		}
		got := it.Scanned()
		if it.Err() != nil || rows != 10 {
			t.Fatalf("%d rows, %v", rows, it.Err())
		}
		it.Close()
		// Row 5 continues over several blocks, which are skipped.
		r := open(t, file, testID, nil)
		var want cell.Scanned
		x, _ := r.openIndex()
		for e := range x.cells {
			raw, _ := r.readOwned(x.handle(e), maxCellBlock, new(readBuffer))
			var b cellBlock
			if err := b.parse(raw); err != nil {
				t.Fatal(err)
			}
			first, _ := b.rowCells(0)
			if !x.isHead(e) {
				_, first = b.rowCells(0)
			}
			want.Cells += uint64(b.cells - first)
		}
		if got.Cells != want.Cells || got.Bytes == 0 || got.Cells >= uint64(len(list)) {
			t.Errorf("scanned %+v, want %d of %d cells", got, want.Cells, len(list))
		}
	}
}

func TestConcurrentReads(t *testing.T) {
	g := newGenerator(9)
	list := g.entries(300, 500)
	file, _ := build(t, list, WriterOptions{ID: testID, Compression: Zstd, BlockSize: 2 << 10})
	cache := &testCache{picky: true}
	r := open(t, file, testID, cache)
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			it := r.NewIterator(ReadOptions{FillCache: i%2 == 0})
			defer it.Close()
			diff(t, fmt.Sprintf("reader %d", i), collect(it, nil, 1<<30), list)
			for _, e := range list {
				if ok, err := mayContain(r, e.row); !ok || err != nil {
					t.Errorf("MayContain(%q): %v, %v", e.row, ok, err)
					return
				}
			}
		})
	}
	wait.Wait()
}

// Reads do not allocate, neither per cell nor per row, once buffers have grown.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("pools lose things under the race detector")
	}
	list := benchEntries(2000)
	for c := None; c <= Zstd; c++ {
		file, _ := build(t, list, WriterOptions{ID: testID, Compression: c})
		for _, cache := range []Cache{nil, new(testCache)} {
			r := open(t, file, testID, cache)
			var cells []cell.Cell
			columns := cell.NewColumns(cell.FamilyRange([]byte("page")))
			read := func(o ReadOptions, rows int) {
				it := r.NewIterator(o)
				for it.SeekRow(list[5000].row); it.Row() != nil && rows > 0; it.NextRow() {
					for cells = it.Cells(cells[:0]); len(cells) > 0; cells = it.Cells(cells[:0]) {
					}
					rows--
				}
				it.Close()
			}
			for name, f := range map[string]func(){
				"row":     func() { read(ReadOptions{FillCache: true}, 1) },
				"scan":    func() { read(ReadOptions{FillCache: true}, 1000) },
				"columns": func() { read(ReadOptions{FillCache: true, Columns: columns}, 1000) },
				"filter":  func() { mayContain(r, []byte("absent")) },
			} {
				if n := testing.AllocsPerRun(20, f); n > 1 { // the pool may drop an iterator
					t.Errorf("%v, cached %v: %s: %v allocations", c, cache != nil, name, n)
				}
			}
		}
	}
}

// An iterator has no row after an error.
func TestIteratorAfterError(t *testing.T) {
	file, _, list := smallFile(t, testID, None)
	blocks := blocksOf(t, file, testID)
	file[blocks[5].offset] ^= 1
	it := open(t, file, testID, nil).NewIterator(ReadOptions{})
	defer it.Close()
	collect(it, nil, 1<<30)
	if it.Err() == nil {
		t.Fatal("no error")
	}
	err := it.Err()
	it.SeekRow(list[0].row)
	it.NextRow()
	if cells := it.Cells(nil); it.Row() != nil || len(cells) != 0 || it.Err() != err {
		t.Errorf("after %v: row %q, %d cells, %v", err, it.Row(), len(cells), it.Err())
	}
}

func TestIteratorBeforeSeek(t *testing.T) {
	file, _, _ := smallFile(t, testID, None)
	it := open(t, file, testID, nil).NewIterator(ReadOptions{})
	it.NextRow()
	if cells := it.Cells(nil); it.Row() != nil || len(cells) != 0 || it.Err() != nil {
		t.Errorf("before the first seek: row %q, %d cells, %v", it.Row(), len(cells), it.Err())
	}
	it.Close()
}

// After the last row there are no cells, not even those of an unread row of one cell.
func TestIteratorBehindLastRow(t *testing.T) {
	file, _ := build(t, []entry{{[]byte("row"), set("f\x00a", 1, 1)}}, WriterOptions{ID: testID})
	it := open(t, file, testID, nil).NewIterator(ReadOptions{})
	defer it.Close()
	it.SeekRow(nil)
	it.SeekRow([]byte("rox"))
	if cells := it.Cells(nil); it.Row() != nil || len(cells) != 0 || it.Err() != nil {
		t.Errorf("behind the last row: row %q, %d cells, %v", it.Row(), len(cells), it.Err())
	}
}

// TestDictionary: cells of one dictionary have equal ids if and only if their columns are
// equal, and ids ascend as columns do. No two iterators share a dictionary id, reused ones
// included.
func TestDictionary(t *testing.T) {
	type columnKey struct {
		dictionary uint64
		place      uint32
	}
	columns := make(map[columnKey]string)
	order := make(map[uint64]map[string]uint32)
	loads := 0
	for seed := range uint64(20) {
		g := newGenerator(seed)
		list := g.entries(1+g.IntN(200), 500)
		o := options(g)
		file, _ := build(t, list, o)
		r := open(t, file, o.ID, nil)
		for _, read := range []ReadOptions{{}, {Columns: g.columns(list)}} {
			it := r.NewIterator(read)
			var block uint64
			for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
				for cells := it.Cells(nil); len(cells) > 0; cells = it.Cells(nil) {
					d := it.Run().DictionaryID
					if d != block {
						if order[d] != nil {
							t.Fatalf("seed %d: a dictionary with the number of an earlier one", seed)
						}
						block, order[d] = d, make(map[string]uint32)
						loads++
					}
					for _, c := range cells {
						if before, ok := columns[columnKey{d, c.ColumnID}]; ok && before != string(c.Column) {
							t.Fatalf("seed %d: place %d is of %q and of %q", seed, c.ColumnID, before, c.Column)
						}
						columns[columnKey{d, c.ColumnID}] = string(c.Column)
						order[d][string(c.Column)] = c.ColumnID
					}
				}
			}
			it.Close()
		}
	}
	if loads < 100 {
		t.Fatalf("only %d blocks", loads)
	}
	for d, places := range order {
		last := uint32(0)
		for _, column := range slices.Sorted(maps.Keys(places)) {
			if d == 0 || places[column] <= last {
				t.Fatalf("dictionary %d: column %q has place %d, the one before %d", d, column, places[column], last)
			}
			last = places[column]
		}
	}
}

// A run describes its cells correctly, and the last run of a row has EndOfRow.
func TestRun(t *testing.T) {
	everything := cell.NewColumns(cell.Range{})
	plain, last, several, wanted := 0, 0, 0, 0
	for seed := range uint64(40) {
		g := newGenerator(seed)
		list := sortEntries(append(g.entries(1+g.IntN(200), 500), benchEntries(1+g.IntN(100))...))
		o := options(g)
		file, _ := build(t, list, o)
		for _, read := range []ReadOptions{{}, {KeysOnly: true}, {Columns: g.columns(list)}, {Columns: everything}} {
			it := open(t, file, o.ID, nil).NewIterator(read)
			for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
				runs, ended := 0, false
				for cells := it.Cells(nil); len(cells) > 0; cells = it.Cells(nil) {
					if ended {
						t.Fatalf("seed %d: row %q goes on behind its last run", seed, it.Row())
					}
					checkRun(t, it.Run(), cells, read.Columns)
					runs++
					if ended = it.Run().EndOfRow; ended {
						last++
					}
					if it.Run().SingleVersion {
						plain++
					}
					if it.Run().AllSelected && read.Columns != nil {
						wanted++
					}
				}
				if runs > 1 {
					several++
				}
				if runs > 0 && !ended && read.Columns == nil {
					t.Fatalf("seed %d: row %q has no last run", seed, it.Row())
				}
			}
			it.Close()
		}
	}
	if plain < 100 || last < 100 || several < 100 || wanted < 100 {
		t.Fatalf("%d runs are plain, %d the last, %d wanted though there is a filter, and %d rows have several", plain, last, wanted, several)
	}
}

// Rows of Sets are returned whole, whether one batch wrote them or several, and over any
// number of small blocks.
func TestRowsOfOneVersion(t *testing.T) {
	types := []cell.Type{cell.String, cell.Bytes}
	one, several, parted := 0, 0, 0
	for seed := range uint64(30) {
		g := newGenerator(seed)
		var list []entry
		for row := range 60 {
			longest := []int{1, 60, 900}[g.IntN(3)]
			written := 1 + g.IntN(3) // batches
			for column := range 1 + g.IntN(40) {
				c := set(fmt.Sprintf("f\x00%02d", column), int64(100*row+g.IntN(written)), 0)
				c.Seq, c.Type, c.Value = uint64(c.Time), types[column%2], benchText(g, g.IntN(longest))
				list = append(list, entry{fmt.Appendf(nil, "row%03d", row), c})
			}
		}
		file, _ := build(t, list, options(g))
		for _, read := range []ReadOptions{{}, {KeysOnly: true}} {
			it := open(t, file, testID, nil).NewIterator(read)
			var got []entry
			for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
				runs, row, versions := 0, bytes.Clone(it.Row()), make(map[uint64]bool)
				for cells := it.Cells(nil); len(cells) > 0; cells = it.Cells(nil) {
					checkRun(t, it.Run(), cells, nil)
					for _, c := range cells {
						versions[c.Seq] = true
						c.Column, c.Value = bytes.Clone(c.Column), bytes.Clone(c.Value)
						got = append(got, entry{row, c})
					}
					runs++
				}
				if len(versions) == 1 {
					one++
				} else {
					several++
				}
				if runs > 1 && !read.KeysOnly {
					parted++
				}
			}
			checkWalk(t, fmt.Sprintf("seed %d, %+v", seed, read), it, got, list)
			it.Close()
		}
	}
	if one < 100 || several < 100 || parted < 100 {
		t.Fatalf("%d rows of one version, %d of several, %d in parts", one, several, parted)
	}
}

// checkWalk compares the entries and counts of a walk with the list.
func checkWalk(t *testing.T, what string, it *Iterator, got, list []entry) {
	t.Helper()
	want := slices.Clone(list)
	if it.o.KeysOnly {
		for i := range want {
			want[i].Value = nil
		}
	}
	diff(t, what, got, want)
	checkScanned(t, what, it.Scanned(), list)
}

// Rows of one cell are returned whole, with and without a column filter, from blocks of each form.
// Their runs have all flags that apply.
func TestRowsOfOneCell(t *testing.T) {
	types := []cell.Type{cell.String, cell.Bytes, cell.I64}
	before := []cell.Cell{{Time: 77}}
	met := make(map[string]int)
	everything := cell.NewColumns(cell.Range{})
	for seed := range uint64(40) {
		g := newGenerator(seed)
		longest, columns, batches := []int{1, 9, 900}[g.IntN(3)], 1+g.IntN(3), []int{1, 3, 300}[g.IntN(3)]
		var list []entry
		for row := range 300 {
			n := g.IntN(columns)
			written := g.IntN(batches)
			c := set(fmt.Sprintf("f\x00%02d", n), int64(1000+written), uint64(2000+written))
			if c.Type = types[n]; c.Type == cell.I64 {
				c.Value = benchText(g, 8)
			} else {
				c.Value = benchText(g, g.IntN(longest))
			}
			list = append(list, entry{fmt.Appendf(nil, "row%03d", row), c})
		}
		o := options(g)
		if longest == 900 {
			o.smallBlock = 2000
		}
		file, _ := build(t, list, o)
		for _, read := range []ReadOptions{{}, {KeysOnly: true}, {Columns: everything}} {
			it := open(t, file, testID, nil).NewIterator(read)
			var got []entry
			for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
				cells := it.Cells(before)
				if len(cells) != len(before)+1 || cells[0].Time != before[0].Time {
					t.Fatalf("seed %d: row %q has %d cells", seed, it.Row(), len(cells)-len(before))
				}
				met[fmt.Sprint("versions of their own ", it.block.versionPerCell)]++
				met[fmt.Sprint("values of one length ", it.block.valueLength >= 0)]++
				met[fmt.Sprint("behind the first small block ", it.small.block > 0)]++
				c, run := cells[len(before)], it.Run()
				want := cell.Run{DictionaryID: run.DictionaryID, SingleVersion: true, AllSelected: true, EndOfRow: true, MinSeq: c.Seq, MaxSeq: c.Seq, MinTime: c.Time}
				if *run != want || cap(c.Value) != len(c.Value) {
					t.Fatalf("seed %d: row %q has a value of %d bytes with room for %d in run %+v, want %+v", seed, it.Row(), len(c.Value), cap(c.Value), *run, want)
				}
				c.Column, c.Value = bytes.Clone(c.Column), bytes.Clone(c.Value)
				got = append(got, entry{bytes.Clone(it.Row()), c})
			}
			checkWalk(t, fmt.Sprintf("seed %d, %+v", seed, read), it, got, list)
			it.Close()

			it = open(t, file, testID, nil).NewIterator(read)
			for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
			}
			checkScanned(t, "all that were skipped", it.Scanned(), list)
			it.Close()
		}
	}
	for form, rows := range met {
		if rows < 100 || len(met) != 6 {
			t.Errorf("%d rows have %s, of %d forms", rows, form, len(met))
		}
	}
}

// A walk over cached blocks holds the next block to prefetch it, and drops it on Close: the
// iterator is reused for other files.
func TestWalkFindsNextBlock(t *testing.T) {
	cache := new(testCache)
	file, _ := build(t, benchEntries(300), WriterOptions{ID: testID, BlockSize: 1000})
	r := open(t, file, testID, cache)
	it := r.NewIterator(ReadOptions{FillCache: true})
	collect(it, nil, 300)
	it.Close()

	it = r.NewIterator(ReadOptions{})
	it.SeekRow(nil)
	if it.prefetcher.holds(1) {
		t.Error("a search looks for the next block")
	}
	for ; it.entry+1 < it.index.cells; it.NextRow() {
		if it.entry > 0 && (!it.prefetcher.holds(it.entry+1) || it.prefetcher.fetched == 0) {
			t.Fatalf("at entry %d of %d: %d bytes prefetched of entry %d", it.entry, it.index.cells, it.prefetcher.fetched, it.prefetcher.entry)
		}
	}
	it.Close()
	if it.prefetcher.block != nil {
		t.Error("a closed iterator has a block")
	}
}

// A row with the same column and version twice, which only damage makes, is no
// single-version run.
func TestTwiceIsNotPlain(t *testing.T) {
	file, _ := build(t, []entry{{[]byte("row"), set("f\x00a", 1, 1)}, {[]byte("row"), set("f\x00b", 1, 1)}}, WriterOptions{ID: testID})
	for _, twice := range []bool{false, true} {
		broken := tamper(t, file, 0, func(raw []byte) {
			var b cellBlock
			if err := b.parse(append(resize(nil, len(raw))[:0], raw...)); err != nil {
				t.Fatal(err)
			}
			if ids := b.columnIDs.span(raw, 0, 2); twice {
				ids[1] = ids[0]
			}
		})
		it := open(t, broken, testID, nil).NewIterator(ReadOptions{})
		it.SeekRow(nil)
		if cells := it.Cells(nil); len(cells) != 2 || it.Run().SingleVersion == twice {
			t.Errorf("twice %v: cells %v of a run %+v", twice, cells, it.Run())
		}
		it.Close()
	}
}

// checkRun compares a run with its cells.
func checkRun(t *testing.T, run *cell.Run, cells []cell.Cell, columns *cell.Columns) {
	t.Helper()
	for i := range cells {
		if run.AllSelected && !columns.Contains(cells[i].Column) {
			t.Fatalf("entry %d of %d, %+v, is in a run that is wanted", i, len(cells), cells[i])
		}
	}
	if !run.SingleVersion {
		return
	}
	for i := range cells {
		c := &cells[i]
		if c.Kind != cell.Set || i > 0 && bytes.Equal(c.Column, cells[i-1].Column) ||
			c.Seq < run.MinSeq || c.Seq > run.MaxSeq || c.Time < run.MinTime {
			t.Fatalf("entry %d of %d, %+v, is in a run with %+v", i, len(cells), *c, *run)
		}
	}
}

// The Reader holds index and filter if there is budget, otherwise the cache does. In either
// case each is read once.
func TestIndexAndFilterStay(t *testing.T) {
	file, _ := build(t, benchEntries(500), WriterOptions{ID: testID})
	for _, room := range []int{0, 1 << 20} {
		cache := &testCache{room: room}
		r, c := openCounting(t, file, cache) // reads the index
		for range 3 {
			var wait sync.WaitGroup
			for range 4 {
				wait.Go(func() {
					_, err := r.openIndex()
					_, err2 := mayContain(r, []byte("row"))
					if err != nil || err2 != nil {
						t.Error(err, err2)
					}
				})
			}
			wait.Wait()
		}
		want, kept := 2, room > 0
		if kept {
			want = 0
		}
		if n := len(cache.blocks); n != want || (r.index.Load() != nil) != kept || (r.filter.Load() != nil) != kept {
			t.Errorf("room %d: %d of them in the cache, want %d", room, n, want)
		}
		if n := c.calls.Load(); n != 1 {
			t.Errorf("room %d: %d reads after that of the index, want one of the filter", room, n)
		}
	}
}
