package sstable

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// rowCells are cells of one row, as arguments of Add.
type rowCells struct {
	row   []byte
	cells []cell.Cell
}

// rowsOf groups the entries by row, at most most entries at a time.
func rowsOf(list []entry, most int) (rows []rowCells) {
	for i := range list {
		last := len(rows) - 1
		if last < 0 || !bytes.Equal(rows[last].row, list[i].row) || len(rows[last].cells) == most {
			rows = append(rows, rowCells{row: list[i].row})
			last++
		}
		rows[last].cells = append(rows[last].cells, list[i].Cell)
	}
	return rows
}

// A row can be added in parts of any size. The Writer uses properties of a row's cells to save
// work, and this changes nothing: the file is the same as if all cells were checked in full.
func TestPiecesOfRows(t *testing.T) {
	lists := map[string][]entry{
		"regular": benchEntries(2000), "long keys": longRows(40), "linked": linkedRows(2000), "large": largeRow(),
	}
	for seed := range uint64(40) {
		g := newGenerator(seed)
		lists[fmt.Sprintf("random %d", seed)] = g.entries(1+g.IntN(40), 1+g.IntN(3000))
	}
	for name, list := range lists {
		for _, o := range []WriterOptions{{}, {BlockSize: 300}, {BlockSize: 128 << 10}, {Compression: S2}} {
			o.ID = testID
			want, info := cellByCell(t, list, o)
			if err := open(t, want, testID, nil).Verify(info.Checksum); err != nil {
				t.Errorf("%s, %+v: %v", name, o, err)
			}
			for _, most := range []int{1, 3, math.MaxInt} {
				var b bytes.Buffer
				if err := writePieces(&b, list, most, o); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(b.Bytes(), want) {
					t.Errorf("%s, %+v: another file with at most %d cells at once", name, o, most)
				}
			}
		}
	}
}

// cellByCell is build without the properties that Add derives from a row and from earlier rows.
func cellByCell(t *testing.T, list []entry, o WriterOptions) ([]byte, Info) {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, o)
	for i := range list {
		row, c := list[i].row, &list[i].Cell
		first, err := w.isNew(row)
		switch {
		case err != nil:
		case first:
			err = w.beginRow(row, c)
		case w.full(false):
			err = w.splitRow(row, c)
		}
		if err == nil {
			err = w.addChecked(row, c, first)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.info.count(row, c)
		w.lastVersion = cellVersion{c.Time, c.Seq}
	}
	info, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), info
}

// largeRow is a row that would fit into a block of 128 KiB without the entries of its large
// values.
func largeRow() (list []entry) {
	row := bytes.Repeat([]byte{'r'}, 60<<10)
	list = append(list, entry{row, set(fmt.Sprintf("a\x00%s", bytes.Repeat([]byte{'c'}, 33_395)), cell.MaxTime, 1<<63)})
	for i := range 85 {
		c := set(fmt.Sprintf("f\x00%03d", i), cell.MaxTime-int64(i), 1<<63+uint64(i))
		switch i {
		case 0:
			c.Time, c.Seq = 0, 0 // all others take eight bytes
		case 2:
			c.Time, c.Seq = list[2].Time, list[2].Seq // so a cell's version id is not its index
		}
		c.Value = make([]byte, LargeValue)
		if i%20 == 19 {
			c.Value = c.Value[:1000]
		}
		list = append(list, entry{row, c})
	}
	return list
}

func writePieces(out io.Writer, list []entry, most int, o WriterOptions) error {
	w := NewWriter(out, o)
	for _, r := range rowsOf(list, most) {
		if err := w.Add(r.row, r.cells); err != nil {
			return err
		}
	}
	_, err := w.Finish()
	return err
}

// linkedRows has the same columns in each row, except a few of an earlier family that no
// other row has.
func linkedRows(rows int) (list []entry) {
	g := newGenerator(5)
	for i := range rows {
		for range g.IntN(4) {
			c := set("anchor\x00"+string(benchText(g, 12)), 7, 1)
			list = append(list, entry{benchRow(i), c})
		}
		for _, name := range []string{"contents\x00", "language\x00", "meta\x00etag", "meta\x00size"} {
			c := set(name, 7, 1)
			c.Value = benchText(g, g.IntN(60))
			list = append(list, entry{benchRow(i), c})
		}
	}
	return sortEntries(list)
}

