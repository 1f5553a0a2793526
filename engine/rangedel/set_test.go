package rangedel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// parse reads tombstones such as "[a, m) #5"; an empty end is open.
func parse(texts ...string) (list []Tombstone) {
	for _, text := range texts {
		rows, seq, _ := strings.Cut(text, ") #")
		start, end, _ := strings.Cut(strings.TrimPrefix(rows, "["), ", ")
		t := Tombstone{Start: []byte(start), End: []byte(end)}
		if end == "" {
			t.End = nil
		}
		fmt.Sscan(seq, &t.Seq)
		list = append(list, t)
	}
	return list
}

func text(list []Tombstone) string {
	var texts []string
	for _, t := range list {
		texts = append(texts, fmt.Sprintf("[%s, %s) #%d", t.Start, t.End, t.Seq))
	}
	return strings.Join(texts, " ")
}

func TestMerge(t *testing.T) {
	check := func(want string, texts ...string) {
		t.Helper()
		var sets []*Set
		for _, text := range texts {
			sets = append(sets, New(parse(text)))
		}
		merged := Merge(sets...)
		if got := text(merged.List()); got != want {
			t.Errorf("%q: got %s, want %s", texts, got, want)
		}
		if err := merged.CheckFragments(); err != nil {
			t.Errorf("%q: %v", texts, err)
		}
		if got := text(Merge(merged, nil).List()); got != want {
			t.Errorf("%q: merged again got %s, want %s", texts, got, want)
		}
	}
	check("")
	check("[a, b) #1", "[a, b) #1")
	check("[, ) #1", "[, ) #1")
	check("[a, f) #5 [f, t) #9", "[a, m) #5", "[f, t) #9")
	check("[a, f) #9 [f, t) #5", "[f, t) #5", "[a, f) #9")
	check("[a, c) #2 [c, d) #9 [d, ) #2", "[a, ) #2", "[c, d) #9")
	check("[a, d) #9", "[a, d) #9", "[b, c) #2")
	check("[a, d) #9", "[a, d) #9", "[a, d) #9", "[a, d) #3")
	check("[a, c) #3", "[a, b) #3", "[b, c) #3")           // neighbours of one batch
	check("[a, b) #3 [b, c) #4", "[a, b) #3", "[b, c) #4") // neighbours of two
	check("[a, b) #3 [c, d) #3", "[c, d) #3", "[a, b) #3")
	check("[, a) #1 [a, b) #2", "[, b) #1", "[a, b) #2")
}

func TestCheckFragments(t *testing.T) {
	for want, list := range map[string][]Tombstone{
		`"a" has no sequence number`:   parse("[a, b) #0"),
		`"b" ends with "b"`:            parse("[b, b) #1"),
		`"c" ends with "b"`:            parse("[c, b) #1"),
		`"b" begins before the one`:    parse("[a, c) #1", "[b, d) #2"),
		`"x" begins before the one`:    parse("[a, ) #1", "[x, z) #2"),
		`"a" begins before the one be`: parse("[m, n) #1", "[a, b) #2"),
	} {
		if err := New(list).CheckFragments(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text(list), err, want)
		}
	}
}

func TestCoversAll(t *testing.T) {
	s := New(parse("[b, f) #5", "[f, m) #9", "[p, ) #7"))
	for _, c := range []struct {
		first, last string
		above       uint64
		want        bool
	}{
		{"b", "e", 4, true},
		{"b", "e", 5, false},
		{"a", "e", 4, false},
		{"b", "lz", 4, true},
		{"b", "m", 4, false},
		{"f", "lz", 8, true},
		{"ez", "f", 5, false},
		{"p", "zzz", 6, true},
		{"p", "zzz", 7, false},
		{"o", "p", 1, false},
		{"a", "a", 0, false},
	} {
		if got := s.CoversAll([]byte(c.first), []byte(c.last), c.above); got != c.want {
			t.Errorf("rows %s to %s above %d: got %t", c.first, c.last, c.above, got)
		}
	}
	if (*Set)(nil).CoversAll([]byte("a"), []byte("b"), 0) {
		t.Error("no tombstone covers rows")
	}
}

