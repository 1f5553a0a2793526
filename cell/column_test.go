package cell

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

func FuzzColumnOrder(f *testing.F) {
	f.Add([]byte("a"), []byte("x"), []byte("a"), []byte("x\x00"))
	f.Add([]byte("a"), []byte("\xff\xff"), []byte("a-"), []byte(""))
	f.Add([]byte("a"), []byte("a:b"), []byte("aa"), []byte(":"))
	f.Add([]byte("#"), []byte("\x00\x01"), []byte("#"), []byte("\x00"))
	f.Add([]byte("family"), []byte(""), []byte("family"), []byte("\U0010ffff"))
	f.Fuzz(func(t *testing.T, f1, q1, f2, q2 []byte) {
		for _, family := range [][]byte{f1, f2} {
			if len(family) == 0 || bytes.IndexByte(family, 0) >= 0 {
				t.Skip("no name of a family")
			}
		}
		c1, c2 := AppendColumn(nil, f1, q1), AppendColumn(nil, f2, q2)
		want := bytes.Compare(f1, f2)
		if want == 0 {
			want = bytes.Compare(q1, q2)
		}
		// The order is exact for names whose bytes are all above the separator. The data
		// model allows no others.
		if got := bytes.Compare(c1, c2); got != want {
			t.Errorf("order of %q and %q is %d, want %d", c1, c2, got, want)
		}
		family, qualifier := SplitColumn(c1)
		if !bytes.Equal(family, f1) || !bytes.Equal(qualifier, q1) || qualifier == nil {
			t.Errorf("SplitColumn(%q) = %q, %q, want %q, %q", c1, family, qualifier, f1, q1)
		}
	})
}

func TestAppendColumnAppends(t *testing.T) {
	if got, want := string(AppendColumn([]byte("row"), []byte("f"), []byte("q"))), "rowf\x00q"; got != want {
		t.Errorf("AppendColumn = %q, want %q", got, want)
	}
}

func TestSplitColumnOfTombstones(t *testing.T) {
	for _, c := range []string{"", "family"} {
		family, qualifier := SplitColumn([]byte(c))
		if string(family) != c || qualifier != nil {
			t.Errorf("SplitColumn(%q) = %q, %q, want %q, nil", c, family, qualifier, c)
		}
	}
}

func TestSuccessor(t *testing.T) {
	for _, tc := range []struct{ prefix, want string }{ // "" for nil
		{"", ""},
		{"a", "b"},
		{"a\x00", "a\x01"},
		{"a\xff", "b"},
		{"a\xff\xff", "b"},
		{"\xff", ""},
		{"\xff\xff\xff", ""},
		{"\xfe\xff", "\xff"},
		{"\xff\x00", "\xff\x01"},
		{"\U0010ffff", "\xf4\x8f\xbf\xc0"},
	} {
		prefix := []byte(tc.prefix)
		got := Successor(prefix)
		if string(got) != tc.want || (got == nil) != (tc.want == "") {
			t.Errorf("Successor(%q) = %q, want %q", tc.prefix, got, tc.want)
		}
		if string(prefix) != tc.prefix {
			t.Errorf("Successor changed its argument %q to %q", tc.prefix, prefix)
		}
	}
}

func FuzzSuccessor(f *testing.F) {
	f.Add([]byte("a"), []byte("ab"))
	f.Add([]byte("a\xff"), []byte("b"))
	f.Add([]byte("\xff\xff"), []byte("\xff\xff\xff"))
	f.Add([]byte(""), []byte(""))
	f.Fuzz(func(t *testing.T, prefix, s []byte) {
		end := Successor(prefix)
		got := bytes.Compare(s, prefix) >= 0 && (end == nil || bytes.Compare(s, end) < 0)
		if want := bytes.HasPrefix(s, prefix); got != want {
			t.Errorf("%q in [%q, %q): %t, want %t", s, prefix, end, got, want)
		}
	})
}

// someColumns are the columns that tests of sets ask about, tombstones included.
var someColumns = []string{
	"", "a", "a\x00", "a\x00\x00", "a\x00x", "a\x00x\x00", "a\x00xy", "a\x00y", "a\x00\xff", "a-", "a-\x00x",
	"aa", "aa\x00", "aa\x00x", "b", "b\x00", "b\x00x", "b\x00\xf4\x8f\xbf\xbf", "c\x00x", "\xff\xff",
}

