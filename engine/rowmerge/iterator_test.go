package rowmerge

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// testRow is a row with its entries in order.
type testRow struct {
	key   string
	cells []cell.Cell
}

// testSource is a Source over rows in memory. It overwrites what it returned as soon as the
// contract allows, so that a later look at it fails the test.
type testSource struct {
	rows  []testRow
	chunk func() int // entries per Cells call, at least 1
	fail  int        // the call, counted from 1, that fails; 0 for none

	dictionary uint64

	calls  int // of SeekRow, Cells and NextRow
	at     int
	taken  int // entries of the current row
	key    []byte
	given  []cell.Cell // by the last Cells
	dst    []cell.Cell // of the last Cells
	closed int
	err    error
}

var errTestSource = errors.New("Source failed")

func newTestSource(rows ...testRow) *testSource {
	return &testSource{rows: rows, chunk: func() int { return 512 }, at: len(rows)}
}

// moved overwrites what was returned and counts the call.
func (s *testSource) moved(row bool) bool {
	for _, c := range s.given {
		spoil(c.Column)
		spoil(c.Value)
	}
	s.given = nil
	if row {
		spoil(s.key)
		s.key = nil
	}
	if s.calls++; s.calls == s.fail {
		s.err = errTestSource
		s.at = len(s.rows)
	}
	return s.err == nil
}

func spoil(b []byte) {
	for i := range b {
		b[i] = 0xee
	}
}

func (s *testSource) SeekRow(row []byte) {
	if s.moved(true) {
		s.at = sort.Search(len(s.rows), func(i int) bool { return s.rows[i].key >= string(row) })
		s.taken = 0
	}
}

func (s *testSource) NextRow() {
	if s.moved(true) {
		s.at, s.taken = s.at+1, 0
	}
}

func (s *testSource) SeekBelow(row []byte) {
	if s.moved(true) {
		s.at, s.taken = len(s.rows)-1, 0
		for s.at >= 0 && row != nil && s.rows[s.at].key >= string(row) {
			s.at--
		}
	}
}

func (s *testSource) PrevRow() {
	if s.moved(true) {
		s.at, s.taken = s.at-1, 0
	}
}

func (s *testSource) Row() []byte {
	if s.at < 0 || s.at >= len(s.rows) {
		return nil
	}
	if s.key == nil {
		s.key = []byte(s.rows[s.at].key)
	}
	return s.key
}

func (s *testSource) Cells(dst []cell.Cell) []cell.Cell {
	s.dst = dst
	if !s.moved(false) || s.at < 0 || s.at >= len(s.rows) {
		return dst
	}
	rest := s.rows[s.at].cells[s.taken:]
	rest = rest[:min(len(rest), s.chunk())]
	s.taken += len(rest)
	for _, c := range rest {
		c.Column, c.Value = bytes.Clone(c.Column), bytes.Clone(c.Value)
		s.given = append(s.given, c)
	}
	return append(dst, s.given...)
}

func (s *testSource) Scanned() cell.Scanned { return cell.Scanned{Cells: uint64(s.calls), Bytes: 1} }
func (s *testSource) Run() *cell.Run        { return &cell.Run{DictionaryID: s.dictionary} }
func (s *testSource) Err() error            { return s.err }
func (s *testSource) Close()                { s.closed++ }

// drain reads a Source from row on, as text: a row, then its entries. It checks the contract of
// Source.
func drain(t *testing.T, src Source, row string) []string {
	t.Helper()
	var texts []string
	buf := []cell.Cell{{Value: []byte("kept")}}
	for src.SeekRow([]byte(row)); src.Row() != nil; src.NextRow() {
		texts = append(texts, string(src.Row()))
		for {
			cells := src.Cells(buf)
			if string(cells[0].Value) != "kept" {
				t.Fatalf("row %q: Cells did not append", src.Row())
			}
			if len(cells) == 1 {
				break
			}
			texts = append(texts, entryTexts(cells[1:])...)
		}
	}
	if cells := src.Cells(nil); len(cells) > 0 {
		t.Errorf("%d entries after the last row", len(cells))
	}
	return texts
}

func newIterator(sources ...*testSource) *Iterator {
	m := new(Iterator)
	m.Init(sourceList(sources))
	return m
}

func rowOf(key string, texts ...string) testRow { return testRow{key, parseEntries(texts...)} }

