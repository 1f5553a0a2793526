package rowmerge

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/colonnade-db/colonnade/cell"
)

// TestScripts runs the scripts in testdata. With -rewrite it writes the results as the
// expected output. The commands:
//
//	define [newer | older]
//
// sets the rows that a compaction reads, its inputs, and removes all others. With an argument
// it sets rows outside the inputs: in files or memtables newer than they, or in older files.
// The input is entries (see notation_test.go), in the order in which a Source has them. A line
// "row k" begins the row k. Without one, the row has no name.
//
//	ranges
//
// sets the range tombstones that cover rows, one a line: the first row, the first row after them, and
// a sequence number, such as "a c #7".
//
//	policies all | unknown
//	policies as-of=SEQ
//
// sets the policies: none at all, as at the start of a script; NoPolicies; or those of the
// families that the input lists, as they were at a sequence number:
//
//	f since=SEQ ttl=SECONDS version-limit=N intersection
//
//	read [seq=SEQ] [now=TIME] [columns=(f, f:a)]
//
// prints what a reader sees of all rows. Without seq it sees the whole history.
//
//	compact oldest=SEQ [now=TIME] [bottommost | bottommost=(k, l)] [install]
//
// prints what Filter keeps of the inputs, and why it dropped the others. All rows are
// bottommost, or those listed, or none. With install, the output takes the place of the inputs.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var s script
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			for _, arg := range d.CmdArgs {
				if !slices.Contains(scriptArgs[d.Cmd], arg.Key) {
					d.Fatalf(t, "unknown argument %q", arg.Key)
				}
			}
			switch d.Cmd {
			case "define":
				return s.define(t, d)
			case "ranges":
				return s.defineRanges(t, d)
			case "policies":
				return s.definePolicies(t, d)
			case "read":
				return s.read(t, d)
			case "compact":
				return s.compact(t, d)
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

// scriptArgs lists the arguments of each command.
var scriptArgs = map[string][]string{
	"define":   {"newer", "older"},
	"ranges":   {},
	"policies": {"all", "unknown", "as-of"},
	"read":     {"seq", "now", "columns"},
	"compact":  {"oldest", "now", "bottommost", "install"},
}

// script is the state of a script.
type script struct {
	newer, inputs, older []testRow
	ranges               []testRange
	policies             *Policies
}

func (s *script) define(t *testing.T, d *datadriven.TestData) string {
	rows := parseRows(t, d)
	switch {
	case d.HasArg("newer"):
		s.newer = rows
	case d.HasArg("older"):
		s.older = rows
	default:
		s.newer, s.inputs, s.older, s.ranges = nil, rows, nil, nil
	}
	return ""
}

// parseRows reads the input of define.
func parseRows(t *testing.T, d *datadriven.TestData) (rows []testRow) {
	for line := range strings.Lines(d.Input) {
		if key, ok := strings.CutPrefix(line, "row "); ok {
			rows = append(rows, testRow{key: strings.TrimSpace(key)})
			continue
		}
		if len(rows) == 0 {
			rows = append(rows, testRow{})
		}
		row := &rows[len(rows)-1]
		row.cells = append(row.cells, parseEntry(line))
	}
	if !slices.IsSortedFunc(rows, func(a, b testRow) int { return strings.Compare(a.key, b.key) }) {
		d.Fatalf(t, "rows are not in order")
	}
	for _, row := range rows {
		if !slices.IsSortedFunc(row.cells, func(a, b cell.Cell) int { return a.Compare(&b) }) {
			d.Fatalf(t, "entries are not in order: %q", entryTexts(row.cells))
		}
	}
	return rows
}

// testRange is a range tombstone of the rows from start up to end.
type testRange struct {
	start, end string
	seq        uint64
}

func (s *script) defineRanges(t *testing.T, d *datadriven.TestData) string {
	s.ranges = nil
	for line := range strings.Lines(d.Input) {
		var r testRange
		if _, err := fmt.Sscanf(line, "%s %s #%d", &r.start, &r.end, &r.seq); err != nil {
			d.Fatalf(t, "%q: %v", line, err)
		}
		s.ranges = append(s.ranges, r)
	}
	return ""
}

// newestRange returns the sequence number of the newest range tombstone over a row, up to the given one,
// 0 for none.
func (s *script) newestRange(row string, seq uint64) (newest uint64) {
	for _, r := range s.ranges {
		if r.seq <= seq && r.start <= row && row < r.end {
			newest = max(newest, r.seq)
		}
	}
	return newest
}

func (s *script) definePolicies(t *testing.T, d *datadriven.TestData) string {
	switch {
	case d.HasArg("all"):
		s.policies = nil
	case d.HasArg("unknown"):
		s.policies = NoPolicies
	default:
		var asOf uint64
		d.ScanArgs(t, "as-of", &asOf)
		families := make(map[string]Policy)
		for line := range strings.Lines(d.Input) {
			name, policy := parsePolicy(t, line)
			families[name] = policy
		}
		s.policies = NewPolicies(asOf, families)
	}
	return ""
}

func parsePolicy(t *testing.T, line string) (name string, p Policy) {
	name, args, err := datadriven.ParseLine(line)
	if err != nil {
		t.Fatal(err)
	}
	for _, arg := range args {
		switch arg.Key {
		case "since":
			p.Since = must(strconv.ParseUint(arg.SingleVal(t), 10, 64))
		case "ttl":
			p.GC.TTLSecs = must(strconv.ParseInt(arg.SingleVal(t), 10, 64))
		case "version-limit":
			p.GC.VersionLimit = must(strconv.ParseInt(arg.SingleVal(t), 10, 64))
		case "intersection":
			p.GC.Intersection = true
		default:
			t.Fatalf("%q: unknown policy", line)
		}
	}
	return name, p
}

func (s *script) read(t *testing.T, d *datadriven.TestData) string {
	seq, now := uint64(math.MaxUint64), timeArg(t, d, "now")
	d.MaybeScanArgs(t, "seq", &seq)
	columns := columnsArg(d)
	rows := mergeRows(s.newer, s.inputs, s.older)
	return inEachWay(t, rows, func(w way) string {
		var v Visibility
		v.Init(seq, now, s.policies, columns)
		var b strings.Builder
		for _, row := range rows {
			v.BeginRow()
			v.DeleteBelow(s.newestRange(row.key, seq))
			var texts []string
			for _, c := range w.feed(row.cells, v.Visible) {
				texts = append(texts, seenText(&c))
			}
			writeRow(&b, row.key, texts)
		}
		return b.String()
	})
}

func (s *script) compact(t *testing.T, d *datadriven.TestData) string {
	var oldest uint64
	d.ScanArgs(t, "oldest", &oldest)
	now := timeArg(t, d, "now")
	rows, some := d.Arg("bottommost")
	isBottommost := func(row []byte) bool {
		return some && (len(rows.Vals) == 0 || slices.Contains(rows.Vals, string(row)))
	}
	var output []testRow
	answer := inEachWay(t, s.inputs, func(w way) string {
		var f Filter
		f.Init(oldest, now, s.policies, isBottommost)
		var b strings.Builder
		entries := 0
		output = nil
		for _, row := range s.inputs {
			f.BeginRow([]byte(row.key))
			f.DeleteBelow(s.newestRange(row.key, oldest))
			kept := w.feed(row.cells, f.Keep)
			writeRow(&b, row.key, entryTexts(kept))
			output = append(output, testRow{row.key, kept})
			entries += len(row.cells) - len(kept)
		}
		if entries != int(f.Dropped()) {
			t.Errorf("%d entries are missing, %d were dropped", entries, f.Dropped())
		}
		fmt.Fprintf(&b, "dropped: %s\n", droppedText(f.dropped))
		return b.String()
	})
	var again Filter
	again.Init(oldest, now, s.policies, isBottommost)
	for _, row := range output {
		again.BeginRow([]byte(row.key))
		again.DeleteBelow(s.newestRange(row.key, oldest))
		if got, want := entryTexts(again.Keep(slices.Clone(row.cells), &UnknownRun)), entryTexts(row.cells); !slices.Equal(got, want) {
			t.Errorf("once  %q\ntwice %q", want, got)
		}
	}
	if d.HasArg("install") {
		s.inputs = output
	}
	return answer
}

var reasonNames = [reasonCount]string{
	shadowed: "shadowed", deleted: "deleted", garbage: "garbage", orphaned: "orphaned", obsolete: "obsolete",
}

func droppedText(dropped [reasonCount]uint64) string {
	var list []string
	for r, n := range dropped {
		if n > 0 {
			list = append(list, fmt.Sprintf("%d %s", n, reasonNames[r]))
		}
	}
	if list == nil {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// writeRow writes a row and its lines.
func writeRow(b *strings.Builder, key string, lines []string) {
	if key != "" {
		fmt.Fprintf(b, "row %s\n", key)
	}
	for _, line := range lines {
		fmt.Fprintln(b, line)
	}
	if len(lines) == 0 {
		fmt.Fprintln(b, "(nothing)")
	}
}

// mergeRows merges lists of rows, newest first.
func mergeRows(lists ...[]testRow) (merged []testRow) {
	for _, row := range slices.Concat(lists...) {
		i, found := slices.BinarySearchFunc(merged, row.key, func(r testRow, key string) int { return strings.Compare(r.key, key) })
		if !found {
			merged = slices.Insert(merged, i, testRow{key: row.key})
		}
		merged[i].cells = append(slices.Clone(merged[i].cells), row.cells...)
		sortEntries(merged[i].cells)
	}
	return merged
}

// way is one way to feed rows to a Visibility or Filter.
type way struct {
	split      int      // if not 0, each row comes in two chunks, the first with this many entries
	dictionary []string // of the columns, nil for none
}

// inEachWay calls f with every way to feed rows and returns its result, which must always be the
// same.
func inEachWay(t *testing.T, rows []testRow, f func(way) string) string {
	t.Helper()
	longest := 0
	var columns []string
	for _, row := range rows {
		longest = max(longest, len(row.cells))
		for _, c := range row.cells {
			columns = append(columns, string(c.Column))
		}
	}
	slices.Sort(columns)
	answer := f(way{})
	for _, dictionary := range [][]string{nil, slices.Compact(columns)} {
		for split := range longest + 1 {
			w := way{split, dictionary}
			if got := f(w); got != answer {
				t.Errorf("fed as %+v:\n%sotherwise:\n%s", w, got, answer)
			}
		}
	}
	return answer
}

// feed sends a row through keep, which is Visible or Keep, and returns what comes back. It
// overwrites the memory of each chunk before the next.
func (w way) feed(row []cell.Cell, keep func([]cell.Cell, *cell.Run) []cell.Cell) (all []cell.Cell) {
	split := min(w.split, len(row))
	for i, chunk := range [][]cell.Cell{row[:split], row[split:]} {
		var lent []cell.Cell
		for _, c := range chunk {
			c.Column, c.Value = bytes.Clone(c.Column), bytes.Clone(c.Value)
			if i := slices.Index(w.dictionary, string(c.Column)); i >= 0 {
				c.ColumnID = uint32(i) + 1
			}
			lent = append(lent, c)
		}
		run := runOf(lent)
		if w.dictionary != nil {
			run.DictionaryID = 1
		}
		run.EndOfRow = i == 1
		for _, c := range keep(slices.Clone(lent), &run) {
			c.Column, c.Value, c.ColumnID = bytes.Clone(c.Column), bytes.Clone(c.Value), 0
			all = append(all, c)
		}
		for _, c := range lent {
			spoil(c.Column)
			spoil(c.Value)
		}
	}
	return all
}

// timeArg returns a time, 0 if there is none.
func timeArg(t *testing.T, d *datadriven.TestData, key string) int64 {
	arg, ok := d.Arg(key)
	if !ok {
		return 0
	}
	return parseTime(arg.SingleVal(t))
}

// columnsArg returns the columns of a read, nil for all.
func columnsArg(d *datadriven.TestData) *cell.Columns {
	arg, ok := d.Arg("columns")
	if !ok {
		return nil
	}
	var ranges []cell.Range
	for _, name := range arg.Vals {
		family, qualifier, one := strings.Cut(name, ":")
		if one {
			ranges = append(ranges, cell.ColumnRange([]byte(family), []byte(qualifier)))
		} else {
			ranges = append(ranges, cell.FamilyRange([]byte(family)))
		}
	}
	return cell.NewColumns(ranges...)
}
