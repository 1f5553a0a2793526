package manifest_test

import (
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/manifest/manifesttest"
	"github.com/colonnade-db/colonnade/engine/rangedel"
)

func TestTrimRangeTombstones(t *testing.T) {
	check := func(want string, lines ...string) {
		t.Helper()
		v := manifesttest.Version(lines...)
		trimmed := v.TrimRangeTombstones()
		if got := manifesttest.RangeTombstonesText(trimmed.RangeTombstones.List()); got != want {
			t.Errorf("%q: got %q, want %q", lines, got, want)
		}
		if again := trimmed.TrimRangeTombstones(); again != trimmed {
			t.Errorf("%q: trimmed again it is %q", lines, manifesttest.RangeTombstonesText(again.RangeTombstones.List()))
		}
		old := &manifest.Manifest{Partitions: map[manifest.PartitionID]*manifest.Partition{1: {ID: 1, Version: v}}}
		next := old.Next()
		next.Partitions[1] = next.Partitions[1].With(0, trimmed)
		if err := next.Follows(old); err != nil {
			t.Errorf("%q: %v", lines, err)
		}
	}
	check("", "ranges: [a-z)#9")
	check("", "7: 1[x-y]", "ranges: [a-c)#9")
	check("[b-c\x00)#9", "7: 1[b-c]", "ranges: [a-z)#9")
	check("[b-z)#9", "0: 1[a-c]", "7: 2[y-zz]", "ranges: [b-z)#9")
	check("[a-b)#2 [b-z\x00)#9", "7: 1[a-c] 2[y-z]", "ranges: [-b)#2 [b-)#9")
	check("[b-z\x00)#9", "7: 1[a-c] 2[y-z]", "ranges: [b-)#9")
	check("", "7: 1[b-c]:c9", "ranges: [a-z)#9")
	check("[b-c\x00)#9", "7: 1[b-c]:c8", "ranges: [a-z)#9")
	check("", "0: 3[b-c]:m9", "ranges: [a-z)#9")
	check("[b-c\x00)#9", "0: 3[b-c]:m8", "ranges: [a-z)#9")
	check("[d-e)#9 [e-f\x00)#20", "0: 2[c-d]:m15 3[c-d]:c9", "7: 1[d-f]:s0", "ranges: [a-e)#9 [e-z)#20")
	check("[b-c)#3 [g-h)#3", "7: 1[a-d] 2[f-i]", "ranges: [b-c)#3 [dd-e)#3 [g-h)#3")
}

// TestRangeTombstoneThatIsNeeded: an edit without it is refused.
func TestRangeTombstoneThatIsNeeded(t *testing.T) {
	for _, c := range []struct {
		before, after string
		file          string
		refused       bool
	}{
		{"[b-d)#9", "", "1[a-e]", true},
		{"[b-d)#9", "", "1[a-b]", true},
		{"[b-d)#9", "", "1[d-e]", false},
		{"[b-d)#9", "", "1[a-e]:c9", false},
		{"[b-d)#9", "", "1[a-e]:m9", false},
		{"[b-d)#9", "[b-d)#8", "1[a-e]", true},
		{"[b-d)#9", "[b-d)#10", "1[a-e]", false},
		{"[b-d)#9", "[b-c)#9", "1[a-e]", true},
		{"[b-d)#9", "[c-d)#9", "1[a-e]", true},
		{"[b-d)#9", "[c-d)#9", "1[c-e]", false},
		{"[b-d)#9", "[a-c)#9 [c-d)#10", "1[a-e]", false},
		{"[b-)#9", "[c-)#9", "1[a-e]", true},
		{"[b-)#9", "[b-e)#9", "1[a-e]", true},
		{"[b-)#9", "[b-e\x00)#9", "1[a-e]", false},
	} {
		old := &manifest.Manifest{Partitions: map[manifest.PartitionID]*manifest.Partition{
			1: {ID: 1, Version: manifesttest.Version("7: "+c.file, "ranges: "+c.before)}}}
		next := old.Next()
		v := *old.Partitions[1].Version
		v.RangeTombstones = rangedel.New(manifesttest.RangeTombstones(c.after))
		next.Partitions[1] = next.Partitions[1].With(0, &v)
		if err := next.Follows(old); (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "range tombstone 9") {
			t.Errorf("%s, then %s, with file %s: got %v, want refused: %t", c.before, c.after, c.file, err, c.refused)
		}
	}
}

func TestRangeTombstonesOver(t *testing.T) {
	v := manifesttest.Version("ranges: [b-d)#9 [f-g)#20 [m-)#5")
	for text, want := range map[string]struct {
		n      int
		longer bool
	}{
		"1[a-a]":    {0, false},
		"1[a-c]":    {1, true},
		"1[a-d]":    {1, false},
		"1[c-f]":    {2, true},
		"1[a-k]":    {2, false},
		"1[a-k]:c9": {1, false},
		"1[n-o]":    {1, true},
		"1[n-o]:m5": {0, false},
	} {
		if n, longer := v.RangeTombstonesOver(manifesttest.File(text)); n != want.n || longer != want.longer {
			t.Errorf("%s: got %d, %t, want %+v", text, n, longer, want)
		}
	}
}

func TestRangeTombstonesInManifest(t *testing.T) {
	encode := func(lines ...string) []byte {
		v := manifesttest.Version(lines...)
		m := &manifest.Manifest{Edit: 3, NextFile: 9, NextPartition: 3, LogStart: 1, Partitions: map[manifest.PartitionID]*manifest.Partition{
			1: {ID: 1, Name: "a", Flushed: 100, Version: v}}}
		return m.Encode()
	}
	const ranges = "[-b)#9 [b-d)#100 [x-)#5"
	m, err := manifest.Decode(encode("7: 1[a-c]:c100:m7", "ranges: "+ranges))
	if err != nil {
		t.Fatal(err)
	}
	v := m.Partitions[1].Version
	if got := manifesttest.RangeTombstonesText(v.RangeTombstones.List()); got != ranges {
		t.Errorf("got %s, want %s", got, ranges)
	}
	if f := v.Levels[7][0]; f.CleanSeq != 100 || f.MinSeq != 7 {
		t.Errorf("got a file %+v", f)
	}
	for want, lines := range map[string][]string{
		"has no sequence number": {"ranges: [a-b)#0"},
		"before the one before":  {"ranges: [a-c)#1 [b-d)#2"},
		"sequence number 101":    {"ranges: [a-c)#101"},
		"batch 101":              {"7: 1[a-c]:c101"},
	} {
		if _, err := manifest.Decode(encode(lines...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", lines, err, want)
		}
	}
}
