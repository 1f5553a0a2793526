package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// choiceText shows a choice as its kind, its inputs by level, and its output.
func choiceText(c *choice) string {
	var parts []string
	for level, files := range c.inputs {
		var names []string
		for _, f := range files {
			names = append(names, fileText(f))
		}
		if len(names) > 0 {
			parts = append(parts, fmt.Sprintf("%d: %s", level, strings.Join(names, " ")))
		}
	}
	kind := map[choiceKind]string{nothing: "nothing", move: "move", merge: "merge"}[c.kind]
	if c.kind == nothing {
		return kind
	}
	return fmt.Sprintf("%s %s to %d", kind, strings.Join(parts, ", "), c.output)
}

// testPickOptions: level 0 is full with 4 files or 100 bytes, and files have 10,
// so that 200 bytes are too many to lie above.
var testPickOptions = pickOptions{l0Files: 4, baseSize: 100, fileSize: 10, oldest: 1000}

// busyFiles makes files with these numbers busy.
func busyFiles(numbers ...uint64) func(*file) bool {
	return func(f *file) bool { return slices.Contains(numbers, f.number) }
}

func TestPick(t *testing.T) {
	check := func(name string, busy func(*file) bool, want string, levels ...string) {
		t.Helper()
		v := drawVersion(levels...)
		if err := v.check(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c := pick(v, busy, testPickOptions)
		if got := choiceText(&c); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	none := busyFiles()

	check("empty", none, "nothing")
	check("level 0 is not full", none, "nothing", "0: 3[a-z] 2[a-z] 1[a-z]")
	check("level 0 is full", none, "merge 0: 9[a-z] 8[a-c] 7[b-d] 6[c-e] to 6", "0: 9[a-z] 8[a-c] 7[b-d] 6[c-e]")
	check("full by its bytes", none, "merge 0: 9[a-z] 8[a-c], 6: 1[m-n] to 6", "0: 9[a-z]:50 8[a-c]:50", "6: 1[m-n]")
	check("with what lies below", none, "merge 0: 9[c-f] 8[c-d] 7[c-c] 6[e-f], 6: 2[b-c] 3[d-d] 4[f-g] to 6",
		"0: 9[c-f] 8[c-d] 7[c-c] 6[e-f]", "6: 1[a-a] 2[b-c] 3[d-d] 4[f-g] 5[ga-h]")
	check("files that overlap through others go together", none, "merge 0: 8[a-c] 6[e-g] 5[b-f] to 6",
		"0: 9[m-n] 8[a-c] 7[m-m] 6[e-g] 5[b-f]")
	check("the cheapest for each file that goes", none, "merge 0: 9[m-n] 6[m-n] 5[m-n] to 6",
		"0: 9[m-n] 8[a-b] 7[a-b] 6[m-n] 5[m-n]", "6: 1[a-c]:50")
	check("a file alone moves, which costs nothing", none, "move 0: 7[c-d] to 6",
		"0: 9[a-b] 8[a-b] 7[c-d] 6[e-f]", "6: 1[e-e]")

	check("an older file is under way: the newer one waits", busyFiles(1), "nothing",
		"0: 5[a-z] 4[a-b] 3[c-d] 2[e-f] 1[a-b]")
	check("so does all that overlaps it", busyFiles(1), "merge 0: 6[m-p] 4[o-p] to 6",
		"0: 6[m-p] 5[a-d] 4[o-p] 3[c-d] 2[d-f] 1[a-b]")
	check("a file below is under way", busyFiles(1), "nothing", "0: 9[a-z] 8[a-z] 7[a-z] 6[a-z]", "6: 1[m-m] 2[n-n]")
	check("files under way do not fill level 0", busyFiles(1, 2), "nothing", "0: 5[m-z] 4[m-z] 3[m-z] 2[a-b] 1[a-b]")

	check("the base moves up when the last level is large", none, "merge 0: 9[a-z] 8[a-z] 7[a-z] 6[a-z] to 5",
		"0: 9[a-z] 8[a-z] 7[a-z] 6[a-z]", "6: 1[a-b]:600 2[c-d]:400")
	check("by one more", none, "merge 0: 9[a-z] 8[a-z] 7[a-z] 6[a-z] to 4",
		"0: 9[a-z] 8[a-z] 7[a-z] 6[a-z]", "6: 1[a-b]:600 2[c-d]:600")
	check("but it is never below a level with files", busyFiles(1), "merge 0: 9[a-m] 8[a-m] 7[a-m] 6[a-m] to 3",
		"0: 9[a-m] 8[a-m] 7[a-m] 6[a-m]", "3: 1[x-y]", "6: 2[a-b]:20")
	check("a level above the base gives what it has", none, "move 3: 1[x-y] to 4",
		"0: 9[a-m] 8[a-m] 7[a-m] 6[a-m]", "3: 1[x-y]", "6: 2[a-b]:20")

	check("a level over its goal gives what overlaps least", none, "merge 5: 4[c-d], 6: 2[c-c] to 6",
		"5: 3[a-b] 4[c-d] 5[e-f]", "6: 1[a-b]:20 2[c-c]:10 6[e-f]:20")
	check("a larger file for the same", none, "merge 5: 5[e-f], 6: 6[e-f] to 6",
		"5: 3[a-b] 4[c-d] 5[e-f]:30", "6: 1[a-b]:20 2[c-c]:10 6[e-f]:20")
	check("another one when that is under way", busyFiles(4), "merge 5: 3[a-b], 6: 1[a-b] to 6",
		"5: 3[a-b] 4[c-d] 5[e-f]", "6: 1[a-b]:20 2[c-c]:10 6[e-f]:20")
	check("or what it overlaps is", busyFiles(2), "merge 5: 3[a-b], 6: 1[a-b] to 6",
		"5: 3[a-b] 4[c-d] 5[e-f]", "6: 1[a-b]:20 2[c-c]:10 6[e-f]:20")
	check("a move", none, "move 5: 4[c-d] to 6", "5: 3[a-b] 4[c-d]", "6: 1[a-b]:50 2[f-g]:50")
	check("not over too much", none, "merge 4: 3[a-z] to 5",
		"4: 3[a-z]:100", "6: 1[a-m]:101 2[n-z]:100")
	check("a move over as much as may be", none, "move 4: 3[a-z] to 5",
		"4: 3[a-z]:100", "6: 1[a-m]:100 2[n-z]:100")
	check("the fullest level first", none, "merge 4: 3[a-b], 5: 4[a-b] to 5",
		"4: 3[a-b]:40", "5: 4[a-b] 5[c-d]:50", "6: 1[a-d]:300")
	check("the next full one when it cannot", busyFiles(4), "merge 5: 5[c-d], 6: 1[c-d] to 6",
		"4: 3[a-b]:40", "5: 4[a-b] 5[c-d]:50", "6: 1[c-d]:300")
}

// TestPickWaits: while level 0 waits for files of the base level that are under way, nothing else
// of it begins, full or worthless, unless level 0 would wait for ever.
func TestPickWaits(t *testing.T) {
	full := drawVersion("0: 9[a-d] 8[a-d] 7[a-d] 6[a-d]:200", "5: 3[a-b]:30 4[c-d]:70", "6: 1[a-b]:300 2[c-d]:300")
	worthless := drawVersion("0: 9[a-d] 8[a-d] 7[a-d] 6[a-d]:200", "5: 3[a-b]:30 4[c-d]:30:d90", "6: 1[a-b]:300 2[c-d]:300")
	for _, v := range []*version{full, worthless} {
		check := func(name string, damage error, busy map[uint64]bool, want string) {
			t.Helper()
			db := &DB{opt: Options{MemtableBytes: 50, FileBytes: 10}}
			c := db.chooseLocked(&partition{version: v, busy: busy, damage: damage}, false)
			if got := choiceText(&c); got != want {
				t.Errorf("%s:\n got %s\nwant %s", name, got, want)
			}
		}
		damage := new(CorruptError)
		under := map[uint64]bool{3: true}
		check("nothing is under way", nil, nil, "merge 0: 9[a-d] 8[a-d] 7[a-d] 6[a-d], 5: 3[a-b] 4[c-d] to 5")
		check("a file of the base level is", nil, under, "nothing")
		check("it is damaged", damage, under, "merge 5: 4[c-d], 6: 2[c-d] to 6")
	}
}

// TestPickFullWaits: nor does a step of a full compaction.
func TestPickFullWaits(t *testing.T) {
	v := drawVersion("0: 9[a-d] 8[a-d] 7[a-d] 6[a-d]:200", "5: 3[a-b]:30 4[c-d]:70", "6: 1[a-b]:300 2[c-d]:300")
	full := fullCompaction{started: true, first: 9, level: 5, last: 5}
	if c, done := full.next(v, busyFiles(3), testPickOptions); c.kind != nothing || done {
		t.Errorf("got %s, done is %v", choiceText(&c), done)
	}
}

// TestPickTombstones has files of which at least half are tombstones (d50).
// Sequence numbers up to 1000 can go.
func TestPickTombstones(t *testing.T) {
	check := func(name string, busy func(*file) bool, want string, levels ...string) {
		t.Helper()
		c := pick(drawVersion(levels...), busy, testPickOptions)
		if got := choiceText(&c); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	none := busyFiles()
	check("nothing with less than half", none, "nothing", "0: 9[a-b]:d49", "6: 2[a-b]:d49")
	check("they go down to what they cover", none, "merge 0: 9[a-b] 8[b-c], 6: 2[a-d] to 6", "0: 9[a-b]:d50 8[b-c]", "6: 2[a-d]")
	check("from any level", none, "merge 5: 9[a-b], 6: 2[a-d] to 6", "5: 9[a-b]:d50", "6: 2[a-d]:90 3[e-f]:500")
	check("through levels where they overlap nothing", none, "move 4: 9[a-b] to 5", "4: 9[a-b]:5:d100", "6: 2[a-d]:200 3[x-z]:700")
	check("most tombstones first", none, "merge 5: 8[c-d], 6: 3[c-d] to 6",
		"5: 9[a-b]:d50 8[c-d]:d60 7[e-f]:d50", "6: 2[a-b]:50 3[c-d]:50 4[x-y]:500")
	check("not when they are few for what lies below", none, "nothing",
		"5: 9[a-f]:5:d50", "6: 1[a-a]:20 2[b-b] 3[c-c] 4[d-d] 5[e-e] 6[f-f] 7[g-z]:500")
	check("but when they may cover most of it, whatever its size", none, "merge 5: 9[a-f], 6: 1[a-c] 2[d-f] to 6",
		"5: 9[a-f]:5:d50", "6: 1[a-c]:100 2[d-f]:100 7[g-z]:500")
	check("and when it is not much more than they are", none, "merge 5: 9[a-f], 6: 1[a-a] 2[b-b] 3[c-c] 4[d-d] 5[e-e] 6[f-f] to 6",
		"5: 9[a-f]:5:d50", "6: 1[a-a]:5 2[b-b]:9 3[c-c]:9 4[d-d]:9 5[e-e]:9 6[f-f]:9 7[g-z]:500")
	check("at the bottom they are dropped", none, "merge 6: 2[a-b] to 6", "6: 2[a-b]:d50 3[c-d]")
	check("also above the last level", none, "merge 5: 2[a-b] to 5", "5: 2[a-b]:d50", "6: 3[c-d]:200")
	check("but not if a snapshot may need them", none, "nothing", "6: 2[a-b]:d50:s1001 3[c-d]")
	check("nor if the file is under way", busyFiles(2), "nothing", "6: 2[a-b]:d50 3[c-d]")
	check("no move to the bottom with them", none, "merge 0: 9[a-b] to 6", "0: 9[a-b]:d50 8[c-d]")
	check("unless a snapshot may need them", none, "move 0: 9[a-b] to 6", "0: 9[a-b]:d50:s1001")
}

func TestChoiceApply(t *testing.T) {
	v := drawVersion("0: 9[a-z] 8[a-c]", "5: 4[a-b] 5[m-n]", "6: 1[a-c] 2[d-f]")
	show := func(v *version) string {
		var parts []string
		for level, files := range v.levels {
			for _, f := range files {
				parts = append(parts, fmt.Sprintf("%d:%s", level, fileText(f)))
			}
		}
		return strings.Join(parts, " ")
	}
	before := show(v)
	c := choice{kind: merge, output: 6}
	c.inputs[5], c.inputs[6] = v.levels[5][:1], v.levels[6][:1]
	flushed := *v // something else is installed between choosing and applying
	flushed.levels[0] = append([]*file{drawFile("10[b-d]")}, v.levels[0]...)
	got := show(c.apply(&flushed, []*file{drawFile("12[a-a]"), drawFile("13[c-c]")}))
	want := "0:10[b-d] 0:9[a-z] 0:8[a-c] 5:5[m-n] 6:12[a-a] 6:13[c-c] 6:2[d-f]"
	if got != want {
		t.Errorf("merge:\n got %s\nwant %s", got, want)
	}
	if got, want := show(c.apply(v, nil)), "0:9[a-z] 0:8[a-c] 5:5[m-n] 6:2[d-f]"; got != want {
		t.Errorf("merge into nothing:\n got %s\nwant %s", got, want)
	}
	c = choice{kind: move, output: 6}
	c.inputs[5] = v.levels[5][1:]
	if got, want := show(c.apply(v, nil)), "0:9[a-z] 0:8[a-c] 5:4[a-b] 6:1[a-c] 6:2[d-f] 6:5[m-n]"; got != want {
		t.Errorf("move:\n got %s\nwant %s", got, want)
	}
	c = choice{kind: merge, output: 6}
	c.inputs[6] = v.levels[6][:1]
	if got, want := show(c.apply(v, []*file{drawFile("14[b-c]")})), "0:9[a-z] 0:8[a-c] 5:4[a-b] 5:5[m-n] 6:14[b-c] 6:2[d-f]"; got != want {
		t.Errorf("rewrite:\n got %s\nwant %s", got, want)
	}
	if got := show(v); got != before {
		t.Errorf("the version has changed from %s to %s", before, got)
	}
}

// TestFullCompaction follows the steps through drawn versions.
func TestFullCompaction(t *testing.T) {
	var full fullCompaction
	number := uint64(20)
	busy := busyFiles()
	step := func(v *version, want string) *version {
		t.Helper()
		c, done := full.next(v, busy, testPickOptions)
		got := choiceText(&c)
		if done {
			got = "done"
		}
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if c.kind == nothing {
			return v
		}
		number++
		first, last := bounds(c.files())
		return c.apply(v, []*file{drawFile(fmt.Sprintf("%d[%s-%s]", number, first, last))})
	}
	v := drawVersion("0: 9[a-b] 8[c-d] 7[b-b]", "5: 4[a-b] 6[k-l]", "6: 2[a-e]:100 3[m-n]:100")
	busy = busyFiles(6)
	v = step(v, "nothing") // a compaction is under way: not started
	busy = busyFiles()
	v = step(v, "merge 0: 9[a-b] 7[b-b], 5: 4[a-b] to 5")
	v = step(v, "move 0: 8[c-d] to 5")
	v.levels[0] = []*file{drawFile("30[a-z]:s999")} // flushed meanwhile
	busy = busyFiles(6)
	v = step(v, "merge 5: 21[a-b], 6: 2[a-e] to 6")
	v = step(v, "merge 5: 8[c-d], 6: 23[a-e] to 6")
	v = step(v, "nothing") // 6 is under way
	busy = busyFiles()
	v = step(v, "move 5: 6[k-l] to 6")
	v = step(v, "merge 6: 6[k-l] to 6")
	v = step(v, "merge 6: 3[m-n] to 6")
	v = step(v, "done")
	step(v, "done")

	full = fullCompaction{}
	step(new(version), "done")
}

// TestFullCompactionRelievesLevel0 fills level 0 while the compaction is further
// down.
func TestFullCompactionRelievesLevel0(t *testing.T) {
	full := fullCompaction{started: true, first: 9, level: 6, last: 9}
	v := drawVersion("0: 13[x-z] 12[x-z] 11[x-z] 10[x-z]", "6: 2[a-e] 3[m-n]")
	c, done := full.next(v, busyFiles(), testPickOptions)
	if got, want := choiceText(&c), "merge 0: 13[x-z] 12[x-z] 11[x-z] 10[x-z] to 6"; got != want || done {
		t.Errorf("got %s, %t, want %s", got, done, want)
	}
}

func TestSplitter(t *testing.T) {
	// A file may overlap 200 bytes below.
	v := drawVersion("4: 1[b-y]", "6: 2[a-b]:500 3[c-d]:150 4[e-f]:50 5[g-h]:1 6[i-j]:300 7[k-l]")
	c := choice{kind: merge, output: 5}
	c.inputs[4] = v.levels[4]
	split := newSplitter(v, &c, nil, testPickOptions)
	var got []string
	for _, row := range strings.Split("b c d e f g h i j k l m x y", " ") {
		if split.before([]byte(row)) {
			got = append(got, row)
		}
	}
	if want := []string{"c", "i", "k"}; !slices.Equal(got, want) {
		t.Errorf("got new files before %q, want %q", got, want)
	}
	c.output = numLevels - 1
	if newSplitter(v, &c, nil, testPickOptions).before([]byte("y")) {
		t.Error("the last level is split for what lies below")
	}
}
