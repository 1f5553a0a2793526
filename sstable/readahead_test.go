package sstable

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// longFile is a file of longFileRows rows, long enough for readahead many times over. All tests share it.
func longFile(t *testing.T) (file []byte, list []entry) {
	long.once.Do(func() {
		long.list = benchEntries(longFileRows())
		long.file, _ = build(t, long.list, WriterOptions{ID: testID, Compression: S2})
	})
	if len(long.file) < 20*windowBytes {
		t.Fatalf("the file has %d bytes", len(long.file))
	}
	return long.file, long.list
}

// longFileRows are fewer under the race detector, which looks for what goroutines do, and that is the same in each window.
func longFileRows() int {
	if raceEnabled {
		return 8_000
	}
	return 20_000
}

var long struct {
	once sync.Once
	file []byte
	list []entry
}

// twoCores enables readahead on any machine, and checks at the end that none is left running.
func twoCores(t *testing.T) {
	before := runtime.GOMAXPROCS(2)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(before)
		if n := activeReadaheads.Load(); n != 0 {
			t.Errorf("%d iterators still read ahead after all are closed", n)
		}
	})
}

// walk reads rows of an iterator from its current row, and reports whether it used
// readahead.
func walk(it *Iterator, rows int) (list []entry, active bool) {
	var run []cell.Cell
	for ; it.Row() != nil && rows > 0; it.NextRow() {
		for run = it.Cells(run[:0]); len(run) > 0; run = it.Cells(run[:0]) {
			for _, c := range run {
				c.Column, c.Value = bytes.Clone(c.Column), bytes.Clone(c.Value)
				list = append(list, entry{bytes.Clone(it.Row()), c})
			}
		}
		active = active || it.readahead.current != nil
		rows--
	}
	return list, active
}

func TestReadahead(t *testing.T) {
	twoCores(t)
	file, list := longFile(t)
	page := cell.NewColumns(cell.FamilyRange([]byte("page")))
	for name, o := range map[string]ReadOptions{
		"all": {}, "fill": {FillCache: true}, "keys": {KeysOnly: true}, "columns": {Columns: page}, "columns, fill": {Columns: page, FillCache: true},
	} {
		var want []entry
		for _, e := range list {
			if o.KeysOnly {
				e.Value = nil
			}
			if o.Columns.Contains(e.Column) {
				want = append(want, e)
			}
		}
		cache := new(testCache)
		r := open(t, file, testID, cache)
		for _, cached := range []bool{false, o.FillCache} {
			it := r.NewIterator(o)
			it.SeekRow(nil)
			got, active := walk(it, len(list))
			if it.Err() != nil || active == cached {
				t.Errorf("%s: cached %v, readahead %v, %v", name, cached, active, it.Err())
			}
			diff(t, name, got, want)
			checkScanned(t, name, it.Scanned(), list)
			it.Close()
		}
	}
}

// A scan with readahead can seek anywhere and be closed at any time. It returns the same as
// one without.
func TestReadaheadTurnsAway(t *testing.T) {
	twoCores(t)
	file, list := longFile(t)
	rowOf := func(i int) []byte { return list[i].row }
	for _, c := range []struct{ fill, picky bool }{{}, {fill: true}, {fill: true, picky: true}} {
		r := open(t, file, testID, &testCache{picky: c.picky})
		it := r.NewIterator(ReadOptions{FillCache: c.fill})
		for _, from := range []int{0, len(list) / 2, 1000, len(list) / 2, len(list) - 50, 0} {
			at := from
			for bytes.Equal(rowOf(max(at-1, 0)), rowOf(from)) && at > 0 {
				at--
			}
			it.SeekRow(rowOf(from))
			got, _ := walk(it, 5000)
			diff(t, fmt.Sprintf("%+v, from %d", c, from), got, list[at:at+len(got)])
			if it.Err() != nil || len(got) < min(5000, len(list)-at) {
				t.Errorf("%+v, from %d: %d cells, %v", c, from, len(got), it.Err())
			}
		}
		it.Close()
	}
}