func TestMerge(t *testing.T) {
	check := func(name string, want []string, sources ...*testSource) {
		t.Helper()
		if got := drain(t, newIterator(sources...), ""); !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
	check("no Source", nil)
	check("empty sources", nil, newTestSource(), newTestSource())
	check("one Source",
		[]string{"a", "f:a @5 #1 x", "b", "f:a @5 #1 y"},
		newTestSource(rowOf("a", "f:a @5 #1 x"), rowOf("b", "f:a @5 #1 y")))
	check("rows apart",
		[]string{"a", "f:a @5 #9 x", "b", "f:a @5 #1 y", "c", "f:a @5 #9 z"},
		newTestSource(rowOf("a", "f:a @5 #9 x"), rowOf("c", "f:a @5 #9 z")),
		newTestSource(rowOf("b", "f:a @5 #1 y")))
	check("one row in three",
		[]string{"a", "!row #8", "f:a @7 #3 old", "f:a @5 #9 x", "f:a @5 #6 y", "f:b @5 #3 z", "f:c @5 #9 w"},
		newTestSource(rowOf("a", "f:a @5 #9 x", "f:c @5 #9 w")),
		newTestSource(rowOf("a", "!row #8", "f:a @5 #6 y")),
		newTestSource(rowOf("a", "f:a @7 #3 old", "f:b @5 #3 z")))
	check("rows without wanted entries",
		[]string{"a", "f:a @5 #1 x", "b", "c", "f:a @5 #1 z"},
		newTestSource(rowOf("a"), rowOf("b")),
		newTestSource(rowOf("a", "f:a @5 #1 x"), rowOf("b"), rowOf("c", "f:a @5 #1 z")))
	check("equal entries: the newer Source first, both stay",
		[]string{"a", "f:a @5 #0 new", "f:a @5 #0 old", "f:b @5 #0 new", "f:b @5 #0 old"},
		newTestSource(rowOf("a", "f:a @5 #0 new", "f:b @5 #0 new")),
		newTestSource(rowOf("a", "f:a @5 #0 old", "f:b @5 #0 old")))
}

// TestMergeNested merges a merge.
func TestMergeNested(t *testing.T) {
	inner := newIterator(
		newTestSource(rowOf("a", "f:a @5 #5 x")),
		newTestSource(rowOf("a", "f:a @5 #3 y"), rowOf("b", "f:a @5 #3 z")))
	var m Iterator
	m.Init([]Source{newTestSource(rowOf("a", "f:a @5 #9 w"), rowOf("c", "f:a @5 #9 v")), inner})
	got := drain(t, &m, "")
	want := []string{"a", "f:a @5 #9 w", "f:a @5 #5 x", "f:a @5 #3 y", "b", "f:a @5 #3 z", "c", "f:a @5 #9 v"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestMergePass checks that a row of one Source passes through unchanged: its Cells gets the
// caller's slice, and the other Sources are not called.
func TestMergePass(t *testing.T) {
	one := newTestSource(rowOf("a", "f:a @5 #1 x", "f:b @5 #1 x"), rowOf("b", "f:a @5 #1 x"))
	other := newTestSource(rowOf("c", "f:a @5 #1 x"))
	m := newIterator(other, one)
	m.SeekRow(nil)
	before := other.calls
	buf := make([]cell.Cell, 1, 8)
	m.Cells(buf[:1])
	if len(one.dst) != 1 || &one.dst[0] != &buf[0] {
		t.Error("the Source did not get the caller's slice")
	}
	m.NextRow()
	m.Cells(buf[:0])
	if other.calls != before {
		t.Errorf("the other Source was called %d times", other.calls-before)
	}
	m.NextRow()
	if string(m.Row()) != "c" {
		t.Errorf("row %q, want c", m.Row())
	}
}

// TestMergeLastInput checks that a Source passes through again when the others have no more
// entries of the row.
func TestMergeLastInput(t *testing.T) {
	long := rowOf("a")
	for i := range 10 {
		long.cells = append(long.cells, parseEntry(fmt.Sprintf("f:b%d @5 #1 x", i)))
	}
	one, other := newTestSource(long), newTestSource(rowOf("a", "f:a @5 #2 x"))
	one.chunk = func() int { return 3 }
	m := newIterator(other, one)
	m.SeekRow(nil)
	var buf [16]cell.Cell
	for i, want := range []int{1, 3, 3, 3, 1, 0} {
		if got := len(m.Cells(buf[:0])); got != want {
			t.Errorf("call %d: %d entries, want %d", i, got, want)
		}
		if i >= 2 && (cap(one.dst) == 0 || &one.dst[:1][0] != &buf[0]) {
			t.Errorf("call %d: the Source did not get the caller's slice", i)
		}
	}
}

// TestMergeLimit checks that Cells returns at most maxRun merged entries, whatever its Sources
// return.
func TestMergeLimit(t *testing.T) {
	var sources []*testSource
	for seq := range 2 {
		row := rowOf("a")
		for i := range maxRun {
			row.cells = append(row.cells, parseEntry(fmt.Sprintf("f:%d @5 #%d x", 1000+i, 2-seq)))
		}
		sources = append(sources, newTestSource(row))
	}
	m := newIterator(sources...)
	m.SeekRow(nil)
	if got := len(m.Cells(nil)); got != maxRun {
		t.Errorf("%d entries in the first run, want %d", got, maxRun)
	}
	if got, want := len(drain(t, m, "")), 1+2*maxRun; got != want {
		t.Errorf("a row and entries: %d, want %d", got, want)
	}
}

// TestMergeSeekRow checks seeks in both directions, and that a seek forward does not move
// Sources that are there already.
func TestMergeSeekRow(t *testing.T) {
	low := newTestSource(rowOf("a", "f:a @5 #1 x"), rowOf("c", "f:a @5 #1 x"), rowOf("m", "f:a @5 #1 x"))
	high := newTestSource(rowOf("m", "f:a @5 #2 y"), rowOf("p", "f:a @5 #2 y"))
	m := newIterator(high, low)
	m.SeekRow([]byte("b"))
	calls := high.calls
	check := func(seek, want string) {
		t.Helper()
		m.SeekRow([]byte(seek))
		if got := string(m.Row()); got != want {
			t.Errorf("SeekRow(%q): at %q, want %q", seek, got, want)
		}
	}
	check("d", "m")
	if high.calls != calls {
		t.Error("a seek forward moved a Source that was there already")
	}
	if got := len(m.Cells(nil)); got != 1 {
		t.Errorf("%d entries in the first run of m, want 1", got)
	}
	check("m", "m")
	if got, want := entryTexts(m.Cells(nil)), []string{"f:a @5 #2 y"}; !slices.Equal(got, want) {
		t.Errorf("after a seek to the current row: %q, want %q", got, want)
	}
	check("n", "p")
	check("q", "")
	check("", "a")
	check("a\x00", "c")
	check("b", "c")
}

// TestMergeParticipants checks that NextRow moves only the Sources that have the row.
func TestMergeParticipants(t *testing.T) {
	ab := newTestSource(rowOf("a", "f:a @5 #3 x"), rowOf("b", "f:a @5 #3 x"))
	b := newTestSource(rowOf("b", "f:a @5 #2 x"))
	c := newTestSource(rowOf("c", "f:a @5 #1 x"))
	m := newIterator(ab, b, c)
	m.SeekRow(nil)
	for i, want := range [][3]int{{2, 1, 1}, {3, 2, 1}, {3, 2, 2}} {
		m.NextRow()
		if got := [3]int{ab.calls, b.calls, c.calls}; got != want {
			t.Errorf("after NextRow %d the sources were called %v times, want %v", i, got, want)
		}
	}
	if got, want := m.Scanned(), (cell.Scanned{Cells: 7, Bytes: 3}); got != want {
		t.Errorf("scanned %v, want %v", got, want)
	}
	m.Close()
	m.Close()
	if ab.closed != 1 || b.closed != 1 || c.closed != 1 {
		t.Errorf("closed %d, %d, %d times, want once", ab.closed, b.closed, c.closed)
	}
}

// randomSources returns Sources and their merge. Entries of the same column, time and sequence
// number, with different values, occur too.
func randomSources(rng *rand.Rand) (sources []*testSource, merged []testRow) {
	byRow := make(map[string][]cell.Cell)
	for age := range rng.IntN(6) {
		var rows []testRow
		for _, key := range []string{"r", "r1", "r1\x00", "r2", "s"} {
			if rng.IntN(3) == 0 {
				continue
			}
			row := testRow{key: key}
			for n := range rng.IntN(8) {
				c := parseEntry(fmt.Sprintf("f:%d @%d #%d v%d-%d", rng.IntN(3), rng.IntN(3), rng.IntN(3), age, n))
				if !slices.ContainsFunc(row.cells, func(d cell.Cell) bool { return c.Compare(&d) == 0 }) {
					row.cells = append(row.cells, c)
				}
			}
			slices.SortFunc(row.cells, func(a, b cell.Cell) int { return a.Compare(&b) })
			rows = append(rows, row)
			byRow[key] = append(byRow[key], row.cells...)
		}
		s := newTestSource(rows...)
		s.chunk = func() int { return 1 + rng.IntN(4) }
		sources = append(sources, s)
	}
	for _, key := range slices.Sorted(maps.Keys(byRow)) {
		slices.SortStableFunc(byRow[key], func(a, b cell.Cell) int { return a.Compare(&b) })
		merged = append(merged, testRow{key, byRow[key]})
	}
	return sources, merged
}

// rowsFrom returns the rows from first on, as drain does.
func rowsFrom(rows []testRow, first string) []string {
	var texts []string
	for _, row := range rows {
		if row.key >= first {
			texts = append(append(texts, row.key), entryTexts(row.cells)...)
		}
	}
	return texts
}

func TestMergeRandom(t *testing.T) {
	var m Iterator
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		sources, merged := randomSources(rng)
		m.Init(sourceList(sources))
		if got, want := drain(t, &m, ""), rowsFrom(merged, ""); !slices.Equal(got, want) {
			t.Fatalf("seed %d:\n got %q\nwant %q", seed, got, want)
		}
		seekAround(t, seed, rng, &m, merged)
		m.Close()
	}
}

// seekAround moves a merge in all ways and checks its row after each.
func seekAround(t *testing.T, seed uint64, rng *rand.Rand, m *Iterator, merged []testRow) {
	t.Helper()
	from := "" // the current row is the first from here on
	m.SeekRow(nil)
	for range 20 {
		switch rng.IntN(3) {
		case 0:
			from = []string{"", "r", "r1", "r11", "r3", "s", "t"}[rng.IntN(7)]
			m.SeekRow([]byte(from))
		case 1:
			m.Cells(nil)
		case 2:
			if row := m.Row(); row != nil {
				from = string(row) + "\x00"
			}
			m.NextRow()
		}
		want := ""
		if rest := rowsFrom(merged, from); len(rest) > 0 {
			want = rest[0]
		}
		if got := string(m.Row()); got != want {
			t.Fatalf("seed %d: at row %q, want %q, the first from %q", seed, got, want, from)
		}
	}
	if got, want := drain(t, m, from), rowsFrom(merged, from); !slices.Equal(got, want) {
		t.Fatalf("seed %d: from row %q\n got %q\nwant %q", seed, from, got, want)
	}
}

// TestMergeErr fails each Source at each of its calls. The merge must return a prefix of the right
// result and then the error, and never a short result without an error.
func TestMergeErr(t *testing.T) {
	failures := 0
	for seed := range uint64(100) {
		sources, merged := randomSources(rand.New(rand.NewPCG(seed, 2)))
		want := rowsFrom(merged, "")
		for broken := range sources {
			for call := 1; ; call++ {
				sources, _ := randomSources(rand.New(rand.NewPCG(seed, 2)))
				sources[broken].fail = call
				m := newIterator(sources...)
				got := drain(t, m, "")
				if sources[broken].err == nil { // all calls were made before
					if m.Err() != nil || !slices.Equal(got, want) {
						t.Fatalf("seed %d:\n got %q, %v\nwant %q", seed, got, m.Err(), want)
					}
					break
				}
				failures++
				checkMergeFailed(t, fmt.Sprintf("seed %d, call %d of Source %d", seed, call, broken), m, got, want)
			}
		}
	}
	if failures < 1000 {
		t.Errorf("only %d failures were tried", failures)
	}
}

// TestMergeErrInRow reads one row and no further, as a point read does. It must notice that the row
// ends with an error.
func TestMergeErrInRow(t *testing.T) {
	for n := range 3 { // sources that have the row besides the broken one
		broken := newTestSource(rowOf("a", "f:a @5 #1 x", "f:b @5 #1 x"))
		broken.chunk = func() int { return 1 }
		broken.fail = 3 // SeekRow, Cells, Cells
		sources := []*testSource{broken}
		for range n {
			sources = append(sources, newTestSource(rowOf("a", "f:a @9 #1 x")))
		}
		m := newIterator(sources...)
		for m.SeekRow([]byte("a")); len(m.Cells(nil)) > 0; {
		}
		if !errors.Is(m.Err(), errTestSource) {
			t.Errorf("with %d other sources: got error %v, want %v", n, m.Err(), errTestSource)
		}
	}
}

func checkMergeFailed(t *testing.T, name string, m *Iterator, got, want []string) {
	t.Helper()
	if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
		t.Fatalf("%s:\n got %q\nwhich does not begin %q", name, got, want)
	}
	for range 2 {
		if !errors.Is(m.Err(), errTestSource) {
			t.Fatalf("%s: got error %v, want %v", name, m.Err(), errTestSource)
		}
		if m.Row() != nil || len(m.Cells(nil)) > 0 {
			t.Fatalf("%s: there is a row after the error", name)
		}
		m.NextRow()
		m.SeekRow(nil)
	}
}

func sourceList(sources []*testSource) []Source {
	list := make([]Source, len(sources))
	for i, s := range sources {
		list[i] = s
	}
	return list
}

// arraySource is a Source without the checks of testSource, for benchmarks.
type arraySource struct {
	keys  [][]byte
	cells []cell.Cell // of every row
	at    int
	taken bool
}

func (s *arraySource) SeekRow([]byte)   { s.at, s.taken = 0, false }
func (s *arraySource) SeekBelow([]byte) { s.at, s.taken = len(s.keys)-1, false }
func (s *arraySource) NextRow()         { s.at, s.taken = s.at+1, false }
func (s *arraySource) PrevRow()         { s.at, s.taken = s.at-1, false }
func (s *arraySource) Row() []byte {
	if s.at < 0 || s.at == len(s.keys) {
		return nil
	}
	return s.keys[s.at]
}
func (s *arraySource) Cells(dst []cell.Cell) []cell.Cell {
	if s.taken {
		return dst
	}
	s.taken = true
	return append(dst, s.cells...)
}
func (s *arraySource) Scanned() cell.Scanned { return cell.Scanned{} }
func (s *arraySource) Run() *cell.Run        { return &UnknownRun }
func (s *arraySource) Err() error            { return nil }
func (s *arraySource) Close()                {}

// arraySources returns n Sources over 1000 rows of 10 columns. Each row is in as many Sources as
// shared says.
func arraySources(n, shared int) []Source {
	list := make([]Source, n)
	for i := range list {
		s := new(arraySource)
		for q := range 10 {
			s.cells = append(s.cells, parseEntry(fmt.Sprintf("family:column%d @5 #%d value", q, n-i)))
		}
		list[i] = s
	}
	for r := range 1000 {
		for k := range shared {
			s := list[(r*7+k)%n].(*arraySource)
			s.keys = append(s.keys, fmt.Appendf(nil, "com.example.www/path/%06d", r))
		}
	}
	return list
}

// mergeAll runs a merge to its end and counts its entries.
func mergeAll(m *Iterator, sources []Source, buf []cell.Cell) int {
	n := 0
	m.Init(sources)
	for m.SeekRow(nil); m.Row() != nil; m.NextRow() {
		for {
			cells := m.Cells(buf[:0])
			if len(cells) == 0 {
				break
			}
			n += len(cells)
		}
	}
	m.Close()
	return n
}

func TestMergeAllocs(t *testing.T) {
	var m Iterator
	sources := arraySources(5, 3)
	buf := make([]cell.Cell, 0, 1024)
	if got := testing.AllocsPerRun(5, func() { mergeAll(&m, sources, buf) }); got != 0 {
		t.Errorf("a merge allocates %v times, want 0", got)
	}
}

func BenchmarkMerge(b *testing.B) {
	for _, c := range []struct {
		name      string
		n, shared int
	}{
		{"1 Source", 1, 1}, {"2 sources, rows apart", 2, 1}, {"2 sources, same rows", 2, 2},
		{"12 sources, rows apart", 12, 1}, {"12 sources, rows in 3", 12, 3},
	} {
		b.Run(c.name, func(b *testing.B) {
			var m Iterator
			sources := arraySources(c.n, c.shared)
			buf := make([]cell.Cell, 0, 1024)
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				n += mergeAll(&m, sources, buf)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/cell")
		})
	}
}

// TestMergeRun checks that entries of one Source come with its Run, and merged ones with
// UnknownRun.
func TestMergeRun(t *testing.T) {
	one := newTestSource(rowOf("a", "f:a @5 #9 x", "f:b @5 #9 x"), rowOf("b", "f:a @5 #9 x"))
	two := newTestSource(rowOf("a", "f:b @4 #9 x", "f:c @4 #9 x"), rowOf("c", "f:a @5 #9 x"))
	one.dictionary, two.dictionary = 1, 2
	two.chunk = func() int { return 1 }
	var m Iterator
	m.Init([]Source{one, two})
	defer m.Close()
	var got []string
	for m.SeekRow(nil); m.Row() != nil; m.NextRow() {
		for cells := m.Cells(nil); len(cells) > 0; cells = m.Cells(nil) {
			got = append(got, fmt.Sprintf("%s %d of %d", m.Row(), len(cells), m.Run().DictionaryID))
		}
	}
	// f:c comes alone, when the other Source has no more entries.
	if want := []string{"a 2 of 0", "a 1 of 0", "a 1 of 2", "b 1 of 1", "c 1 of 2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