func TestFragments(t *testing.T) {
	s := Merge(New(parse("[b, f) #5", "[f, m) #9", "[p, ) #7")))
	for _, c := range []struct {
		first, last string
		above       uint64
		want        string
	}{
		{"a", "a", 0, ""},
		{"a", "b", 0, "[0]"},
		{"e", "f", 0, "[0 1]"},
		{"f", "z", 0, "[1 2]"},
		{"m", "o", 0, ""},
		{"a", "z", 5, "[1 2]"},
		{"a", "z", 9, ""},
		{"zz", "zzz", 1, "[2]"},
	} {
		var got []int
		for i := range s.Fragments([]byte(c.first), []byte(c.last), c.above) {
			got = append(got, i)
		}
		if want := c.want; fmt.Sprint(got) != want && (want != "" || got != nil) {
			t.Errorf("rows %s to %s above %d: got %v, want %s", c.first, c.last, c.above, got, want)
		}
	}
}

// TestAgainstList compares sets, cursors and growing sets with the list of all tombstones.
func TestAgainstList(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		key := func() []byte { return fmt.Appendf(nil, "%02d", r.IntN(30)) }
		var list []Tombstone
		for range 1 + r.IntN(40) {
			tomb := Tombstone{Start: key(), Seq: 1 + uint64(r.IntN(20))}
			if r.IntN(10) == 0 {
				tomb.Start = nil
			}
			if r.IntN(10) > 0 {
				tomb.End = append(key(), 'x') // never empty
				if string(tomb.End) <= string(tomb.Start) {
					continue
				}
			}
			list = append(list, tomb)
		}
		newest := func(row []byte, seq uint64) (n uint64) {
			for _, t := range list {
				if t.Seq <= seq && string(row) >= string(t.Start) && (t.End == nil || string(row) < string(t.End)) {
					n = max(n, t.Seq)
				}
			}
			return n
		}
		all := New(slices.Clone(list))
		var growing Growing
		for _, t := range list {
			growing.Add(t)
		}
		if n := len(growing.Sets()); n > 6 {
			t.Fatalf("seed %d: %d tombstones are in %d sets", seed, len(list), n)
		}
		if growing.Len() != len(list) {
			t.Fatalf("seed %d: %d of %d tombstones", seed, growing.Len(), len(list))
		}
		for _, seq := range []uint64{0, 1, 7, 15, math.MaxUint64} {
			var sets []*Set
			for _, s := range growing.Sets() {
				if s = s.AsOf(seq); s != nil {
					sets = append(sets, s)
				}
			}
			var c Cursor
			c.Init(sets)
			ask := func(row []byte) {
				want := newest(row, seq)
				if got := all.Newest(row, seq); got != want {
					t.Fatalf("seed %d: %s as of %d: Newest returned %d, want %d", seed, row, seq, got, want)
				}
				if got := Merge(sets...).Newest(row, math.MaxUint64); got != want {
					t.Fatalf("seed %d: %s as of %d: merged %d, want %d", seed, row, seq, got, want)
				}
				if got := c.Newest(row); got != want {
					t.Fatalf("seed %d: %s as of %d: the cursor found %d, want %d", seed, row, seq, got, want)
				}
			}
			for i := range 30 {
				ask(fmt.Appendf(nil, "%02d", i))
			}
			for i := range 30 {
				ask(fmt.Appendf(nil, "%02d", 29-i))
			}
			for range 30 {
				ask(append(key(), "wxy"[r.IntN(3)]))
			}
		}
	}
}

// TestGrowingStaysCheap: tombstones that all overlap take no more memory than others, and an addition
// merges a few on average.
func TestGrowingStaysCheap(t *testing.T) {
	const n = 1 << 15
	var g Growing
	for i := range n { // a queue whose front is deleted again and again
		g.Add(Tombstone{Start: []byte("q/"), End: fmt.Appendf(nil, "q/%08d", i), Seq: uint64(i + 1)})
	}
	steps := 0
	for _, s := range g.Sets() {
		steps += len(s.steps)
	}
	if len(g.Sets()) > 16 || steps > 3*n || g.Bytes() < n*100 || g.Bytes() > n*200 {
		t.Errorf("%d sets with %d steps and %d bytes for %d tombstones", len(g.Sets()), steps, g.Bytes(), n)
	}
	if got := Merge(g.Sets()...).Len(); got != 1 {
		t.Errorf("%d fragments, want that the last tombstone is all", got)
	}
}

func TestCoversRange(t *testing.T) {
	s := New(parse("[b, f) #5", "[f, m) #9"))
	for _, c := range []struct {
		start, end string
		above      uint64
		want       bool
	}{
		{"b", "m", 4, true},
		{"b", "f", 5, false},
		{"f", "m", 8, true},
		{"a", "c", 4, false},
		{"l", "n", 4, false},
	} {
		if got := s.CoversRange([]byte(c.start), []byte(c.end), c.above); got != c.want {
			t.Errorf("rows %s up to %s above %d: got %t", c.start, c.end, c.above, got)
		}
	}
}
