package rowmerge

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// drainDown is drain from the last row below row to the first.
func drainDown(src Source, row []byte) []string {
	var texts []string
	for src.SeekBelow(row); src.Row() != nil; src.PrevRow() {
		texts = append(texts, string(src.Row()))
		for cells := src.Cells(nil); len(cells) > 0; cells = src.Cells(cells[:0]) {
			texts = append(texts, entryTexts(cells)...)
		}
	}
	return texts
}

// rowsBelow returns the rows below a key, nil for the end, as drainDown does.
func rowsBelow(rows []testRow, key []byte) []string {
	var texts []string
	for _, row := range slices.Backward(rows) {
		if key == nil || row.key < string(key) {
			texts = append(append(texts, row.key), entryTexts(row.cells)...)
		}
	}
	return texts
}

func TestMergeDownRandom(t *testing.T) {
	var m Iterator
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		sources, merged := randomSources(rng)
		m.Init(sourceList(sources))
		for _, key := range [][]byte{nil, []byte("r2"), []byte("r1\x00"), []byte("t"), []byte("r"), {}} {
			if got, want := drainDown(&m, key), rowsBelow(merged, key); !slices.Equal(got, want) {
				t.Fatalf("seed %d below %q:\n got %q\nwant %q", seed, key, got, want)
			}
			for m.SeekBelow(key); m.Row() != nil && rng.IntN(3) > 0; m.PrevRow() { // part of the rows, and of their entries
				m.Cells(nil)
			}
		}
		if got, want := drain(t, &m, "r1"), rowsFrom(merged, "r1"); !slices.Equal(got, want) {
			t.Fatalf("seed %d, upward after that:\n got %q\nwant %q", seed, got, want)
		}
		m.Close()
	}
}

// TestMergeDownParticipants checks that PrevRow moves only the Sources that have the row.
func TestMergeDownParticipants(t *testing.T) {
	ab := newTestSource(rowOf("a", "f:a @5 #3 x"), rowOf("b", "f:a @5 #3 x"))
	a := newTestSource(rowOf("a", "f:a @5 #2 x"))
	c := newTestSource(rowOf("c", "f:a @5 #1 x"))
	m := newIterator(ab, a, c)
	m.SeekBelow(nil)
	for i, want := range [][3]int{{1, 1, 2}, {2, 1, 2}, {3, 2, 2}} {
		m.PrevRow()
		if got := [3]int{ab.calls, a.calls, c.calls}; got != want {
			t.Errorf("after PrevRow %d the sources were called %v times, want %v", i, got, want)
		}
	}
}

// TestMergeDownErr is TestMergeErr on the way down.
func TestMergeDownErr(t *testing.T) {
	failures := 0
	for seed := range uint64(50) {
		sources, merged := randomSources(rand.New(rand.NewPCG(seed, 4)))
		want := rowsBelow(merged, nil)
		for broken := range sources {
			for call := 1; ; call++ {
				sources, _ := randomSources(rand.New(rand.NewPCG(seed, 4)))
				sources[broken].fail = call
				m := newIterator(sources...)
				got := drainDown(m, nil)
				if sources[broken].err == nil { // all calls were made before
					if m.Err() != nil || !slices.Equal(got, want) {
						t.Fatalf("seed %d:\n got %q, %v\nwant %q", seed, got, m.Err(), want)
					}
					break
				}
				failures++
				checkMergeFailed(t, fmt.Sprintf("seed %d, call %d of Source %d", seed, call, broken), m, got, want)
				if m.SeekBelow(nil); m.Row() != nil {
					t.Fatalf("seed %d: a row after the error", seed)
				}
			}
		}
	}
	if failures < 500 {
		t.Errorf("only %d failures were tried", failures)
	}
}

// A merge that moves down allocates nothing per row.
func TestMergeDownAllocatesNothing(t *testing.T) {
	keys := make([][]byte, 100)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "row%03d", i)
	}
	var m Iterator
	buf := make([]cell.Cell, 0, 16)
	sources := []Source{&arraySource{keys: keys, cells: parseEntries("f:a @5 #2 x")}, &arraySource{keys: keys[50:], cells: parseEntries("f:a @5 #1 x")}}
	read := func() {
		m.Init(sources)
		rows := 0
		for m.SeekBelow(nil); m.Row() != nil; m.PrevRow() {
			for buf = m.Cells(buf[:0]); len(buf) > 0; buf = m.Cells(buf[:0]) {
			}
			rows++
		}
		m.Close()
		if rows != len(keys) {
			t.Fatalf("%d rows", rows)
		}
	}
	read()
	if n := testing.AllocsPerRun(5, read); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
