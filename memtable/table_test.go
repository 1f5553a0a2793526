package memtable

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// entry is a row's entry as the tests keep it: with bytes of its own.
type entry struct {
	row  string
	cell cell.Cell
}

func (e entry) String() string {
	c := e.cell
	return fmt.Sprintf("%q %q time %d seq %d kind %d type %d value %.40q (%d bytes)",
		e.row, c.Column, c.Time, c.Seq, c.Kind, c.Type, c.Value, len(c.Value))
}

func order(a, b entry) int {
	return cmp.Or(strings.Compare(a.row, b.row), a.cell.Compare(&b.cell))
}

// model is the specification: sorted entries, one per place.
type model struct{ entries []entry }

func (m *model) add(row string, c cell.Cell) {
	c.Column, c.Value = bytes.Clone(c.Column), bytes.Clone(c.Value)
	e := entry{row, c}
	i, found := slices.BinarySearchFunc(m.entries, e, order)
	if found {
		m.entries[i] = e
	} else {
		m.entries = slices.Insert(m.entries, i, e)
	}
}

// rows returns the distinct row keys.
func (m *model) rows() []string {
	var rows []string
	for _, e := range m.entries {
		if len(rows) == 0 || rows[len(rows)-1] != e.row {
			rows = append(rows, e.row)
		}
	}
	return rows
}

// takeRow appends what the iterator has for its current row.
func takeRow(dst []entry, it *Iterator) []entry {
	row := string(it.Row())
	var run []cell.Cell
	for {
		run = it.Cells(run[:0])
		if len(run) == 0 {
			return dst
		}
		for _, c := range run {
			c.Column, c.Value = bytes.Clone(c.Column), bytes.Clone(c.Value)
			dst = append(dst, entry{row, c})
		}
	}
}

// dump returns all entries of a table.
func dump(tb *Table, o ReadOptions) []entry {
	it := tb.NewIterator(o)
	defer it.Close()
	var all []entry
	for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
		all = takeRow(all, it)
	}
	return all
}

// compare reports the first difference.
func compare(t *testing.T, got, want []entry) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		g, w := got[i], want[i]
		if order(g, w) != 0 || g.cell.Kind != w.cell.Kind || g.cell.Type != w.cell.Type || !bytes.Equal(g.cell.Value, w.cell.Value) {
			t.Fatalf("entry %d:\n got %v\nwant %v", i, g, w)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("got %d entries, want %d", len(got), len(want))
	}
}

// randomCell draws a cell; few places, so that many coincide.
func randomCell(r *rand.Rand) cell.Cell {
	family := []string{"a", "ab", "b", "contents"}[r.IntN(4)]
	c := cell.Cell{Time: cell.TombstoneTime, Seq: uint64(r.IntN(4))}
	switch c.Kind = cell.Kind(r.IntN(cell.KindCount)); c.Kind {
	case cell.DeleteRow:
	case cell.DeleteFamily:
		c.Column = []byte(family)
	default:
		c.Column = fmt.Appendf(nil, "%s\x00%d", family, r.IntN(20))
	}
	if c.Kind == cell.Set || c.Kind == cell.DeleteVersion {
		c.Time = int64(r.IntN(3))
	}
	if c.Kind == cell.Set {
		c.Type = cell.Bytes
		c.Value = bytes.Repeat([]byte{byte(r.Uint32())}, r.IntN(40))
	}
	return c
}

func randomRow(r *rand.Rand) string {
	const letters = "ab\x00\xff"
	n := r.IntN(5)
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

func TestRandom(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			tb, m := New(), new(model)
			ins := [3]Inserter{{Ascending: true}}
			for range 3000 {
				row, c := randomRow(r), randomCell(r)
				m.add(row, c)
				rowBytes := []byte(row)
				if i := r.IntN(len(ins) + 1); i < len(ins) {
					ins[i].Add(tb, rowBytes, &c)
				} else {
					tb.Add(rowBytes, &c)
				}
				// The table must have its own copies.
				for _, b := range [][]byte{rowBytes, c.Column, c.Value} {
					for i := range b {
						b[i] = 0xdb
					}
				}
			}
			checkInvariants(t, tb)
			compare(t, dump(tb, ReadOptions{}), m.entries)
			if got, want := tb.Len(), len(m.entries); got != want {
				t.Errorf("Len: got %d, want %d", got, want)
			}
			if got, want := tb.Rows(), len(m.rows()); got != want {
				t.Errorf("Rows: got %d, want %d", got, want)
			}
		})
	}
}

