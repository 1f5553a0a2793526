package sstable

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// needs reports whether a reader of a range of times and of columns needs an entry: it is of such a time, or
// covers versions of any time.
func needs(c *cell.Cell, times cell.TimeRange, columns *cell.Columns) bool {
	switch {
	case c.Kind == cell.DeleteRow:
		return true
	case c.Kind == cell.DeleteFamily:
		return columns.Overlaps(c.Column)
	}
	return columns.Contains(c.Column) && (c.Kind == cell.DeleteColumn || times.Contains(c.Time))
}

func lackOf(got, list []entry, times cell.TimeRange) string { return lackIn(got, list, times, nil) }

// lackIn says what is wrong with a read of a range of times over the entries of list, nothing if got has
// all that it needs, and nothing that is not in list, in order.
func lackIn(got, list []entry, times cell.TimeRange, columns *cell.Columns) string {
	at := 0
	for _, e := range list {
		switch {
		case at < len(got) && equalEntries(got[at], e):
			at++
		case needs(&e.Cell, times, columns):
			return fmt.Sprintf("row %q column %q @%d #%d of kind %d is missing", e.row, e.Column, e.Time, e.Seq, e.Kind)
		}
	}
	if at < len(got) {
		return fmt.Sprintf("row %q column %q @%d #%d is not in order", got[at].row, got[at].Column, got[at].Time, got[at].Seq)
	}
	return ""
}

// timedEntries returns entries whose times go with the row, more or less, so that many ranges of times need few
// blocks, and few tombstones that cover any time.
func (g generator) timedEntries(rows, widest int) []entry {
	list := g.entries(rows, widest)
	for i := range list {
		c := &list[i].Cell
		if c.Kind >= cell.DeleteColumn && g.IntN(20) > 0 {
			column := c.Column
			if c.Kind != cell.DeleteColumn {
				column = cell.AppendColumn(nil, []byte("f0"), g.qualifier(3))
			}
			*c = cell.Cell{Column: column, Seq: c.Seq, Type: cell.String}
		}
		if c.Kind < cell.DeleteColumn {
			c.Time = lowestTime + lastTime*int64(i)/int64(len(list)) + g.Int64N(lastTime/1000)
		}
		if g.IntN(500) == 0 && c.Kind < cell.DeleteColumn {
			c.Time = g.Int64N(cell.MaxTime)
		}
	}
	return sortEntries(list)
}

// timedEntries have times from lowestTime to about lastTime microseconds later, a month, and any time now and then.
const (
	lowestTime = 1_700_000_000_000_000
	lastTime   = 30 * 86400 * 1_000_000
)

func (g generator) timeRange() cell.TimeRange {
	start := lowestTime + g.Int64N(lastTime)
	switch g.IntN(10) {
	case 0:
		return cell.TimeRange{Start: start, End: math.MaxInt64}
	case 1:
		return cell.TimeRange{End: start}
	case 2:
		return cell.TimeRange{Start: g.Int64N(cell.MaxTime), End: math.MaxInt64}
	}
	return cell.TimeRange{Start: start, End: start + 1 + g.Int64N(lastTime/30)}
}

// A read of a range of times returns what it needs and nothing else than is there, whatever the form of
// the blocks, the cache, the columns and the bounds of rows, up and down, and skips blocks.
func TestTimes(t *testing.T) {
	var counts ReadCounts
	gaps := 0 // files with a row that begins in a block that is left out
	seeds := uint64(30)
	if raceEnabled || testing.Short() {
		seeds = 8
	}
	for seed := range seeds {
		g := newGenerator(seed)
		list := g.timedEntries(1+g.IntN(400), 1000)
		o := options(g)
		file, _ := build(t, list, o)
		r := open(t, file, o.ID, &testCache{picky: seed%2 == 1})
		if err := r.Verify(0); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			times := g.timeRange()
			for _, read := range []ReadOptions{{}, {KeysOnly: true}, {FillCache: true}, {FillCache: true}, {Columns: g.columns(list)}} {
				read.Times, read.Counts = &times, &counts
				want := slices.Clone(list)
				if read.KeysOnly {
					for i := range want {
						want[i].Value = nil
					}
				}
				what := fmt.Sprintf("seed %d %+v %+v times %+v", seed, o, read, times)
				up, down := r.NewIterator(read), r.NewIterator(read)
				got := collect(up, nil, 1<<30)
				if lack := lackIn(got, want, times, read.Columns); lack != "" || up.Err() != nil {
					t.Fatalf("%s: %s, %v", what, lack, up.Err())
				}
				if read.Columns == nil {
					diff(t, what+" down", collectDown(down, nil, 1<<30), downward(got))
				}
				up.Close()
				down.Close()
				if len(got) > 0 {
					i, _ := slices.BinarySearchFunc(list, got[0], func(a, b entry) int { return comparePlace(a.row, &a.Cell, b.row, &b.Cell) })
					if i > 0 && bytes.Equal(list[i-1].row, list[i].row) {
						gaps++
					}
				}
				e := list[g.IntN(len(list))]
				seekTimes(t, what, r, read, e.row, want, times)
			}
		}
	}
	if counts.SkippedByTimes < counts.BlocksRead+counts.BlocksCached || gaps == 0 {
		t.Errorf("blocks: %+v; %d reads began within a row", counts, gaps)
	}
}