// An error in readahead is reported at its block, not before.
func TestReadaheadOfDamage(t *testing.T) {
	twoCores(t)
	file, list := longFile(t)
	blocks := blocksOf(t, file, testID)
	for _, n := range []int{len(blocks) / 3 * 2, len(blocks)/3*2 + 1} { // a cell block and a small block
		h := blocks[n]
		r := open(t, file, testID, nil)
		x, err := r.openIndex()
		if err != nil {
			t.Fatal(err)
		}
		var broken atomic.Bool
		r.r = readerAt(func(p []byte, at int64) (int, error) {
			n, err := bytes.NewReader(file).ReadAt(p, at)
			if i := int64(h.offset) - at; broken.Load() && i >= 0 && i < int64(n) {
				p[i] ^= 1
			}
			return n, err
		})
		entry := 0
		for x.handle(entry).end() < h.end() {
			entry++
		}
		broken.Store(true)
		it := r.NewIterator(ReadOptions{})
		it.SeekRow(nil)
		got, active := walk(it, len(list))
		var damage *CorruptError
		if !errors.As(it.Err(), &damage) || damage.Offset != int64(h.offset) || !active {
			t.Fatalf("readahead %v: got %v, want damage at %d", active, it.Err(), h.offset)
		}
		if it.entry != entry-1 {
			t.Errorf("damage in block %d came to light in block %d", entry, it.entry)
		}
		diff(t, "before the damage", got, list[:len(got)])
		it.Close()

		it = r.NewIterator(ReadOptions{})
		it.SeekRow(nil)
		rows := 0
		for ; it.entry < entry-1; it.NextRow() {
			rows++
		}
		if it.Err() != nil || it.Row() == nil || rows == 0 {
			t.Errorf("before the damage: row %q, %v", it.Row(), it.Err())
		}
		it.Close()
	}
}

type readerAt func(p []byte, at int64) (int, error)

func (f readerAt) ReadAt(p []byte, at int64) (int, error) { return f(p, at) }

// An error of the device in readahead is returned as it is.
func TestReadaheadFails(t *testing.T) {
	twoCores(t)
	file, list := longFile(t)
	r := open(t, file, testID, nil)
	if _, err := r.openIndex(); err != nil {
		t.Fatal(err)
	}
	r.r = readerAt(func(p []byte, at int64) (int, error) {
		if at > int64(len(file)/2) {
			return 0, errDevice
		}
		return bytes.NewReader(file).ReadAt(p, at)
	})
	it := r.NewIterator(ReadOptions{})
	defer it.Close()
	it.SeekRow(nil)
	got, active := walk(it, len(list))
	if !errors.Is(it.Err(), errDevice) || !active || len(got) < len(list)/3 {
		t.Errorf("readahead %v, %d cells: got %v, want the error of the device", active, len(got), it.Err())
	}
}

// A scan with an end reads nothing after it, and continues there when asked to.
func TestReadaheadEnds(t *testing.T) {
	twoCores(t)
	file, list := longFile(t)
	r := open(t, file, testID, nil)
	x, err := r.openIndex()
	if err != nil {
		t.Fatal(err)
	}
	var read atomic.Int64 // highest offset so far
	r.r = readerAt(func(p []byte, at int64) (int, error) {
		for was := read.Load(); was < at+int64(len(p)) && !read.CompareAndSwap(was, at+int64(len(p))); was = read.Load() {
		}
		return bytes.NewReader(file).ReadAt(p, at)
	})
	for _, o := range []ReadOptions{{}, {KeysOnly: true}, {Columns: cell.NewColumns(cell.FamilyRange([]byte("page")))}} {
		for _, i := range []int{1, 40, 200, 1000, len(list) / 3, len(list)/3 + 1, len(list) / 2, len(list)/2 + 40, len(list) - 1} {
			read.Store(0)
			o.ReadaheadEnd = list[i].row
			it := r.NewIterator(o)
			rows := 0
			active := false
			for it.SeekRow(nil); it.Row() != nil && bytes.Compare(it.Row(), o.ReadaheadEnd) < 0; it.NextRow() {
				rows++
				active = active || it.readahead.current != nil
			}
			end := x.handle(min(x.seek(o.ReadaheadEnd)+1, x.cells-1)).end()
			if n := read.Load(); it.Err() != nil || rows > 0 && uint64(n) > end || active != (i > len(list)/4) {
				t.Errorf("%+v: after %d rows %d bytes were read, want up to %d; readahead %t, %v", o, rows, n, end, active, it.Err())
			}
			for ; it.Row() != nil; it.NextRow() {
				rows++
			}
			if rows != distinctRows(list) {
				t.Errorf("%+v: continuing after the end, %d rows in all, want %d", o, rows, distinctRows(list))
			}
			it.Close()
		}
	}
}