func TestEmpty(t *testing.T) {
	tb := New()
	if got := tb.Bytes(); got > 1024 {
		t.Errorf("Bytes of an empty table: got %d, want 1024 at most", got)
	}
	if tb.Len() != 0 || tb.Rows() != 0 {
		t.Errorf("got %d entries in %d rows, want none", tb.Len(), tb.Rows())
	}
	it := tb.NewIterator(ReadOptions{})
	defer it.Close()
	for _, row := range []string{"", "a"} {
		it.SeekRow([]byte(row))
		if it.Row() != nil {
			t.Errorf("SeekRow(%q): got row %q, want none", row, it.Row())
		}
		if got := it.Cells(nil); len(got) != 0 {
			t.Errorf("SeekRow(%q): got %d cells, want none", row, len(got))
		}
		it.NextRow()
		if it.Row() != nil {
			t.Errorf("NextRow: got row %q, want none", it.Row())
		}
	}
	if it.Err() != nil {
		t.Errorf("Err: got %v, want none", it.Err())
	}
}

// An empty row key is a row like another.
func TestEmptyRowKey(t *testing.T) {
	tb := New()
	tb.Add(nil, &cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime, Seq: 1})
	it := tb.NewIterator(ReadOptions{})
	defer it.Close()
	it.SeekRow(nil)
	if it.Row() == nil || len(it.Row()) != 0 {
		t.Errorf("got row %#v, want an empty one", it.Row())
	}
	if got := len(it.Cells(nil)); got != 1 {
		t.Errorf("got %d cells, want 1", got)
	}
}

func TestReplace(t *testing.T) {
	tb, m := New(), new(model)
	var in Inserter
	values := []string{"first", "", strings.Repeat("long", 1000), strings.Repeat("huge", 1<<18), "last"}
	for _, v := range values {
		for _, column := range []string{"f\x00a", "f\x00b"} {
			c := cell.Cell{Column: []byte(column), Value: []byte(v), Time: 5, Seq: 9, Type: cell.String}
			in.Add(tb, []byte("row"), &c)
			m.add("row", c)
		}
		compare(t, dump(tb, ReadOptions{}), m.entries)
	}
	c := cell.Cell{Column: []byte("f\x00a"), Time: 5, Seq: 9, Kind: cell.DeleteVersion}
	tb.Add([]byte("row"), &c)
	m.add("row", c)
	compare(t, dump(tb, ReadOptions{}), m.entries)
	if tb.Len() != 2 || tb.Rows() != 1 {
		t.Errorf("got %d entries in %d rows, want 2 in 1", tb.Len(), tb.Rows())
	}
}

// The slices of a replaced value stay as they were read.
func TestReplaceLeavesReadValues(t *testing.T) {
	tb := New()
	c := cell.Cell{Column: []byte("f\x00a"), Value: []byte("old"), Type: cell.String}
	tb.Add([]byte("row"), &c)
	it := tb.NewIterator(ReadOptions{})
	defer it.Close()
	it.SeekRow(nil)
	got := it.Cells(nil)
	c.Value = []byte("new")
	tb.Add([]byte("row"), &c)
	if string(got[0].Value) != "old" {
		t.Errorf("got %q, want the value as it was read", got[0].Value)
	}
}

// One Inserter may go from table to table.
func TestInserterTables(t *testing.T) {
	var in Inserter
	var tables [2]*Table
	var models [2]model
	for i := range tables {
		tables[i] = New()
	}
	for i := range 100 {
		c := cell.Cell{Column: []byte("f\x00"), Time: int64(i), Type: cell.String}
		in.Add(tables[i/2%2], []byte("row"), &c)
		models[i/2%2].add("row", c)
		if i%7 == 0 {
			in.Reset()
		}
	}
	for i := range tables {
		compare(t, dump(tables[i], ReadOptions{}), models[i].entries)
	}
}

// The heights of nodes are drawn with probability 1/4 a level, whether by one
// generator or by a new one each time, and never exceed the highest.
func TestHeights(t *testing.T) {
	const n = 1 << 16
	kept := Inserter{rand: mix(1)}
	draws := map[string]func(i uint64) int{
		"one generator": func(uint64) int { return kept.height() },
		"a new one each time": func(i uint64) int {
			in := Inserter{rand: mix(i + 1)}
			return in.height()
		},
	}
	for name, draw := range draws {
		var count [maxHeight + 1]int
		for i := range uint64(n) {
			count[draw(i)]++
		}
		above := n
		for h := 1; h <= 4; h++ {
			if got, want := above-count[h], above/4; got < want*8/10 || got > want*12/10 {
				t.Errorf("%s: %d nodes above height %d, want about %d", name, got, h, want)
			}
			above -= count[h]
		}
	}
}
