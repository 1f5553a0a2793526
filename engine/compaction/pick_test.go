package compaction

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/manifest/manifesttest"
)

// testPickOptions: level 0 is full with 4 files or 200 bytes, and half as many bytes are little. A
// file has 10 bytes, so 50 bytes of the last level are enough for a range.
var testPickOptions = Options{Level0Files: 4, SmallBytes: 100, FileSize: 10, Visible: 1000}

// pickNext is Pick with a run merge that starts if there is none.
func pickNext(v *manifest.Version, busy func(*manifest.File) bool, o Options) Choice {
	o.RunMerges = o.RunMerges.Next(v, busy, o)
	return Pick(v, busy, o)
}

// busyFiles makes files with these numbers busy.
func busyFiles(numbers ...uint64) func(*manifest.File) bool {
	return func(f *manifest.File) bool { return slices.Contains(numbers, f.Number) }
}

// TestPickEarly: level 0 leaves before it is full if reads have paid for it or if it is cheap, but
// not if reads would then have as many files to search.
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

// TestNothingBusy: a nil busy means that no file is, for everything that takes one.
func TestNothingBusy(t *testing.T) {
	o := testPickOptions
	for _, levels := range [][]string{
		{"0: 9[a-b] 8[a-c] 7[b-d] 6[a-d]", "7: 1[a-b]"},
		{"0: 9[a-b] 8[a-c]", "1: 5[a-d]", "7: 1[a-b]"},
		{"6: 5[a-d]:900", "7: 1[a-b]"},
		{"7: 1[a-b]"},
	} {
		v := manifesttest.Version(levels...)
		got, want := pickNext(v, nil, o), pickNext(v, busyFiles(), o)
		if got.String() != want.String() {
			t.Errorf("%q: Pick got %s, want %s", levels, got.String(), want.String())
		}
		got, _ = new(Manual).Next(v, nil, o)
		want, _ = new(Manual).Next(v, busyFiles(), o)
		if got.String() != want.String() || got.Kind == Nothing {
			t.Errorf("%q: Manual.Next got %s, want %s", levels, got.String(), want.String())
		}
	}
}

// TestPickPaid: files that reads have paid to bring to the last level move to an upper level first,
// if they are in level 0.
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

// TestManualWaits: a step of a manual compaction waits for busy files.
func TestManualWaits(t *testing.T) {
	v := manifesttest.Version("0: 9[a-d] 8[a-d] 7[a-d] 6[a-d]", "7: 1[a-b] 3[c-d]")
	full := Manual{started: true, first: 9, level: manifest.LastLevel, last: 5}
	if c, done := full.Next(v, busyFiles(3), testPickOptions); c.Kind != Nothing || done {
		t.Errorf("got %s, done is %v", c.String(), done)
	}
}

// TestManualMakesRoom: if level 0 has no free output level, one becomes free, by a run merge if one
// is under way.
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
	flushed := *v // another edit is installed between Pick and Apply
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

// TestManual follows the steps of manual compactions, drawn as versions.
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

// TestManualCompactsLevel0First fills level 0 while the manual compaction is at a lower level.
func TestManualCompactsLevel0First(t *testing.T) {
	full := Manual{started: true, first: 9, level: manifest.LastLevel, last: 9}
	v := manifesttest.Version("0: 13[x-z] 12[x-z] 11[x-z] 10[x-z]", "7: 2[a-e] 3[m-n]")
	c, done := full.Next(v, busyFiles(), testPickOptions)
	if got, want := c.String(), "merge 0: 13[x-z] 12[x-z] 11[x-z] 10[x-z] to 7"; got != want || done {
		t.Errorf("got %s, %t, want %s", got, done, want)
	}
}

// TestSplitter checks where files end. Each row adds one byte to its file.
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

// TestSplitterOfASubcompaction: files before the range of the subcompaction do not count.
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
