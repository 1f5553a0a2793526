package sstable

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// collectDown reads at most limit rows down from the seek, the last row first.
func collectDown(it *Iterator, seek []byte, limit int) (list []entry) {
	var cells []cell.Cell
	for it.SeekBelow(seek); it.Row() != nil && limit > 0; it.PrevRow() {
		row := bytes.Clone(it.Row())
		for cells = it.Cells(cells[:0]); len(cells) > 0; cells = it.Cells(cells[:0]) {
			for _, c := range cells {
				c.Column, c.Value = bytes.Clone(c.Column), bytes.Clone(c.Value)
				list = append(list, entry{row, c})
			}
		}
		limit--
	}
	return list
}

// downward returns entries with the rows in descending order, and the entries of each in order.
func downward(list []entry) []entry {
	down := make([]entry, 0, len(list))
	for end := len(list); end > 0; {
		from := end - 1
		for from > 0 && bytes.Equal(list[from-1].row, list[from].row) {
			from--
		}
		down = append(down, list[from:end]...)
		end = from
	}
	return down
}

// A walk down returns of each row what a walk up does, and counts the same, whatever the form of the
// blocks, the cache and the columns.
func TestWalkDown(t *testing.T) {
	wide := 0
	for seed := range uint64(60) {
		g := newGenerator(seed)
		list := g.entries(1+g.IntN(200), 2000)
		o := options(g)
		file, info := build(t, list, o)
		if info.CellBlocks > info.Rows {
			wide++
		}
		for _, read := range []ReadOptions{{}, {FillCache: true}, {FillCache: true, KeysOnly: true}, {Columns: g.columns(list)}} {
			r := open(t, file, o.ID, &testCache{picky: seed%2 == 1})
			for range 2 { // the second time from the cache
				up, down := r.NewIterator(read), r.NewIterator(read)
				want := collect(up, nil, 1<<30)
				got := collectDown(down, nil, 1<<30)
				what := fmt.Sprintf("seed %d %+v %+v", seed, o, read)
				diff(t, what, got, downward(want))
				if up.Err() != nil || down.Err() != nil || passed(up.Scanned()) != passed(down.Scanned()) {
					t.Fatalf("%s: %v, scanned %+v, upward %+v", what, down.Err(), down.Scanned(), up.Scanned())
				}
				up.Close()
				down.Close()
			}
		}
	}
	if wide < 5 {
		t.Errorf("only %d files have rows of several blocks", wide)
	}
}

// Seeks go to the last row below any key, and steps down from there meet each row, whether its cells
// were read, in part, or not.
func TestSeekBelow(t *testing.T) {
	for seed := range uint64(20) {
		g := newGenerator(seed)
		list := downward(g.entries(1+g.IntN(200), 800))
		o := options(g)
		file, _ := build(t, sortEntries(slices.Clone(list)), o)
		r := open(t, file, o.ID, &testCache{picky: seed%2 == 1})
		it := r.NewIterator(ReadOptions{FillCache: seed%3 > 0})
		for i := range list {
			if i > 0 && bytes.Equal(list[i].row, list[i-1].row) {
				continue
			}
			for _, key := range around(list[i].row) {
				from, _ := slices.BinarySearchFunc(list, key, func(e entry, key []byte) int {
					if bytes.Compare(e.row, key) < 0 {
						return 0
					}
					return -1
				})
				rest := list[from:]
				for it.SeekBelow(key); len(rest) > 0; it.PrevRow() {
					if it.Row() == nil || !bytes.Equal(it.Row(), rest[0].row) {
						t.Fatalf("seed %d below %q: row %q, want %q, %v", seed, key, it.Row(), rest[0].row, it.Err())
					}
					for range g.IntN(3) {
						it.Cells(nil)
					}
					if g.IntN(4) == 0 {
						break
					}
					row := rest[0].row
					for len(rest) > 0 && bytes.Equal(rest[0].row, row) {
						rest = rest[1:]
					}
				}
				if len(rest) == 0 && it.Row() != nil {
					t.Fatalf("seed %d below %q: row %q before the first", seed, key, it.Row())
				}
			}
		}
		it.SeekBelow([]byte{})
		if it.Row() != nil || it.Err() != nil {
			t.Errorf("below all keys: row %q, %v", it.Row(), it.Err())
		}
		it.Close()
	}
}