// The properties that a Writer has derived from some rows do not hide an error in another.
func TestWriterRefusesAmongRegularRows(t *testing.T) {
	a, b, c := set("f\x00a", 5, 5), set("f\x00b", 5, 5), set("f\x00c", 5, 5)
	regular := []cell.Cell{a, b, c}
	with := func(change func(c *cell.Cell)) []cell.Cell {
		bad := b
		change(&bad)
		return []cell.Cell{a, bad, c}
	}
	for name, test := range map[string]struct {
		cells []cell.Cell
		ok    bool
	}{
		"as before":       {regular, true},
		"some":            {[]cell.Cell{a, c}, true},
		"another":         {[]cell.Cell{a, set("f\x00aa", 5, 5), b, c}, true},
		"versions":        {[]cell.Cell{a, set("f\x00a", 4, 5), b, set("f\x00b", 4, 5), c}, true},
		"out of order":    {[]cell.Cell{b, a, c}, false},
		"back":            {[]cell.Cell{a, b, a}, false},
		"twice":           {[]cell.Cell{a, b, b, c}, false},
		"newer version":   {[]cell.Cell{a, b, set("f\x00b", 6, 5), c}, false},
		"after the last":  {[]cell.Cell{a, b, c, a}, false},
		"as rows follow":  {[]cell.Cell{a, b, c, set("f\x00B", 5, 5)}, false},
		"new, then back":  {[]cell.Cell{set("f\x00d", 5, 5), c}, false},
		"negative time":   {with(func(c *cell.Cell) { c.Time = -1 }), false},
		"time too late":   {with(func(c *cell.Cell) { c.Time = cell.MaxTime + 1 }), false},
		"last sequence":   {with(func(c *cell.Cell) { c.Seq = math.MaxUint64 }), false},
		"another type":    {with(func(c *cell.Cell) { c.Type = cell.I64 }), true},
		"no type":         {with(func(c *cell.Cell) { c.Type = cell.None }), false},
		"unknown type":    {with(func(c *cell.Cell) { c.Type = cell.TypeCount }), false},
		"unknown kind":    {with(func(c *cell.Cell) { c.Kind = cell.KindCount }), false},
		"tombstone":       {with(func(c *cell.Cell) { c.Kind, c.Type = cell.DeleteVersion, cell.None }), true},
		"tombstone, type": {with(func(c *cell.Cell) { c.Kind = cell.DeleteVersion }), false},
		"a large value":   {with(func(c *cell.Cell) { c.Value = make([]byte, LargeValue) }), true},
	} {
		for _, most := range []int{1, len(test.cells)} {
			w := NewWriter(io.Discard, WriterOptions{})
			rows := []rowCells{{[]byte("1"), regular}, {[]byte("2"), []cell.Cell{set("f\x00B", 5, 5), c}}, {[]byte("3"), regular}}
			for at := 0; at < len(test.cells); at += most {
				rows = append(rows, rowCells{[]byte("4"), test.cells[at:min(at+most, len(test.cells))]})
			}
			var err error
			for _, r := range rows {
				if err = w.Add(r.row, r.cells); err != nil {
					break
				}
			}
			info, _ := w.Finish()
			if (err == nil) != test.ok {
				t.Errorf("%s, %d at once: %v", name, most, err)
			}
			if large := name == "a large value"; large != (info.ValueBlocks > 0) {
				t.Errorf("%s: %d value blocks", name, info.ValueBlocks)
			}
		}
	}
}

// The order of a row is also checked where a block ends within it.
func TestWriterOrderBetweenBlocks(t *testing.T) {
	row, most := []byte("row"), 0
	for n := 1; most < 5; n++ {
		w := NewWriter(io.Discard, WriterOptions{BlockSize: 300})
		for i := range n {
			if err := w.Add(row, []cell.Cell{set(fmt.Sprintf("f\x00%04d", i), 5, 5)}); err != nil {
				t.Fatal(err)
			}
		}
		most = int(w.info.CellBlocks)
		if err := w.Add(row, []cell.Cell{set("f\x000", 5, 5)}); err == nil {
			t.Fatalf("the first column again after %d others: accepted", n)
		}
	}
}

// An invalid type is refused even if it equals the kind byte of a column that began with a
// tombstone or a large value.
func TestWriterRefusesTypesOfOtherKinds(t *testing.T) {
	dead, large := set("f\x00a", 5, 5), set("f\x00a", 5, 5)
	dead.Kind, dead.Type, large.Value = cell.DeleteVersion, cell.None, make([]byte, LargeValue)
	for name, test := range map[string]struct {
		first cell.Cell
		bad   cell.Type
	}{"tombstone": {dead, cell.Type(dead.Kind) << kindShift}, "large value": {large, kindLarge | large.Type}} {
		w := NewWriter(io.Discard, WriterOptions{})
		if err := w.Add([]byte("1"), []cell.Cell{test.first}); err != nil {
			t.Fatal(err)
		}
		bad := set("f\x00a", 5, 5)
		bad.Type = test.bad
		if err := w.Add([]byte("2"), []cell.Cell{bad}); err == nil {
			t.Errorf("after a %s: type %d accepted", name, bad.Type)
		}
	}
}
