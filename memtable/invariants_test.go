package memtable

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/colonnade-db/colonnade/cell"
)

// TestAscending: sorted lists of rows go into a large table, each from its beginning,
// with gaps of all lengths.
func TestAscending(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	tb, m := New(), new(model)
	in := Inserter{Ascending: true}
	for gap := 1; gap < 3000; gap *= 3 {
		for i := r.IntN(gap); i < 6000; i += 1 + r.IntN(gap) {
			row, c := fmt.Sprintf("%04d", i), cell.Cell{Column: []byte("f\x00"), Seq: uint64(gap), Type: cell.String}
			in.Add(tb, []byte(row), &c)
			m.add(row, c)
		}
	}
	checkInvariants(t, tb)
	compare(t, dump(tb, ReadOptions{}), m.entries)
}

// checkInvariants walks every level of every list: nodes ascend, and each is on
// the level below too.
func checkInvariants(t *testing.T, tb *Table) {
	t.Helper()
	rows := tb.rowList()
	checkList(t, rows, func(n unsafe.Pointer) searchKey { return searchKey{key: key(n)} })
	entries := 0
	for r := rows.first(); r != 0; r = ref(link(tb.arena.at(r), 0).Load()) {
		entries += checkList(t, tb.entryList(tb.arena.at(r)), func(n unsafe.Pointer) searchKey {
			e := (*entryNode)(n)
			return searchKey{key: key(n), entry: true, time: e.time, seq: e.seq}
		})
	}
	if entries != tb.Len() {
		t.Errorf("got %d entries on level 0, Len is %d", entries, tb.Len())
	}
}

// checkList checks one list and returns the number of its nodes.
func checkList(t *testing.T, l list, placeOf func(unsafe.Pointer) searchKey) (nodes int) {
	t.Helper()
	var below map[ref]bool
	for level := range maxHeight {
		head := l.from(0, level)
		if head == nil {
			break
		}
		on := make(map[ref]bool)
		var last unsafe.Pointer
		for r := ref(link(head, level).Load()); r != 0; r = ref(link(last, level).Load()) {
			n := l.arena.at(r)
			if k := placeOf(n); last != nil && k.compare(last) <= 0 {
				t.Fatalf("level %d: %q is not behind %q", level, key(n), key(last))
			}
			if level > 0 && !below[r] {
				t.Fatalf("level %d: %q is not on level %d", level, key(n), level-1)
			}
			on[r] = true
			last = n
		}
		if level == 0 {
			nodes = len(on)
		}
		below = on
	}
	return nodes
}

// Upper levels stay sorted when the finger has moved on along level 0 alone,
// over rows that were there before.
func TestInsertBehindFoundRows(t *testing.T) {
	tb := New()
	var in Inserter
	add := func(i int) {
		in.Add(tb, []byte{byte(i >> 8), byte(i)}, &cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime})
	}
	for i := 0; i < 4000; i += 2 {
		add(i)
	}
	for i := range 4000 {
		add(i)
	}
	checkInvariants(t, tb)
	if tb.Rows() != 4000 {
		t.Errorf("Rows: got %d, want 4000", tb.Rows())
	}
}

// A row that is linked, but has no entry yet, is not there for readers.
func TestRowBeforeItsFirstEntry(t *testing.T) {
	tb := New()
	c := cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime}
	for _, row := range []string{"b", "d"} {
		tb.Add([]byte(row), &c)
	}
	in := Inserter{table: tb}
	for _, row := range []string{"a", "c", "e"} {
		in.findRow([]byte(row))
	}
	it := tb.NewIterator(ReadOptions{})
	defer it.Close()
	var got []byte
	for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
		got = append(got, it.Row()...)
	}
	if string(got) != "bd" {
		t.Errorf("got rows %q, want bd", got)
	}
	for target, want := range map[string]string{"a": "b", "c": "d", "e": ""} {
		it.SeekRow([]byte(target))
		if string(it.Row()) != want {
			t.Errorf("SeekRow(%q): got row %q, want %q", target, it.Row(), want)
		}
	}
}

// Two goroutines that find a chunk full, or a row without upper head, get one
// new chunk and one head.
func TestGrowOnce(t *testing.T) {
	a := new(arena)
	a.alloc(&a.entries, unit)
	full := cursor(a.entries.cursor.Load()).chunk()
	for range 2 {
		a.grow(&a.entries, full, unit)
	}
	if got := len(*a.chunks.Load()) - 1; got != 2 {
		t.Errorf("got %d chunks, want 2", got)
	}

	in := Inserter{table: New()}
	in.row = in.findRow([]byte("row"))
	if first, second := in.addUpperHead(), in.addUpperHead(); first != second {
		t.Errorf("got heads %p and %p, want one", first, second)
	}
}