// Cells of rows that were skipped count as scanned, as on the way up: those of the block where a row
// begins.
func TestSkippedRowsCountDown(t *testing.T) {
	for c := None; c <= S2; c++ {
		file, _, list := smallFile(t, testID, c)
		it := open(t, file, testID, nil).NewIterator(ReadOptions{})
		rows := 0
		for it.SeekBelow(nil); it.Row() != nil; it.PrevRow() {
			rows++
		}
		if got := it.Scanned(); it.Err() != nil || rows != 10 || got.Cells == 0 || got.Cells >= uint64(len(list)) {
			t.Errorf("%d rows, scanned %+v of %d cells, %v", rows, got, len(list), it.Err())
		}
		it.Close()
	}
}

// Damage anywhere is an error, or changes nothing: never fewer rows.
func TestDamageOnTheWayDown(t *testing.T) {
	file, _, list := smallFile(t, testID, S2)
	want := downward(list)
	for at := range file {
		file[at] ^= 0x10
		if r, err := Open(bytes.NewReader(file), int64(len(file)), testID, nil); err == nil {
			it := r.NewIterator(ReadOptions{})
			if got := collectDown(it, nil, 1<<30); it.Err() == nil {
				diff(t, fmt.Sprintf("byte %d", at), got, want)
			}
			it.Close()
		}
		file[at] ^= 0x10
	}
}

// Each read of a walk down fails once. The walk returns the rows above, and then the error: never an end,
// and never damage. The next walk returns all rows.
func TestReadErrorsOnTheWayDown(t *testing.T) {
	twoCores(t)
	_, wide := wideRows(t)
	wide = wide[:slices.IndexFunc(wide, func(e entry) bool { return string(e.row) == "row00040" })]
	for _, list := range [][]entry{benchEntries(1000), wide} {
		file, _ := build(t, list, WriterOptions{ID: testID, Compression: S2})
		for _, o := range []ReadOptions{{}, {FillCache: true}, {KeysOnly: true}} {
			n := 0
			for failReadDown(t, file, downward(list), o, n) {
				n++
			}
			if n < 4 {
				t.Errorf("%+v: only %d reads", o, n)
			}
		}
	}
}

// failReadDown walks down a file whose nth read from the seek on fails. It returns false if there are
// fewer reads.
func failReadDown(t *testing.T, file []byte, want []entry, o ReadOptions, n int) bool {
	t.Helper()
	want = slices.Clone(want)
	for i := range want {
		if o.KeysOnly {
			want[i].Value = nil
		}
	}
	var reads atomic.Int64 // atomic because of readahead
	r := open(t, file, testID, new(testCache))
	r.r = failingReader{bytes.NewReader(file), func(p []byte, _ int64) error {
		if reads.Add(1) != int64(n+1) {
			return nil
		}
		for i := range p {
			p[i] = 0xaa // the rest of the buffer may hold anything
		}
		return errDevice
	}}
	it := r.NewIterator(o)
	got := collectDown(it, nil, 1<<30)
	failed := reads.Load() > int64(n)
	if failed != errors.Is(it.Err(), errDevice) || errors.As(it.Err(), new(*CorruptError)) {
		t.Fatalf("%+v, read %d fails: got %v", o, n, it.Err())
	}
	if len(got) > len(want) || !failed && len(got) < len(want) {
		t.Fatalf("%+v, read %d fails: %d entries of %d", o, n, len(got), len(want))
	}
	diff(t, fmt.Sprintf("%+v, read %d fails", o, n), got, want[:len(got)])
	if it.PrevRow(); failed && it.Row() != nil {
		t.Errorf("%+v, read %d fails: row %q behind the error", o, n, it.Row())
	}
	it.Close()
	if !failed {
		return false
	}
	next := r.NewIterator(o)
	defer next.Close()
	diff(t, fmt.Sprintf("%+v, after read %d failed", o, n), collectDown(next, nil, 1<<30), want)
	if next.Err() != nil {
		t.Errorf("%+v, after read %d failed: %v", o, n, next.Err())
	}
	return true
}

// A row that a block continues must be the last of the block where the index says that it begins.
func TestStartOfRowIsChecked(t *testing.T) {
	var list []entry
	for i := range 200 {
		list = append(list, entry{[]byte("row5"), set(fmt.Sprintf("f\x00%03d", i), 1, 1)})
	}
	list = append(list, entry{[]byte("row9"), set("f\x00a", 1, 1)})
	file, info := build(t, list, WriterOptions{ID: testID, BlockSize: 300})
	if info.CellBlocks < 4 {
		t.Fatalf("%d blocks", info.CellBlocks)
	}
	for _, read := range []bool{false, true} {
		for _, broken := range []bool{false, true} {
			file := tamper(t, file, 0, func(raw []byte) {
				if broken {
					raw[bytes.Index(raw, []byte("row5"))+3]--
				}
			})
			it := open(t, file, testID, nil).NewIterator(ReadOptions{})
			it.SeekBelow(nil)
			if it.PrevRow(); read && !broken { // to the last of its blocks
				for len(it.Cells(nil)) > 0 {
				}
			}
			var damage *CorruptError
			if errors.As(it.Err(), &damage) != broken || broken && (damage.Offset != 0 || damage.Reason != errContinued.Error()) || !broken && string(it.Row()) != "row5" {
				t.Errorf("broken %v: at row %q, got %v", broken, it.Row(), it.Err())
			}
			if it.PrevRow(); it.Row() != nil {
				t.Errorf("broken %v: row %q before the first", broken, it.Row())
			}
			it.Close()
		}
	}
}