func TestRanges(t *testing.T) {
	holds := func(r Range) string {
		var in []string
		for _, c := range someColumns {
			if c >= string(r.Start) && (r.End == nil || c < string(r.End)) {
				in = append(in, strings.ReplaceAll(c, "\x00", "0"))
			}
		}
		return strings.Join(in, " ")
	}
	for _, tc := range []struct {
		name string
		r    Range
		want string
	}{
		{"family", FamilyRange([]byte("a")), "a a0 a00 a0x a0x0 a0xy a0y a0\xff"},
		{"other family", FamilyRange([]byte("aa")), "aa aa0 aa0x"},
		{"column", ColumnRange([]byte("a"), []byte("x")), "a0x"},
		{"column with the empty qualifier", ColumnRange([]byte("a"), nil), "a0"},
		{"prefix of qualifiers", PrefixRange([]byte("a\x00x")), "a0x a0x0 a0xy"},
		{"prefix of families", PrefixRange([]byte("a")), "a a0 a00 a0x a0x0 a0xy a0y a0\xff a- a-0x aa aa0 aa0x"},
		{"prefix without a successor", PrefixRange([]byte("\xff")), "\xff\xff"},
	} {
		if got := holds(tc.r); got != tc.want {
			t.Errorf("%s holds %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestRangesOwnTheirBytes(t *testing.T) {
	b := []byte("a\x00x")
	family, prefix := FamilyRange(b[:1]), PrefixRange(b)
	b[0] = 'z'
	if string(family.Start) != "a" || string(family.End) != "a\x01" || b[1] != 0 {
		t.Errorf("FamilyRange shares bytes with its argument: %q", family)
	}
	if string(prefix.Start) != "a\x00x" || string(prefix.End) != "a\x00y" {
		t.Errorf("PrefixRange shares bytes with its argument: %q", prefix)
	}
}

func TestNilColumnsAreAll(t *testing.T) {
	var s *Columns
	for _, c := range someColumns {
		if !s.Contains([]byte(c)) || !s.Wants([]byte(c)) {
			t.Errorf("a nil set misses %q", c)
		}
	}
	if !s.Overlaps([]byte("a")) || s.Ranges() != nil {
		t.Errorf("a nil set: Overlaps = %t, Ranges = %q", s.Overlaps([]byte("a")), s.Ranges())
	}
}

func TestEmptyColumnsAreNone(t *testing.T) {
	for _, s := range []*Columns{NewColumns(), NewColumns(Range{[]byte("b"), []byte("a")}, Range{[]byte("a"), []byte("a")})} {
		for _, c := range someColumns {
			if s.Contains([]byte(c)) {
				t.Errorf("an empty set contains %q", c)
			}
		}
		if s.Overlaps([]byte("a")) || len(s.Ranges()) != 0 {
			t.Errorf("an empty set: Overlaps = %t, Ranges = %q", s.Overlaps([]byte("a")), s.Ranges())
		}
	}
}

// TestColumnsAgainstTheirRanges compares random sets with a linear search of the
// ranges they were made of.
func TestColumnsAgainstTheirRanges(t *testing.T) {
	const seed = 1
	rnd := rand.New(rand.NewPCG(seed, seed))
	for try := range 5000 {
		var ranges []Range
		for range rnd.IntN(6) {
			r := Range{Start: []byte(someColumns[rnd.IntN(len(someColumns))])}
			if rnd.IntN(8) > 0 {
				r.End = []byte(someColumns[rnd.IntN(len(someColumns))])
			}
			ranges = append(ranges, r)
		}
		checkColumns(t, ranges)
		if t.Failed() {
			t.Fatalf("seed %d, try %d: %q", seed, try, ranges)
		}
	}
}

func checkColumns(t *testing.T, ranges []Range) {
	s := NewColumns(ranges...)
	overlaps := make(map[string]bool)
	for _, text := range someColumns {
		c := []byte(text)
		want := false
		for _, r := range ranges {
			want = want || bytes.Compare(c, r.Start) >= 0 && (r.End == nil || bytes.Compare(c, r.End) < 0)
		}
		if got := s.Contains(c); got != want {
			t.Errorf("Contains(%q) = %t, want %t", c, got, want)
		}
		tombstone := bytes.IndexByte(c, 0) < 0
		if got := s.Wants(c); got != (want || tombstone) {
			t.Errorf("Wants(%q) = %t, want %t", c, got, want || tombstone)
		}
		family, _ := SplitColumn(c)
		overlaps[string(family)] = overlaps[string(family)] || want
	}
	// Overlaps may say yes where no column of someColumns shows it, but never no.
	for family, want := range overlaps {
		if want && !s.Overlaps([]byte(family)) {
			t.Errorf("Overlaps(%q) = false, want true", family)
		}
	}
	rs := s.Ranges()
	for i, r := range rs {
		if r.End != nil && bytes.Compare(r.Start, r.End) >= 0 {
			t.Errorf("range %d is empty: %q", i, rs)
		}
		if i > 0 && (rs[i-1].End == nil || bytes.Compare(rs[i-1].End, r.Start) >= 0) {
			t.Errorf("ranges %d and %d touch or are out of order: %q", i-1, i, rs)
		}
	}
}

func TestOverlaps(t *testing.T) {
	s := NewColumns(ColumnRange([]byte("b"), []byte("x")), PrefixRange([]byte("da")))
	for family, want := range map[string]bool{
		"a": false, "b": true, "b-": false, "bb": false, "c": false, "d": false, "da": true, "dab": true, "db": false,
	} {
		if got := s.Overlaps([]byte(family)); got != want {
			t.Errorf("Overlaps(%q) = %t, want %t", family, got, want)
		}
	}
}

func TestColumnsDoNotAllocate(t *testing.T) {
	s := NewColumns(FamilyRange([]byte("a")), ColumnRange([]byte("b"), []byte("x")))
	c := column("b", "x")
	if n := testing.AllocsPerRun(100, func() { s.Contains(c); s.Wants(c) }); n != 0 {
		t.Errorf("Contains and Wants allocate %v times", n)
	}
}