// seekTimes reads some rows from a row on, and down to it.
func seekTimes(t *testing.T, what string, r *Reader, read ReadOptions, from []byte, list []entry, times cell.TimeRange) {
	t.Helper()
	at, _ := slices.BinarySearchFunc(list, from, func(e entry, row []byte) int { return bytes.Compare(e.row, row) })
	to := min(at+20, len(list)-1)
	if at > to {
		return
	}
	end := append(bytes.Clone(list[to].row), 0)
	rest := list[at:]
	for n := range rest {
		if bytes.Compare(rest[n].row, end) >= 0 {
			rest = rest[:n]
			break
		}
	}
	read.ReadaheadStart, read.ReadaheadEnd = from, end
	it := r.NewIterator(read)
	defer it.Close()
	got := slices.DeleteFunc(collect(it, from, 1<<30), func(e entry) bool { return bytes.Compare(e.row, end) >= 0 })
	if lack := lackIn(got, rest, times, read.Columns); lack != "" || it.Err() != nil {
		t.Fatalf("%s from %q to %q: %s, %v", what, from, end, lack, it.Err())
	}
	down := r.NewIterator(read)
	defer down.Close()
	below := slices.DeleteFunc(collectDown(down, end, 1<<30), func(e entry) bool { return bytes.Compare(e.row, from) < 0 })
	if read.Columns == nil {
		diff(t, what+" down", below, downward(got))
	}
}

// Readahead opens the blocks that a range of times needs, and no others.
func TestTimesReadahead(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	rows, gaps := 60_000, []int{0, 3, 40, 1000}
	if raceEnabled {
		rows, gaps = 20_000, gaps[:3]
	}
	for _, gap := range gaps {
		var list []entry
		for i := range rows {
			c := set("f\x00q", 1, uint64(i))
			if gap == 0 || i/50/(gap+1)%2 == 0 {
				c.Time = 1000
			}
			c.Value = fmt.Appendf(nil, "%d", r.Uint64())
			list = append(list, entry{fmt.Appendf(nil, "%08d", i), c})
		}
		file, info := build(t, list, WriterOptions{ID: testID})
		table := open(t, file, testID, nil)
		times := cell.TimeRange{Start: 1000, End: 1001}
		want := slices.DeleteFunc(slices.Clone(list), func(e entry) bool { return e.Time != 1000 })
		for _, reverse := range []bool{false, true} {
			var counts ReadCounts
			it := table.NewIterator(ReadOptions{Times: &times, Counts: &counts})
			var got []entry
			if reverse {
				got = downward(collectDown(it, nil, 1<<30)) // single cells, so in order again
			} else {
				got = collect(it, nil, 1<<30)
			}
			if lack := lackOf(got, list, times); lack != "" || it.Err() != nil {
				t.Fatalf("gap %d, reverse %v: %s, %v", gap, reverse, lack, it.Err())
			}
			it.Close()
			if sum := counts.BlocksRead + counts.SkippedByTimes + counts.BlocksCached; sum != info.CellBlocks || counts.BlocksCached > 0 {
				t.Errorf("gap %d, reverse %v: %+v of %d blocks", gap, reverse, counts, info.CellBlocks)
			}
			if got := float64(counts.BlocksRead) / float64(info.CellBlocks); got > 1.3*float64(len(want))/float64(len(list))+0.3 {
				t.Errorf("gap %d, reverse %v: read %.2f of the blocks for %d of %d rows", gap, reverse, got, len(want), len(list))
			}
		}
	}
}