func TestReadaheadDown(t *testing.T) {
	twoCores(t)
	file, list := longFile(t)
	page := cell.NewColumns(cell.FamilyRange([]byte("page")))
	for name, o := range map[string]ReadOptions{
		"all": {}, "fill": {FillCache: true}, "keys": {KeysOnly: true}, "columns": {Columns: page}, "columns, fill": {Columns: page, FillCache: true},
	} {
		var want []entry
		for _, e := range downward(list) {
			if o.KeysOnly {
				e.Value = nil
			}
			if o.Columns.Contains(e.Column) {
				want = append(want, e)
			}
		}
		r := open(t, file, testID, new(testCache))
		for _, cached := range []bool{false, o.FillCache} {
			it := r.NewIterator(o)
			it.SeekBelow(nil)
			got, ahead := walkDown(it, len(list))
			if it.Err() != nil || ahead == cached {
				t.Errorf("%s: cached %v, ahead %v, %v", name, cached, ahead, it.Err())
			}
			diff(t, name, got, want)
			checkScanned(t, name, it.Scanned(), list)
			it.Close()
		}
	}
}

// walkDown is walk for an iterator that moves down.
func walkDown(it *Iterator, rows int) (list []entry, ahead bool) {
	var run []cell.Cell
	for ; it.Row() != nil && rows > 0; it.PrevRow() {
		for run = it.Cells(run[:0]); len(run) > 0; run = it.Cells(run[:0]) {
			for _, c := range run {
				c.Column, c.Value = bytes.Clone(c.Column), bytes.Clone(c.Value)
				list = append(list, entry{bytes.Clone(it.Row()), c})
			}
		}
		ahead = ahead || it.readahead.current != nil && it.readahead.down
		rows--
	}
	return list, ahead
}

// wideRows is a file of rows with several blocks each, and narrow ones between them.
func wideRows(t *testing.T) (file []byte, list []entry) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for row := range 400 {
		for q := range []int{1, 5, 400, 900}[row%4] {
			c := set(fmt.Sprintf("f\x00%05d", q), int64(rnd.IntN(1000)), 1)
			c.Value = benchText(newGenerator(uint64(q)), rnd.IntN(40))
			list = append(list, entry{fmt.Appendf(nil, "row%05d", row), c})
		}
	}
	file, info := build(t, list, WriterOptions{ID: testID, Compression: S2})
	if info.CellBlocks < 600 || len(file) < 20*windowBytes {
		t.Fatalf("%d blocks, %d bytes", info.CellBlocks, len(file))
	}
	return file, list
}

// A scan of rows that have several blocks reads ahead too, can turn away at any time, and returns what
// one without readahead does.
func TestReadaheadDownOfWideRows(t *testing.T) {
	twoCores(t)
	file, list := wideRows(t)
	want := downward(list)
	for _, o := range []ReadOptions{{}, {FillCache: true}, {KeysOnly: true}} {
		r := open(t, file, testID, new(testCache))
		it := r.NewIterator(o)
		for _, from := range []int{0, len(want) / 2, 1000, len(want) / 2, len(want) - 50, 0} {
			for from > 0 && bytes.Equal(want[from-1].row, want[from].row) {
				from--
			}
			it.SeekBelow(append(bytes.Clone(want[from].row), 0))
			got, ahead := walkDown(it, 300)
			rest := slices.Clone(want[from : from+len(got)])
			for i := range rest {
				if o.KeysOnly {
					rest[i].Value = nil
				}
			}
			diff(t, fmt.Sprintf("%+v from %d", o, from), got, rest)
			if it.Err() != nil || !o.FillCache && !ahead && from < len(want)/3 {
				t.Errorf("%+v, from %d: ahead %v, %v", o, from, ahead, it.Err())
			}
		}
		it.Close()
	}
}

