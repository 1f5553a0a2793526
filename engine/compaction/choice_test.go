package compaction

import (
	"testing"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/manifest/manifesttest"
)

// TestAppliesTo: a compaction does not apply to a version that has changed in its files.
func TestAppliesTo(t *testing.T) {
	f := func(number uint64, first, last string) *manifest.File {
		return &manifest.File{Number: number, Size: 1, Entries: 1, Smallest: []byte(first), Largest: []byte(last)}
	}
	a, b, c := f(1, "a", "c"), f(2, "b", "d"), f(3, "c", "c")
	v := &manifest.Version{}
	v.Levels[1], v.Levels[2] = []*manifest.File{a}, []*manifest.File{b}
	made := Choice{Kind: Merge, Output: 2}
	made.Inputs[1], made.Inputs[2] = []*manifest.File{a}, []*manifest.File{b}
	if err := made.AppliesTo(v, v); err != nil {
		t.Errorf("the version itself: %v", err)
	}
	later := *v
	later.Levels[0] = []*manifest.File{c}
	if err := made.AppliesTo(v, &later); err != nil {
		t.Errorf("with a flushed file: %v", err)
	}
	later.Levels[1] = nil
	if err := made.AppliesTo(v, &later); err == nil {
		t.Error("without an input: no error")
	}
	later = *v
	later.Levels[4] = []*manifest.File{c}
	if err := made.AppliesTo(v, &later); err == nil {
		t.Error("with a file below the bottom: no error")
	}
}

// TestAppliesToBesideOthers: a compaction still applies after another has rewritten files below in
// rows that were already there. It does not apply if the other added rows below where there were
// none.
func TestAppliesToBesideOthers(t *testing.T) {
	begun := manifesttest.Version("1: 1[a-c]", "2: 2[b-f]", "3: 3[c-e] 5[k-l]", "4: 4[d-m]")
	made := Choice{Kind: Merge, Output: 2}
	made.Inputs[1], made.Inputs[2] = begun.Levels[1], begun.Levels[2]
	for _, c := range []struct {
		below  []string
		stands bool
	}{
		{[]string{"3: 5[k-l]", "4: 9[c-m]"}, true},         // merged with the files below
		{[]string{"3: 5[k-l]", "4: 9[c-d] 10[e-m]"}, true}, // to several files
		{[]string{"3: 9[c-e]", "4: 4[d-m]"}, true},         // rewritten
		{[]string{"5: 3[c-e]", "6: 4[d-m]"}, true},         // moved
		{[]string{"4: 9[b-m]"}, false},
		{[]string{"3: 9[a-a]", "4: 4[d-m]"}, false},
		{[]string{"6: 9[a-z]"}, false},
	} {
		later := manifesttest.Version(c.below...)
		later.Levels[1], later.Levels[2] = begun.Levels[1], begun.Levels[2]
		if err := made.AppliesTo(begun, later); (err == nil) != c.stands {
			t.Errorf("with %v below: %v, want it to stand: %t", c.below, err, c.stands)
		}
	}
}

// TestLevel0Pressure: a large partition may have more files in level 0 before writers are slowed
// down.
func TestLevel0Pressure(t *testing.T) {
	for _, test := range []struct {
		below string
		want  int
	}{
		{"6: 1[a-z]", 9}, {"6: 1[a-z]:100", 9}, {"6: 1[a-z]:101", 5},
	} {
		v := manifesttest.Version("0: 9[a-z] 8[a-z] 7[a-z] 6[a-z] 5[a-z] 4[a-z] 3[a-z] 2[a-z] 10[a-z]", test.below)
		if got := Level0Pressure(v, testPickOptions); got != test.want {
			t.Errorf("above %s a pressure of %d, want %d", test.below, got, test.want)
		}
	}
}
