package memtable

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// fill makes a table and its model of n random entries in random rows.
func fill(r *rand.Rand, n int) (*Table, *model) { return fillRows(r, n, randomRow) }

func fillRows(r *rand.Rand, n int, row func(*rand.Rand) string) (*Table, *model) {
	tb, m := New(), new(model)
	var in Inserter
	for range n {
		row, c := row(r), randomCell(r)
		in.Add(tb, []byte(row), &c)
		m.add(row, c)
	}
	return tb, m
}

// rowEntries returns the entries of one row.
func (m *model) rowEntries(row string) []entry {
	from := sort.Search(len(m.entries), func(i int) bool { return m.entries[i].row >= row })
	to := sort.Search(len(m.entries), func(i int) bool { return m.entries[i].row > row })
	return m.entries[from:to]
}

// Seeks and steps in any order, with rows left before their end.
func TestIteratorMoves(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			tb, m := fill(r, 1+r.IntN(500))
			rows := m.rows()
			it := tb.NewIterator(ReadOptions{})
			defer it.Close()
			at := len(rows) // no row before the first seek
			for range 500 {
				if r.IntN(2) == 0 {
					target := randomRow(r)
					it.SeekRow([]byte(target))
					at = sort.SearchStrings(rows, target)
				} else {
					it.NextRow()
					at = min(at+1, len(rows))
				}
				if at == len(rows) {
					if it.Row() != nil {
						t.Fatalf("got row %q, want the end", it.Row())
					}
					continue
				}
				if it.Row() == nil || string(it.Row()) != rows[at] {
					t.Fatalf("got row %q, want %q", it.Row(), rows[at])
				}
				if r.IntN(3) > 0 {
					compare(t, takeRow(nil, it), m.rowEntries(rows[at]))
				}
			}
		})
	}
}

func TestRunLimits(t *testing.T) {
	for _, c := range []struct {
		entries, value int
		want           []int
	}{
		{maxRunCells, 1, []int{maxRunCells}},
		{maxRunCells + 1, 1, []int{maxRunCells, 1}},
		{2*maxRunCells + 5, 0, []int{maxRunCells, maxRunCells, 5}},
		{9, maxRunBytes / 4, []int{4, 4, 1}},
		{3, 2 * maxRunBytes, []int{1, 1, 1}},
	} {
		tb := New()
		var in Inserter
		for i := range c.entries {
			in.Add(tb, []byte("row"), &cell.Cell{Column: []byte("f\x00"), Value: make([]byte, c.value), Time: int64(i), Type: cell.Bytes})
		}
		it := tb.NewIterator(ReadOptions{})
		it.SeekRow(nil)
		before := make([]cell.Cell, 3)
		var got []int
		for {
			run := it.Cells(before)
			if len(run) == len(before) {
				break
			}
			got = append(got, len(run)-len(before))
		}
		it.Close()
		if !slices.Equal(got, c.want) {
			t.Errorf("%d entries of %d bytes: got runs %v, want %v", c.entries, c.value, got, c.want)
		}
	}
}

func TestKeysOnly(t *testing.T) {
	tb, m := fill(rand.New(rand.NewPCG(1, 2)), 500)
	var want cell.Scanned
	for i := range m.entries {
		e := &m.entries[i]
		want.Add(scannedEntry(e.cell.RawSize([]byte(e.row))))
		e.cell.Value = nil
	}
	it := tb.NewIterator(ReadOptions{KeysOnly: true})
	defer it.Close()
	var got []entry
	for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
		got = takeRow(got, it)
	}
	compare(t, got, m.entries)
	if it.Scanned() != want {
		t.Errorf("Scanned: got %+v, want %+v", it.Scanned(), want)
	}
}

// randomColumns draws a set of columns that goes with randomCell.
func randomColumns(r *rand.Rand) *cell.Columns {
	var ranges []cell.Range
	for range r.IntN(4) {
		family := []byte([]string{"a", "ab", "b", "bb"}[r.IntN(4)])
		qualifier := fmt.Append(nil, r.IntN(20))
		switch r.IntN(4) {
		case 0:
			ranges = append(ranges, cell.FamilyRange(family))
		case 1:
			ranges = append(ranges, cell.ColumnRange(family, qualifier))
		case 2:
			ranges = append(ranges, cell.PrefixRange(cell.AppendColumn(nil, family, qualifier[:1])))
		case 3:
			ranges = append(ranges, cell.Range{Start: family, End: nil})
		}
	}
	return cell.NewColumns(ranges...)
}

// needs reports whether a read of the set cannot do without the entry.
func needs(s *cell.Columns, e entry) bool {
	c := e.cell.Column
	return s.Contains(c) || len(c) == 0 || bytes.IndexByte(c, 0) < 0 && s.Overlaps(c)
}

// A read of some columns misses nothing that it needs, and returns nothing that
// it does not want. Where rows are narrow, it returns all that it wants.
func TestColumns(t *testing.T) {
	wide := func(r *rand.Rand) string { return []string{"r", "s"}[r.IntN(2)] }
	for seed := range uint64(200) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			row := randomRow
			if seed%2 == 1 {
				row = wide
			}
			tb, m := fillRows(r, 600, row)
			s := randomColumns(r)
			it := tb.NewIterator(ReadOptions{Columns: s})
			defer it.Close()
			var total cell.Scanned
			for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
				row := string(it.Row())
				all := m.rowEntries(row)
				for _, e := range all {
					total.Add(scannedEntry(e.cell.RawSize([]byte(row))))
				}
				got := takeRow(nil, it)
				// What is wanted but not needed may be left out, by a skip alone.
				var want []entry
				skips := len(all) > maxMisses
				for _, e := range all {
					_, found := slices.BinarySearchFunc(got, e, order)
					if needs(s, e) || s.Wants(e.cell.Column) && (found || !skips) {
						want = append(want, e)
					}
				}
				compare(t, got, want)
			}
			got := it.Scanned()
			if got.Cells > total.Cells || got.Bytes > total.Bytes {
				t.Errorf("Scanned: got %+v, there are only %+v", got, total)
			}
		})
	}
}