// The times block takes the units that its numbers allow, and no block is left out that has a time of the
// range.
func TestBlockTimes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 400 {
		bits := r.IntN(63)
		var times []cell.TimeRange
		for range n % 20 {
			if r.IntN(6) == 0 {
				times = append(times, cell.AllTimes)
				continue
			}
			a, b := r.Int64N(1<<bits), r.Int64N(1<<bits)
			times = append(times, cell.TimeRange{Start: min(a, b), End: max(a, b) + 1})
		}
		raw := appendTimes(nil, times)
		var b blockTimes
		if err := b.parse(append(resize(nil, len(raw))[:0], raw...), len(times)); err != nil {
			t.Fatalf("%v: %v", times, err)
		}
		for range 50 {
			x, y := r.Int64N(1<<bits), r.Int64N(1<<bits)
			if r.IntN(10) == 0 {
				y = math.MaxInt64 - 1
			}
			q := cell.TimeRange{Start: min(x, y), End: max(x, y) + 1}
			f := b.filter(q)
			unit := int64(1) << b.shift
			for e, have := range times {
				wants := f.wants(e)
				if have.Overlaps(q) && !wants {
					t.Fatalf("%v of %+v is left out by %+v", have, times, q)
				}
				near := cell.TimeRange{Start: max(have.Start-unit, 0), End: max(have.End+unit, have.End)}
				if wants && near.End > 0 && !near.Overlaps(q) {
					t.Fatalf("%v is not left out by %+v, unit %d", have, q, unit)
				}
			}
		}
	}
}

// A times block that is no good is refused, and damage of it is an error of every read that needs it, and of
// no other.
func TestDamagedTimes(t *testing.T) {
	for name, raw := range map[string][]byte{
		"empty":        {},
		"short":        make([]byte, timesHeaderSize-1),
		"a block less": {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1},
		"wide":         append([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 5}, make([]byte, 20)...),
		"shift":        append([]byte{0, 0, 0, 0, 0, 0, 0, 0, 64, 1}, 1, 1, 1, 1),
		"order":        append([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 1, 2, 1, 1),
		"half a mark":  append([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 1, 0, 1, 1),
		"base":         append([]byte{0, 0, 0, 0, 0, 0, 0, 0x80, 0, 1}, 1, 1, 1, 1),
	} {
		var b blockTimes
		if err := b.parse(append(resize(nil, len(raw))[:0], raw...), 2); err != errTimes {
			t.Errorf("%s: got %v", name, err)
		}
	}
	file, info, list := smallFile(t, testID, None)
	at := open(t, file, testID, nil).footer.times.offset
	file[at] ^= 1
	r := open(t, file, testID, nil)
	scan := func(times *cell.TimeRange) error {
		it := r.NewIterator(ReadOptions{Times: times})
		defer it.Close()
		if got := collect(it, nil, 1<<30); it.Err() == nil {
			diff(t, "scan", got, list)
		}
		return it.Err()
	}
	var damage *CorruptError
	if err := scan(&cell.TimeRange{End: 5}); !errors.As(err, &damage) || damage.Offset != int64(at) {
		t.Errorf("a read of a range of times: %v", err)
	}
	if err := scan(nil); err != nil {
		t.Errorf("a read of all times: %v", err)
	}
	if err := r.VerifyBytes(info.Checksum); !errors.As(err, &damage) || damage.Offset != int64(at) {
		t.Errorf("VerifyBytes: %v", err)
	}
}

// Blocks of a row that have nothing but versions of a column that the caller has passed are left out.
func TestPassed(t *testing.T) {
	var list []entry
	for _, column := range []string{"f\x00a", "f\x00b", "f\x00c"} {
		for i := range 50_000 {
			list = append(list, entry{[]byte("row"), set(column, int64(50_000-i), 1)})
		}
	}
	list = append(list, entry{[]byte("sow"), set("f\x00a", 1, 1)})
	file, info := build(t, list, WriterOptions{ID: testID})
	var passed []byte
	var counts ReadCounts
	it := open(t, file, testID, nil).NewIterator(ReadOptions{Passed: &passed, Counts: &counts})
	defer it.Close()
	found := map[string]bool{}
	it.SeekRow(nil)
	for cells := it.Cells(nil); len(cells) > 0; cells = it.Cells(cells[:0]) {
		for _, c := range cells {
			found[string(c.Column)] = true
		}
		passed = append(passed[:0], cells[len(cells)-1].Column...)
	}
	if it.NextRow(); string(it.Row()) != "sow" || it.Err() != nil {
		t.Errorf("row %q after it, %v", it.Row(), it.Err())
	}
	if len(found) != 3 || counts.BlocksRead > 12 || info.CellBlocks < 80 {
		t.Errorf("found %d columns in %d of %d blocks", len(found), counts.BlocksRead, info.CellBlocks)
	}
}
