package compaction

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"colonnade/engine/manifest"
	"colonnade/engine/manifest/manifesttest"
)

// testPickOptions: level 0 is full with 4 files or 200 bytes, and half as much is little. Files have
// 10, so that 50 bytes of the last level are enough for a range.
var testPickOptions = Options{Level0Files: 4, SmallBytes: 100, FileSize: 10, OldestSnapshot: 1000}

// pickNext is Pick with a run merge that begins if there is none.
func pickNext(v *manifest.Version, busy func(*manifest.File) bool, o Options) Choice {
	o.RunMerges = o.RunMerges.Next(v, busy, o)
	return Pick(v, busy, o)
}

// busyFiles makes files with these numbers busy.
func busyFiles(numbers ...uint64) func(*manifest.File) bool {
	return func(f *manifest.File) bool { return slices.Contains(numbers, f.Number) }
}

func TestPick(t *testing.T) {
	check := func(name string, busy func(*manifest.File) bool, want string, levels ...string) {
		t.Helper()
		v := manifesttest.Version(levels...)
		if err := v.Check(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c := pickNext(v, busy, testPickOptions)
		if got := c.String(); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	none := busyFiles()

	check("empty", none, "nothing")
	check("level 0 is not full", none, "nothing", "0: 3[a-z] 2[a-z] 1[a-z]")
	check("level 0 is full", none, "merge 0: 9[a-z] 8[a-c] 7[b-d] 6[c-e] to 7", "0: 9[a-z] 8[a-c] 7[b-d] 6[c-e]")
	check("full by its bytes", none, "merge 0: 9[a-z] 8[a-c], 7: 1[m-n] to 7", "0: 9[a-z]:100 8[a-c]:100", "7: 1[m-n]")
	check("with what lies below", none, "merge 0: 9[c-f] 8[c-d] 7[c-c] 6[e-f], 7: 2[b-c] 3[d-d] 4[f-g] to 7",
		"0: 9[c-f] 8[c-d] 7[c-c] 6[e-f]", "7: 1[a-a] 2[b-c] 3[d-d] 4[f-g] 5[ga-h]")
	check("files that overlap through others go together", none, "merge 0: 8[a-c] 6[e-g] 5[b-f] to 7",
		"0: 9[m-n] 8[a-c] 7[m-m] 6[e-g] 5[b-f]")
	check("the cheapest for each file that goes", none, "merge 0: 9[m-n] 6[m-n] 5[m-n] to 7",
		"0: 9[m-n] 8[a-b] 7[a-b] 6[m-n] 5[m-n]", "7: 1[a-c]:50")
	check("a file alone moves, which costs nothing", none, "move 0: 7[c-d] to 7",
		"0: 9[a-b] 8[a-b] 7[c-d] 6[e-f]", "7: 1[e-e]")

	check("an older file is under way: the newer one waits", busyFiles(1), "nothing",
		"0: 5[a-z] 4[a-b] 3[c-d] 2[e-f] 1[a-b]")
	check("so does all that overlaps it", busyFiles(1), "merge 0: 6[m-p] 4[o-p] to 7",
		"0: 6[m-p] 5[a-d] 4[o-p] 3[c-d] 2[d-f] 1[a-b]")
	check("a file below is under way", busyFiles(1), "nothing", "0: 9[a-z] 8[a-z] 7[a-z] 6[a-z]", "7: 1[m-m] 2[n-n]")
	check("files under way do not fill level 0", busyFiles(1, 2), "nothing", "0: 5[m-z] 4[m-z] 3[m-z] 2[a-b] 1[a-b]")

	check("two files of as many bytes as are little are not full", none, "nothing", "0: 9[a-z]:50 8[a-c]:50", "7: 1[m-n]")
	check("as much as is little lies below", none, "merge 0: 9[a-z] 8[a-z] 7[a-z] 6[a-z], 7: 1[a-b] 10[c-d] to 7",
		"0: 9[a-z]:30 8[a-z]:30 7[a-z]:30 6[a-z]:30", "7: 1[a-b]:60 10[c-d]:40")

	// Much lies below.
	check("level 0 is full with twice as many files", none, "merge 0: 9[a-z] 8[a-z] 7[a-z] 6[a-z] 5[a-z] 4[a-z] 3[a-z] 2[a-z] to 6",
		"0: 9[a-z] 8[a-z] 7[a-z] 6[a-z] 5[a-z] 4[a-z] 3[a-z] 2[a-z]", "7: 1[a-b]:60 10[c-d]:41")
	check("and not with one less", none, "nothing",
		"0: 9[a-z] 8[a-z] 7[a-z] 6[a-z] 5[a-z] 4[a-z] 3[a-z]", "7: 1[a-b]:60 10[c-d]:41")
	check("what is in an upper level counts", none, "nothing", "0: 9[a-z] 8[a-z] 7[a-z] 6[a-z]", "6: 2[a-b]:41", "7: 1[a-b]:60")
	check("level 0 becomes a run above the last level", none, "merge 0: 9[a-z] 8[a-z] 7[a-z] 6[a-z] to 6",
		"0: 9[a-z]:50 8[a-z]:50 7[a-z]:50 6[a-z]:50", "7: 1[a-b]:600 2[c-d]:400")
	check("above the runs that it overlaps", none, "merge 0: 9[a-z] 8[a-z] 7[a-z] 6[a-z] to 4",
		"0: 9[a-z]:50 8[a-z]:50 7[a-z]:50 6[a-z]:50", "5: 3[a-b]", "7: 1[a-b]:600 2[c-d]:400")
	check("beside those that it does not", none, "merge 0: 9[a-d] 8[a-d] 7[a-d] 6[a-d] to 6",
		"0: 9[a-d]:50 8[a-d]:50 7[a-d]:50 6[a-d]:50", "5: 3[m-n]", "7: 1[a-b]:600 2[c-d]:400 4[m-n]:400")
	check("though a run below is under way", busyFiles(3), "merge 0: 9[a-z] 8[a-z] 7[a-z] 6[a-z] to 4",
		"0: 9[a-z]:50 8[a-z]:50 7[a-z]:50 6[a-z]:50", "5: 3[a-b]", "7: 1[a-b]:600 2[c-d]:400")
	check("not where little lies below its own rows", none, "merge 0: 9[a-d] 8[a-d] 7[a-d] 6[a-d], 5: 3[c-d], 7: 1[a-b] 2[c-d] to 7",
		"0: 9[a-d]:50 8[a-d]:50 7[a-d]:50 6[a-d]:50", "5: 3[c-d]", "7: 1[a-b] 2[c-d] 5[m-n]:900")
	check("with what files on the way overlap", none, "merge 0: 9[a-d] 8[a-d] 7[a-d] 6[a-d], 4: 4[c-f] 12[g-h], 6: 3[e-h], 7: 1[a-b] 2[g-h] to 7",
		"0: 9[a-d]:50 8[a-d]:50 7[a-d]:50 6[a-d]:50", "4: 4[c-f] 12[g-h]", "6: 3[e-h]", "7: 1[a-b] 2[g-h] 5[m-n]:900")
	check("a file alone over a little", none, "move 0: 9[a-z] to 5", "0: 9[a-z]:200", "6: 3[a-b]", "7: 1[a-z]:100 2[zz-zz]:900")
	check("and over too much", none, "merge 0: 9[a-z] to 5", "0: 9[a-z]:200", "6: 3[a-b]", "7: 1[a-z]:101 2[zz-zz]:900")
	check("where no level is free, one becomes free", none, "merge 1: 3[a-b] to 6",
		"0: 9[a-z]:50 8[a-z]:50 7[a-z]:50 6[a-z]:50", "1: 3[a-b]", "7: 1[a-b]:600 2[c-d]:400")
	check("what is under way may free one", busyFiles(3), "nothing",
		"0: 9[a-z]:50 8[a-z]:50 7[a-z]:50 6[a-z]:50", "1: 3[a-b]", "7: 1[a-b]:600 2[c-d]:400")
}

// TestRunMerges: what begins, and what its first step is.
func TestRunMerges(t *testing.T) {
	check := func(name string, paid bool, want RunMerges, step string, levels ...string) {
		t.Helper()
		v, o := manifesttest.Version(levels...), testPickOptions
		if paid {
			o.ReadPaid = 1000
		}
		o.RunMerges = RunMerges{}.Next(v, busyFiles(), o)
		if o.RunMerges != want {
			t.Errorf("%s: got %+v, want %+v", name, o.RunMerges, want)
		}
		c := Pick(v, busyFiles(), o)
		if got := c.String(); got != step {
			t.Errorf("%s:\n got %s\nwant %s", name, got, step)
		}
	}
	none := RunMerges{}
	bottom := func(last uint64) RunMerges { return RunMerges{Bottommost: RunMerge{6, 7, last}} }
	room := func(to int) RunMerges { return RunMerges{Intermediate: RunMerge{1, to, 9}} }
	check("empty", true, none, "nothing")
	check("nothing above the last level", true, none, "nothing", "7: 1[a-b]")
	check("a little above it", false, none, "nothing", "6: 2[a-b]:20", "7: 1[a-b]")
	check("too much", false, bottom(2), "merge 6: 2[a-b], 7: 1[a-b] to 7", "6: 2[a-b]:21", "7: 1[a-b]")
	check("paid for", true, bottom(2), "merge 6: 2[a-b], 7: 1[a-b] to 7", "6: 2[a-b]", "7: 1[a-b]")
	check("nothing overlaps", true, bottom(2), "move 6: 2[a-b] to 7", "6: 2[a-b]", "7: 1[c-d]")
	check("from the first level that has some", true, bottom(9), "merge 4: 7[e-f], 6: 4[e-f], 7: 1[e-f] to 7",
		"4: 7[e-f] 8[g-h]", "6: 4[e-f] 9[g-h]:5", "7: 1[e-f] 2[g-h]:30")
	check("with all that is in the range", true, bottom(9), "merge 5: 7[a-b] 8[c-d], 6: 9[a-e], 7: 1[a-b] 2[c-d] 3[e-f] to 7",
		"5: 7[a-b] 8[c-d]", "6: 9[a-e]", "7: 1[a-b] 2[c-d] 3[e-f]")
	check("but not what is only partly in it", true, bottom(9), "merge 5: 7[a-b], 6: 9[a-e], 7: 1[a-b] 2[c-d] 3[e-e] to 7",
		"5: 7[a-b] 8[c-f]", "6: 9[a-e]", "7: 1[a-b] 2[c-d] 3[e-e] 4[ea-g]:500")
	check("a large step waits for smaller ones below", true, bottom(9), "merge 6: 3[a-b], 7: 1[a-b] to 7",
		"5: 9[a-f]", "6: 3[a-b]:50 4[e-f]:200", "7: 1[a-b]:30 2[e-f]:200")
	check("the smallest, if all are large", true, bottom(9), "merge 6: 3[a-b], 7: 1[a-b] to 7",
		"5: 9[a-f]", "6: 3[a-b]:300 4[e-f]:400", "7: 1[a-b]:30 2[e-f]:30")

	check("the first level is in use: runs of like size are merged", false, room(6), "merge 1: 9[a-b], 2: 8[a-b], 3: 7[a-b], 4: 6[a-b], 5: 5[a-b], 6: 4[a-b] to 6",
		"1: 9[a-b]", "2: 8[a-b]", "3: 7[a-b]", "4: 6[a-b]", "5: 5[a-b]", "6: 4[a-b]", "7: 1[a-b]:500")
	check("to a level that is free, if there is one", false, room(5), "merge 1: 9[a-b], 4: 8[a-b] to 5",
		"1: 9[a-b]", "4: 8[a-b]", "6: 7[a-b]", "7: 1[a-b]:500")
	check("not with one that is much larger", false, room(5), "merge 1: 9[a-b], 2: 8[a-b], 3: 7[a-b], 4: 6[a-b], 5: 5[a-b] to 5",
		"1: 9[a-b]", "2: 8[a-b]", "3: 7[a-b]", "4: 6[a-b]", "5: 5[a-b]", "6: 4[a-b]:100", "7: 1[a-b]:500")
	check("a range that has nothing between is moved", false, room(5), "move 1: 6[a-b] to 5",
		"1: 6[a-b] 9[c-d]", "4: 8[c-d]", "6: 7[c-d]", "7: 1[a-b]:90 4[c-d]:500")
}

// TestRunMergesGoOn until nothing is left of what they began with.
func TestRunMergesGoOn(t *testing.T) {
	check := func(name string, d, want RunMerges, o Options, busy func(*manifest.File) bool, step string, levels ...string) {
		t.Helper()
		v := manifesttest.Version(levels...)
		o.RunMerges = d.Next(v, busy, o)
		if o.RunMerges != want {
			t.Errorf("%s: got %+v, want %+v", name, o.RunMerges, want)
		}
		c := Pick(v, busy, o)
		if got := c.String(); got != step {
			t.Errorf("%s:\n got %s\nwant %s", name, got, step)
		}
	}
	o, none := testPickOptions, busyFiles()
	stuck := o
	stuck.Stuck = true
	bottom, room := RunMerges{Bottommost: RunMerge{6, 7, 9}}, RunMerges{Intermediate: RunMerge{1, 5, 9}}
	check("9 is left", bottom, bottom, o, none, "merge 5: 9[c-d], 6: 22[c-d], 7: 1[a-z] to 7",
		"4: 20[a-z]", "5: 21[a-b] 9[c-d]", "6: 22[c-d]", "7: 1[a-z]:500")
	check("it waits for 22", bottom, bottom, o, busyFiles(22), "nothing",
		"4: 20[a-z]", "5: 21[a-b] 9[c-d]", "6: 22[c-d]", "7: 1[a-z]:500")
	check("it is over", bottom, RunMerges{}, o, none, "nothing", "4: 20[a-z]", "5: 21[a-b]", "7: 1[a-z]:500")
	check("there may soon be room without another", bottom, bottom, o, none, "merge 5: 9[c-d], 6: 22[c-d], 7: 1[a-z] to 7",
		"1: 20[a-z]", "5: 21[a-b] 9[c-d]", "6: 22[c-d]:20", "7: 1[a-z]:200")
	check("level 0 cannot wait for it", bottom, RunMerges{Intermediate: RunMerge{1, 4, 33}, Bottommost: bottom.Bottommost}, o, none, "merge 1: 20[a-z] to 4",
		"0: 33[a-z]:50 32[a-z]:50 31[a-z]:50 30[a-z]:50", "1: 20[a-z]", "5: 21[a-b] 9[c-d]", "6: 22[c-d]:300", "7: 1[a-z]:500")
	check("that of the first level is not about others", room, RunMerges{}, o, none, "nothing", "3: 8[a-b]", "7: 1[a-z]:500")
	check("nor about what came later", room, RunMerges{Intermediate: RunMerge{1, 6, 20}}, o, none, "merge 1: 20[a-b] to 6", "1: 20[a-b]", "7: 1[a-z]:500")
	check("what is busy for good does not keep others", bottom, RunMerges{Bottommost: RunMerge{6, 7, 20}}, withPaid(stuck), busyFiles(1), "merge 6: 20[m-n], 7: 2[m-n] to 7",
		"6: 9[a-b] 20[m-n]", "7: 1[a-b]:500 2[m-n]:500")
	check("nor is it where the first level goes", RunMerges{}, RunMerges{Intermediate: RunMerge{1, 6, 9}}, stuck, busyFiles(1), "move 1: 9[a-b] to 6",
		"1: 9[a-b]", "7: 1[a-b]:100")
}

func withPaid(o Options) Options {
	o.ReadPaid = 1000
	return o
}

// TestPickEarly: level 0 that is not full leaves when reads have paid for it, or when that is next
// to nothing, but not if they had as much to ask then.
func TestPickEarly(t *testing.T) {
	o := testPickOptions
	o.Early = true
	for _, test := range []struct {
		want   string
		levels []string
	}{
		{"merge 0: 9[a-b], 7: 1[a-b] to 7", []string{"0: 9[a-b]", "7: 1[a-b]"}},
		{"nothing", []string{"0: 9[a-b]", "7: 1[a-b]:500"}},
		{"merge 0: 9[a-b] 8[a-b] to 6", []string{"0: 9[a-b] 8[a-b]", "7: 1[a-b]:500"}},
	} {
		v := manifesttest.Version(test.levels...)
		c := Pick(v, busyFiles(), o)
		if got := c.String(); got != test.want {
			t.Errorf("%q: got %s, want %s", test.levels, got, test.want)
		}
		prices := ReadThresholds(v, o)
		if prices.Level0 == 0 && prices.Upper == 0 {
			t.Errorf("%q: nothing has a price", test.levels)
		}
		if free := prices.Level0 == 0; free != (test.want == "nothing") {
			t.Errorf("%q: that it costs nothing is %v", test.levels, free)
		}
	}
}

// TestPickPaid: what reads have paid for to be in the last level comes to an upper one first, if it
// is in level 0.
func TestPickPaid(t *testing.T) {
	o := testPickOptions
	o.ReadPaid = 9
	for want, levels := range map[string][]string{
		"merge 0: 9[a-b] to 6":                   {"0: 9[a-b]", "7: 1[a-b]:500"},
		"merge 0: 9[a-b] to 5":                   {"0: 9[a-b]", "6: 8[a-b]", "7: 1[a-b]:500"},
		"merge 6: 8[a-b], 7: 1[a-b] to 7":        {"0: 10[a-b]", "6: 8[a-b]", "7: 1[a-b]:500"},
		"merge 1: 8[a-b], 7: 1[a-b] to 7":        {"0: 9[a-b]", "1: 8[a-b]", "7: 1[a-b]:500"},
		"nothing":                                {"0: 10[a-b]", "7: 1[a-b]:500"},
		"merge 0: 9[a-b] 8[a-b], 7: 1[a-b] to 7": {"0: 9[a-b] 8[a-b]", "7: 1[a-b]"},
	} {
		v := manifesttest.Version(levels...)
		c := pickNext(v, busyFiles(), o)
		if got := c.String(); got != want {
			t.Errorf("%q: got %s, want %s", levels, got, want)
		}
	}
}

// TestManualWaits: nor does a step of a full compaction.
func TestManualWaits(t *testing.T) {
	v := manifesttest.Version("0: 9[a-d] 8[a-d] 7[a-d] 6[a-d]", "7: 1[a-b] 3[c-d]")
	full := Manual{started: true, first: 9, level: manifest.LastLevel, last: 5}
	if c, done := full.Next(v, busyFiles(3), testPickOptions); c.Kind != Nothing || done {
		t.Errorf("got %s, done is %v", c.String(), done)
	}
}

// TestManualMakesRoom: where level 0 finds no level, one becomes free, by whatever is under way.
func TestManualMakesRoom(t *testing.T) {
	for want, levels := range map[string][]string{
		"move 1: 8[a-b] to 6":                        {"0: 9[a-d]", "1: 8[a-b]", "7: 1[a-b]:100 3[c-d]:100"},
		"merge 1: 8[a-b], 6: 7[a-b], 7: 1[a-b] to 7": {"0: 9[a-d]", "1: 8[a-b]", "6: 7[a-b]:220", "7: 1[a-b]:60 3[c-d]:50"},
	} {
		v := manifesttest.Version(levels...)
		full := Manual{started: true, first: 9, last: 9}
		o := testPickOptions
		o.RunMerges = o.RunMerges.Next(v, busyFiles(), o)
		c, done := full.Next(v, busyFiles(), o)
		if got := c.String(); got != want || done {
			t.Errorf("got %s, want %s; done is %v", got, want, done)
		}
	}
}

// TestPickTombstones has files of which at least half are tombstones (d50).
// Sequence numbers up to 1000 can go.
func TestPickTombstones(t *testing.T) {
	check := func(name string, busy func(*manifest.File) bool, want string, levels ...string) {
		t.Helper()
		c := pickNext(manifesttest.Version(levels...), busy, testPickOptions)
		if got := c.String(); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	none := busyFiles()
	check("nothing with less than half", none, "nothing", "0: 9[a-b]:d49", "7: 2[a-b]:d49")
	check("they go down to what they cover", none, "merge 0: 9[a-b] 8[b-c], 7: 2[a-d] to 7", "0: 9[a-b]:d50 8[b-c]", "7: 2[a-d]")
	check("from any level", none, "merge 6: 9[a-b], 7: 2[a-d] to 7", "6: 9[a-b]:d50", "7: 2[a-d]:90 3[e-f]:500")
	check("through levels where they overlap nothing", none, "merge 5: 9[a-b], 7: 2[a-d] to 7", "5: 9[a-b]:5:d100", "7: 2[a-d]:200 3[x-z]:700")
	check("most tombstones first", none, "merge 6: 8[c-d], 7: 3[c-d] to 7",
		"6: 9[a-b]:d50 8[c-d]:d60 7[e-f]:d50", "7: 2[a-b]:50 3[c-d]:50 4[x-y]:500")
	check("not when they are few for what lies below", none, "nothing",
		"6: 9[a-f]:5:d50", "7: 1[a-a]:20 2[b-b] 3[c-c] 4[d-d] 5[e-e] 6[f-f] 7[g-z]:500")
	check("but when they may cover most of it, whatever its size", none, "merge 6: 9[a-f], 7: 1[a-c] 2[d-f] to 7",
		"6: 9[a-f]:5:d50", "7: 1[a-c]:100 2[d-f]:100 7[g-z]:500")
	check("and when it is not much more than they are", none, "merge 6: 9[a-f], 7: 1[a-a] 2[b-b] 3[c-c] 4[d-d] 5[e-e] 6[f-f] to 7",
		"6: 9[a-f]:5:d50", "7: 1[a-a]:5 2[b-b]:9 3[c-c]:9 4[d-d]:9 5[e-e]:9 6[f-f]:9 7[g-z]:500")
	check("at the bottom they are dropped", none, "merge 7: 2[a-b] to 7", "7: 2[a-b]:d50 3[c-d]")
	check("also above the last level", none, "merge 6: 2[a-b] to 6", "6: 2[a-b]:d50", "7: 3[c-d]:200")
	check("but not if a snapshot may need them", none, "nothing", "7: 2[a-b]:d50:s1001 3[c-d]")
	check("nor if the file is under way", busyFiles(2), "nothing", "7: 2[a-b]:d50 3[c-d]")
	check("not for a run of their own", none, "nothing", "0: 9[a-f]:5:d50", "7: 1[a-c]:600 2[d-f]:400")
	check("no move to the bottom with them", none, "merge 0: 9[a-b] to 7", "0: 9[a-b]:d50 8[c-d]")
	check("unless a snapshot may need them", none, "move 0: 9[a-b] to 7", "0: 9[a-b]:d50:s1001")
}

func TestChoiceApply(t *testing.T) {
	v := manifesttest.Version("0: 9[a-z] 8[a-c]", "6: 4[a-b] 5[m-n]", "7: 1[a-c] 2[d-f]")
	show := func(v *manifest.Version) string {
		var parts []string
		for level, files := range v.Levels {
			for _, f := range files {
				parts = append(parts, fmt.Sprintf("%d:%s", level, manifesttest.FileText(f)))
			}
		}
		return strings.Join(parts, " ")
	}
	before := show(v)
	c := Choice{Kind: Merge, Output: 7}
	c.Inputs[6], c.Inputs[7] = v.Levels[6][:1], v.Levels[7][:1]
	flushed := *v // something else is installed between choosing and applying
	flushed.Levels[0] = append([]*manifest.File{manifesttest.File("10[b-d]")}, v.Levels[0]...)
	got := show(c.Apply(&flushed, []*manifest.File{manifesttest.File("12[a-a]"), manifesttest.File("13[c-c]")}))
	want := "0:10[b-d] 0:9[a-z] 0:8[a-c] 6:5[m-n] 7:12[a-a] 7:13[c-c] 7:2[d-f]"
	if got != want {
		t.Errorf("merge:\n got %s\nwant %s", got, want)
	}
	if got, want := show(c.Apply(v, nil)), "0:9[a-z] 0:8[a-c] 6:5[m-n] 7:2[d-f]"; got != want {
		t.Errorf("merge into nothing:\n got %s\nwant %s", got, want)
	}
	c = Choice{Kind: Move, Output: 7}
	c.Inputs[6] = v.Levels[6][1:]
	if got, want := show(c.Apply(v, nil)), "0:9[a-z] 0:8[a-c] 6:4[a-b] 7:1[a-c] 7:2[d-f] 7:5[m-n]"; got != want {
		t.Errorf("move:\n got %s\nwant %s", got, want)
	}
	c = Choice{Kind: Merge, Output: 7}
	c.Inputs[7] = v.Levels[7][:1]
	if got, want := show(c.Apply(v, []*manifest.File{manifesttest.File("14[b-c]")})), "0:9[a-z] 0:8[a-c] 6:4[a-b] 6:5[m-n] 7:14[b-c] 7:2[d-f]"; got != want {
		t.Errorf("rewrite:\n got %s\nwant %s", got, want)
	}
	if got := show(v); got != before {
		t.Errorf("the version has changed from %s to %s", before, got)
	}
}

// TestManual follows the steps through drawn versions.
func TestManual(t *testing.T) {
	var full Manual
	number := uint64(20)
	busy := busyFiles()
	step := func(v *manifest.Version, want string) *manifest.Version {
		t.Helper()
		c, done := full.Next(v, busy, testPickOptions)
		got := c.String()
		if done {
			got = "done"
		}
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if c.Kind == Nothing {
			return v
		}
		number++
		first, last := manifest.Bounds(c.Files())
		return c.Apply(v, []*manifest.File{manifesttest.File(fmt.Sprintf("%d[%s-%s]", number, first, last))})
	}
	v := manifesttest.Version("0: 9[a-b] 8[c-d] 7[b-b]", "5: 4[a-b] 6[k-l]", "6: 5[b-c] 10[k-k]", "7: 2[a-e]:100 3[m-n]:100")
	busy = busyFiles(6)
	v = step(v, "nothing") // a compaction is under way: not started
	busy = busyFiles()
	v = step(v, "merge 0: 9[a-b] 7[b-b] to 4")
	v = step(v, "move 0: 8[c-d] to 5")
	v.Levels[0] = []*manifest.File{manifesttest.File("30[a-z]:s999")} // flushed meanwhile
	busy = busyFiles(6)
	v = step(v, "merge 4: 21[a-b], 5: 4[a-b] 8[c-d], 6: 5[b-c], 7: 2[a-e] to 7")
	v = step(v, "nothing") // 6 is under way
	busy = busyFiles()
	v = step(v, "merge 5: 6[k-l], 6: 10[k-k] to 7")
	v = step(v, "merge 7: 3[m-n] to 7")
	v = step(v, "done")
	step(v, "done")

	full = Manual{}
	step(new(manifest.Version), "done")
}

// TestManualCompactsLevel0First fills level 0 while the compaction is further
// down.
func TestManualCompactsLevel0First(t *testing.T) {
	full := Manual{started: true, first: 9, level: manifest.LastLevel, last: 9}
	v := manifesttest.Version("0: 13[x-z] 12[x-z] 11[x-z] 10[x-z]", "7: 2[a-e] 3[m-n]")
	c, done := full.Next(v, busyFiles(), testPickOptions)
	if got, want := c.String(), "merge 0: 13[x-z] 12[x-z] 11[x-z] 10[x-z] to 7"; got != want || done {
		t.Errorf("got %s, %t, want %s", got, done, want)
	}
}

// TestSplitter: where files end. Rows are of one byte in the size of the file.
func TestSplitter(t *testing.T) {
	check := func(name string, output int, want string, levels ...string) {
		t.Helper()
		v := manifesttest.Version(levels...)
		c := Choice{Kind: Merge, Output: output}
		c.Inputs[0] = []*manifest.File{manifesttest.File("99[a-z]")}
		o := testPickOptions
		o.FileSize = 12
		split := NewSplitter(v, &c, nil, o)
		var files []string
		file := ""
		for row := 'a'; row <= 'z'; row++ {
			if split.StartsFile([]byte(string(row)), int64(len(file))) {
				files = append(files, file)
				file = ""
			}
			file += string(row)
		}
		if got := strings.Join(append(files, file), " "); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	check("in the last level, when they are full", 7, "abcdefghijkl mnopqrstuvwx yz", "7: 1[a-d] 2[e-z]")
	check("with nothing below", 6, "abcdefghijkl mnopqrstuvwx yz")
	check("with one of the last level, half full", 6, "abcdefgh ijklmnopqrstuvwxyz", "7: 1[a-c]:1 2[d-h]:1 3[i-l]:1 4[m-z]:1")
	check("or over enough of it", 6, "abc defghijklm nopqrstuvwxyz", "7: 1[a-b]:60 2[c-c]:1 3[d-h]:1 4[k-m]:1 5[n-z]:1")
	check("or over too much, wherever that is", 6, "abcd efghijkl mnopqrstuvwxyz", "6: 8[z-z]", "7: 1[a-d]:121 2[e-h]:1 3[i-l]:1 4[m-z]:1")
	check("with those of the run below", 5, "abcd ef ghijklmnopqrstuvwxyz", "6: 7[a-d] 8[e-f] 9[g-z]", "7: 1[a-d]:1 2[e-f]:1 3[g-z]:1")
	check("of the last level where a run does", 5, "abcde fghijklmnopqrstuvwxyz", "6: 7[a-d] 9[g-z]", "7: 1[a-e]:1 3[f-z]:1")
	check("not where a run goes on", 5, "abcdef ghijklmnopqrstuvwxyz", "6: 7[a-b] 8[d-f] 9[g-z]", "7: 1[a-d]:1 2[e-f]:1 3[g-z]:1")
	check("nor where the last level does", 5, "abcdefghijklmnopqrstuvwx yz", "6: 7[a-d] 8[e-z]", "7: 1[a-e]:1 2[f-j]:1 3[k-z]:1")
	check("nor in one below another", 4, "abcdefg hijklmnopqrstuvwxyz", "5: 6[a-c] 5[d-g]", "6: 7[b-e]", "7: 1[a-c]:1 2[d-g]:1 3[h-z]:1")
}

// TestSplitterOfASubcompaction: what lies before a part does not count.
func TestSplitterOfASubcompaction(t *testing.T) {
	o := Options{FileSize: 10}
	v, c := new(manifest.Version), Choice{Output: 1}
	c.Inputs[0] = []*manifest.File{{Smallest: []byte("a"), Largest: []byte("z")}}
	for i := range 26 {
		row := []byte{byte('a' + i)}
		v.Levels[2] = append(v.Levels[2], &manifest.File{Smallest: row, Largest: row, Size: maxBelow * o.FileSize})
	}
	if NewSplitter(v, &c, []byte("m"), o).StartsFile([]byte("m"), 10) {
		t.Error("a part that begins at m begins with a new file")
	}
	if !NewSplitter(v, &c, nil, o).StartsFile([]byte("m"), 10) {
		t.Error("a file would go from a to m")
	}
}