// Where no run of misses is long enough for a skip, all of a row counts.
func TestScannedShortMisses(t *testing.T) {
	tb := New()
	var want cell.Scanned
	for i := range 100 {
		c := cell.Cell{Column: fmt.Appendf(nil, "f\x00%02d", i), Value: make([]byte, i), Type: cell.Bytes}
		tb.Add([]byte("row"), &c)
		want.Add(scannedEntry(c.RawSize([]byte("row"))))
	}
	var ranges []cell.Range
	for i := maxMisses - 1; i < 100; i += maxMisses {
		ranges = append(ranges, cell.ColumnRange([]byte("f"), fmt.Appendf(nil, "%02d", i)))
	}
	it := tb.NewIterator(ReadOptions{Columns: cell.NewColumns(ranges...)})
	defer it.Close()
	it.SeekRow(nil)
	if got := it.Cells(nil); len(got) != len(ranges) {
		t.Errorf("got %d cells, want %d", len(got), len(ranges))
	}
	if got := it.Cells(nil); len(got) != 0 {
		t.Errorf("got %d more cells, want none", len(got))
	}
	if it.Scanned() != want {
		t.Errorf("Scanned: got %+v, want %+v", it.Scanned(), want)
	}
}

// A few columns of a wide row cost a few searches, and are all found, with the
// tombstones that cover them.
func TestWideRow(t *testing.T) {
	const width = 20_000
	tb := New()
	var in Inserter
	var want []entry
	add := func(c cell.Cell, wanted bool) {
		in.Add(tb, []byte("row"), &c)
		if wanted {
			want = append(want, entry{"row", c})
		}
	}
	add(cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime, Seq: 5}, true)
	for _, family := range []string{"a", "b", "c"} {
		// Two tombstones: the skip must land on the first.
		for _, seq := range []uint64{math.MaxUint64, 7} {
			add(cell.Cell{Column: []byte(family), Kind: cell.DeleteFamily, Time: cell.TombstoneTime, Seq: seq}, family != "c")
		}
		for i := range width {
			wanted := family == "a" && i == width/2 || family == "b" && (i == 3 || i == width-100)
			column := fmt.Appendf(nil, "%s\x00%05d", family, i)
			add(cell.Cell{Column: column, Kind: cell.DeleteColumn, Time: cell.TombstoneTime, Seq: math.MaxUint64}, wanted)
			add(cell.Cell{Column: column, Value: column, Time: 1, Seq: 2, Type: cell.Bytes}, wanted)
		}
	}
	columns := cell.NewColumns(
		cell.ColumnRange([]byte("a"), fmt.Appendf(nil, "%05d", width/2)),
		cell.ColumnRange([]byte("b"), []byte("00003")),
		cell.ColumnRange([]byte("b"), fmt.Appendf(nil, "%05d", width-100)),
	)
	it := tb.NewIterator(ReadOptions{Columns: columns})
	defer it.Close()
	it.SeekRow(nil)
	compare(t, takeRow(nil, it), want)
	if got, most := it.Scanned().Cells, uint64(len(want)+6*maxMisses); got > most {
		t.Errorf("Scanned: got %d cells, want %d at most", got, most)
	}
}

// Closing gives the iterator to the next reader, who must find nothing of the
// one before. A second Close does not give it to two.
func TestIteratorReuse(t *testing.T) {
	tb, m := fill(rand.New(rand.NewPCG(4, 4)), 300)
	for range 100 {
		it := tb.NewIterator(ReadOptions{Columns: cell.NewColumns(), KeysOnly: true})
		it.SeekRow([]byte("b"))
		it.Cells(nil)
		it.Close()
		it.Close()
		first, second := tb.NewIterator(ReadOptions{}), tb.NewIterator(ReadOptions{})
		if first == second {
			t.Fatal("two readers got the same iterator")
		}
		if first.Row() != nil || first.Scanned() != (cell.Scanned{}) {
			t.Fatalf("new iterator: at row %q, scanned %+v", first.Row(), first.Scanned())
		}
		first.Close()
		second.Close()
		compare(t, dump(tb, ReadOptions{}), m.entries)
	}
}

func TestIterationAllocatesNothing(t *testing.T) {
	tb, m := fill(rand.New(rand.NewPCG(5, 5)), 2000)
	o := ReadOptions{Columns: cell.NewColumns(cell.FamilyRange([]byte("ab")), cell.ColumnRange([]byte("b"), []byte("7")))}
	for _, o := range []ReadOptions{{}, o} {
		it := tb.NewIterator(o)
		run := make([]cell.Cell, 0, maxRunCells)
		allocs := testing.AllocsPerRun(5, func() {
			for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
				for run = it.Cells(run[:0]); len(run) > 0; {
					run = it.Cells(run[:0])
				}
			}
		})
		for _, row := range m.rows() {
			key := []byte(row)
			allocs += testing.AllocsPerRun(2, func() { it.SeekRow(key) })
		}
		it.Close()
		if allocs != 0 {
			t.Errorf("got %v allocations, want none", allocs)
		}
	}
}

// scannedEntry counts an entry of this size.
func scannedEntry(size int) cell.Scanned {
	return cell.Scanned{Cells: 1, Bytes: uint64(size), Read: uint64(size)}
}