// Damage in readahead is reported at its block, not before.
func TestReadaheadDownOfDamage(t *testing.T) {
	twoCores(t)
	file, list := longFile(t)
	blocks := blocksOf(t, file, testID)
	for _, n := range []int{len(blocks) / 3, len(blocks)/3 + 1} { // a cell block and a small block
		h := blocks[n]
		r := open(t, file, testID, nil)
		x, err := r.openIndex()
		if err != nil {
			t.Fatal(err)
		}
		r.r = readerAt(func(p []byte, at int64) (int, error) {
			n, err := bytes.NewReader(file).ReadAt(p, at)
			if i := int64(h.offset) - at; i >= 0 && i < int64(n) {
				p[i] ^= 1
			}
			return n, err
		})
		damaged := 0
		for x.handle(damaged).end() < h.end() {
			damaged++
		}
		it := r.NewIterator(ReadOptions{})
		it.SeekBelow(nil)
		got, ahead := walkDown(it, len(list))
		var damage *CorruptError
		if !errors.As(it.Err(), &damage) || damage.Offset != int64(h.offset) || !ahead {
			t.Fatalf("ahead %v: got %v, want damage at %d", ahead, it.Err(), h.offset)
		}
		if it.entry != damaged+1 {
			t.Errorf("damage in block %d came to light in block %d", damaged, it.entry)
		}
		diff(t, "above the damage", got, downward(list)[:len(got)])
		it.Close()
	}
}

// A scan with a start reads nothing before it, and continues there when asked to.
func TestReadaheadDownEnds(t *testing.T) {
	twoCores(t)
	file, list := longFile(t)
	r := open(t, file, testID, nil)
	x, err := r.openIndex()
	if err != nil {
		t.Fatal(err)
	}
	var read atomic.Int64 // lowest offset so far
	r.r = readerAt(func(p []byte, at int64) (int, error) {
		for was := read.Load(); was > at && !read.CompareAndSwap(was, at); was = read.Load() {
		}
		return bytes.NewReader(file).ReadAt(p, at)
	})
	for _, o := range []ReadOptions{{}, {KeysOnly: true}} {
		for _, i := range []int{len(list) - 1, len(list) - 200, len(list) / 2, len(list) / 3, 40, 1} {
			read.Store(int64(len(file)))
			o.ReadaheadStart = list[i].row
			it := r.NewIterator(o)
			rows := 0
			for it.SeekBelow(nil); it.Row() != nil && bytes.Compare(it.Row(), o.ReadaheadStart) >= 0; it.PrevRow() {
				rows++
			}
			// The step to the row before the start may need the block before.
			if low := x.from(max(x.seek(o.ReadaheadStart)-1, 0)); read.Load() < int64(low) {
				t.Errorf("%+v: read from %d on, want nothing before %d", o, read.Load(), low)
			}
			for ; it.Row() != nil; it.PrevRow() {
				rows++
			}
			if rows != distinctRows(list) || it.Err() != nil {
				t.Errorf("%+v: %d rows in all, want %d, %v", o, rows, distinctRows(list), it.Err())
			}
			it.Close()
		}
	}
}

// A walk down over cached blocks holds the block before, to prefetch it.
func TestWalkDownFindsNextBlock(t *testing.T) {
	file, _ := build(t, benchEntries(300), WriterOptions{ID: testID, BlockSize: 1000})
	r := open(t, file, testID, new(testCache))
	it := r.NewIterator(ReadOptions{FillCache: true})
	collectDown(it, nil, 300)
	it.Close()
	it = r.NewIterator(ReadOptions{})
	defer it.Close()
	it.SeekBelow(nil)
	last := it.index.cells - 1
	for ; it.entry > 0; it.PrevRow() {
		if it.entry < last && (!it.prefetcher.holds(it.entry-1) || it.row+2 < it.block.rows && it.prefetcher.fetched == 0) {
			t.Fatalf("at entry %d of %d: %d bytes prefetched of entry %d", it.entry, last, it.prefetcher.fetched, it.prefetcher.entry)
		}
	}
}

func TestWalkDownAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("pools lose things under the race detector")
	}
	file, _ := build(t, benchEntries(2000), WriterOptions{ID: testID})
	for _, cache := range []Cache{nil, new(testCache)} {
		r := open(t, file, testID, cache)
		var cells []cell.Cell
		read := func() {
			it := r.NewIterator(ReadOptions{FillCache: true})
			for it.SeekBelow(nil); it.Row() != nil; it.PrevRow() {
				for cells = it.Cells(cells[:0]); len(cells) > 0; cells = it.Cells(cells[:0]) {
				}
			}
			it.Close()
		}
		if n := testing.AllocsPerRun(10, read); n > 1 {
			t.Errorf("cached %v: %v allocations", cache != nil, n)
		}
	}
}