func distinctRows(list []entry) (n int) {
	for i := range list {
		if i == 0 || !bytes.Equal(list[i].row, list[i-1].row) {
			n++
		}
	}
	return n
}

// All windows are in use while the file is long enough.
func TestReadaheadWindows(t *testing.T) {
	twoCores(t)
	file, _ := longFile(t)
	r := open(t, file, testID, nil)
	it := r.NewIterator(ReadOptions{})
	defer it.Close()
	seen := 0
	for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
		ra := &it.readahead
		if ra.current == nil || it.index.readEnd(ra.end, windowBytes)-ra.end < minWindowBlocks {
			continue
		}
		end := ra.current.first + len(ra.current.blocks)
		for i, w := range ra.next {
			if w == nil || w.first != end {
				t.Fatalf("at entry %d, window %d does not follow", it.entry, i)
			}
			end = it.index.readEnd(w.first, windowBytes)
		}
		seen++
	}
	if it.Err() != nil || seen < longFileRows()/2 {
		t.Errorf("%d rows with all windows: %v", seen, it.Err())
	}
}

// Blocks of short rows take little of the file. A window is limited in blocks, too, since
// they take memory.
func TestReadaheadOfShortRows(t *testing.T) {
	twoCores(t)
	var list []entry
	for i := range 100_000 {
		list = append(list, entry{fmt.Appendf(nil, "row%06d", i), set("f\x00q", int64(i*i%50_021), 1)})
	}
	file, _ := build(t, list, WriterOptions{ID: testID, Compression: S2})
	it := open(t, file, testID, nil).NewIterator(ReadOptions{})
	defer it.Close()
	rows, most := 0, 0
	for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
		rows++
		if it.readahead.current != nil {
			most = max(most, len(it.readahead.current.blocks))
		}
	}
	if it.Err() != nil || rows != len(list) || most != maxWindowBlocks {
		t.Errorf("%d rows, error %v, %d blocks in the longest window, want %d", rows, it.Err(), most, maxWindowBlocks)
	}
}

// The number of iterators that read ahead is bounded; the others work without. Short scans never
// read ahead.
func TestReadaheadIsBounded(t *testing.T) {
	twoCores(t)
	file, list := longFile(t)
	r := open(t, file, testID, nil)
	var open []*Iterator
	reading := 0
	for range 2*maxReadaheadsPerCPU + 3 {
		it := r.NewIterator(ReadOptions{})
		open = append(open, it)
		it.SeekRow(nil)
		if _, active := walk(it, 100); active || it.readahead.active() {
			t.Error("readahead after a hundred rows")
		}
		got, active := walk(it, longFileRows()/2)
		if active {
			reading++
		}
		diff(t, "rows", got, list[len(list)/longFileRows()*100:][:len(got)])
	}
	if reading != 2*maxReadaheadsPerCPU {
		t.Errorf("%d iterators read ahead, want %d", reading, 2*maxReadaheadsPerCPU)
	}
	for _, it := range open {
		it.Close()
	}
}

// Close waits for the read under way: nothing reads the file after it.
func TestReadaheadClose(t *testing.T) {
	twoCores(t)
	file, _ := longFile(t)
	r := open(t, file, testID, nil)
	var reading atomic.Int32
	r.r = readerAt(func(p []byte, at int64) (int, error) {
		reading.Add(1)
		defer reading.Add(-1)
		runtime.Gosched()
		return bytes.NewReader(file).ReadAt(p, at)
	})
	for i := range 50 {
		it := r.NewIterator(ReadOptions{})
		it.SeekRow(nil)
		walk(it, 600+i*40)
		it.Close()
		if n := reading.Load(); n != 0 {
			t.Fatalf("%d reads are under way after Close", n)
		}
	}
}
