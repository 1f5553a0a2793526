package main

import (
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden report anew")

// sample is a report of two tables on three engines.
func sample() *report {
	r := &report{
		o: options{
			rows: 20_000, runs: 3, each: time.Second,
			engines: []*Engine{colonnade, pebbleTuned, logOnly}, tables: []*Table{commits, reopens},
		},
		raw: 14_000_000, machine: "two CPUs", others: 0.31, results: make(results),
		failures: []error{errors.New("table reopen on pebble-tuned, run 2: exit status 1")},
	}
	for i := range 3 {
		up := 1 + float64(i)/10
		r.results.add("commits", "colonnade", map[string]float64{"rate1": 9_000 * up, "rate64-first": 180_000 * up, "rate64": 170_000 * up, "p99-64": 0.8 * up, "cpu64": 6})
		r.results.add("commits", "pebble-tuned", map[string]float64{"rate1": 7_400, "rate64": 92_000, "p99-64": 4.3 * up, "cpu64": 9})
		r.results.add("commits", "log", map[string]float64{"rate64": 295_000})
		r.results.add("reopen", "colonnade", map[string]float64{"closed": 33, "killed": 0.25})
	}
	r.results.add("reopen", "pebble-tuned", nil)
	r.results.add("reopen", "pebble-tuned", map[string]float64{"killed": 769})
	return r
}

func TestReport(t *testing.T) {
	const golden = "testdata/report.md"
	got := sample().markdown()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the report is not that of %s; if it should be, run the test with -update. It is\n%s", golden, got)
	}
}

func TestReportGoesBetweenTheMarks(t *testing.T) {
	name := filepath.Join(t.TempDir(), "doc.md")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n" + beginMark + "old\n" + endMark + "after\n")
	for range 2 {
		if err := insert(name, "new\n"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if want := "before\n" + beginMark + "\nnew\n\n" + endMark + "after\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	write("before\n" + endMark)
	if err := insert(name, "new\n"); err == nil {
		t.Error("a document without marks was written to")
	}
}

func TestPlots(t *testing.T) {
	dir := t.TempDir()
	if err := sample().plots(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "commits.svg"))
	if err != nil || !strings.Contains(string(text), "pebble-tuned") {
		t.Errorf("a plot of %d bytes has no legend: %v", len(text), err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%d plots, %v, want one: nothing else was measured", len(files), err)
	}
}

// TestNamesFit looks for figures that targets and plots use but no table has.
func TestNamesFit(t *testing.T) {
	known := func(table, figure string) bool {
		for _, x := range tables {
			if x.Name == table {
				return figure == "" || x.figure(figure) != nil
			}
		}
		return false
	}
	for _, x := range targetList {
		if !known(x.table, x.figure) || !known(x.table, x.within) || !known(x.table, x.clean) || !known(x.table, x.cpu) {
			t.Errorf("target %d asks for %s, %s, %s, %s", x.number, x.table, x.figure, x.within, x.cpu)
		}
		for _, e := range x.of {
			if _, err := choose(engines, e, nil); err != nil {
				t.Errorf("target %d: %v", x.number, err)
			}
		}
	}
	for _, d := range plotted {
		for _, b := range d.bars {
			if !known(d.table, "") || !known(b.table, b.figure) {
				t.Errorf("plot %s asks for %s, %s", d.file, b.table, b.figure)
			}
		}
	}
}

func TestMedian(t *testing.T) {
	r := make(results)
	if _, _, ok := r.median("t", "e", "f"); ok {
		t.Error("there is a median of nothing")
	}
	for _, x := range []float64{10, 40, 20} {
		r.add("t", "e", map[string]float64{"f": x})
	}
	if value, spread, ok := r.median("t", "e", "f"); value != 20 || spread != 1 || !ok {
		t.Errorf("median %g ±%g, %v, want 20 ±1", value, spread, ok)
	}
	r.add("t", "e", map[string]float64{"f": 30})
	if value, _, _ := r.median("t", "e", "f"); value != 25 {
		t.Errorf("median of four is %g, want 25", value)
	}
}

func TestLatencies(t *testing.T) {
	l := newLatencies(3)
	for i := range 1000 { // half of them of one goroutine
		l.add(i%2*(1+i%4/2), time.Duration(i+1)*time.Microsecond)
	}
	for percent, want := range map[float64]float64{50: 0.5, 99: 0.99, 100: 1} {
		if got := l.percentile(percent); math.Abs(got-want) > want/100 {
			t.Errorf("%g %% take up to %g ms, want %g", percent, got, want)
		}
	}
	if got := newLatencies(2).percentile(99); got != 0 {
		t.Errorf("of no operations, 99 %% take up to %g ms", got)
	}
}

func TestFormat(t *testing.T) {
	for _, test := range []struct {
		x    float64
		u    unit
		want string
	}{
		{0, perSecond, "0.00"}, {999.4, perSecond, "999"}, {999.6, perSecond, "1.00 k"}, {1_234_567, perSecond, "1.23 M"},
		{5_678_900_000, perSecond, "5,679 M"}, {0.123, millis, "123 µs"}, {99.96, millis, "100 ms"}, {12_345, millis, "12.3 s"},
		{0.0381, micros, "38.1 ns"}, {9.996, mega, "10.0 MB"}, {1_350, mega, "1,350 MB"}, {0.304, plain, "0.30"},
	} {
		if got := format(test.x, test.u); got != test.want {
			t.Errorf("%g is %q, want %q", test.x, got, test.want)
		}
	}
}

func TestParse(t *testing.T) {
	o, err := parse([]string{"-engines", "bbolt,colonnade", "-tables", "growth"})
	if err != nil || len(o.engines) != 2 || o.engines[0] != colonnade || len(o.tables) != 1 || o.tables[0] != growth {
		t.Errorf("got %+v, %v", o, err)
	}
	o, err = parse(nil)
	if err != nil || len(o.engines) != len(engines) || len(o.tables) != len(tables)-1 {
		t.Errorf("got %d engines and %d tables, %v", len(o.engines), len(o.tables), err)
	}
	for _, args := range [][]string{{"-engines", "rocksdb"}, {"-rows", "0"}, {"-runs", "0"}, {"more"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}

func TestJudgeComparesWithTheBest(t *testing.T) {
	r := make(results)
	for engine, figures := range map[string]map[string]float64{
		"colonnade":    {"rate": 100, "cpu": 2, "disk": 10},
		"pebble-tuned": {"rate": 40, "cpu": 3, "disk": 30},
		"badger":       {"rate": 60, "cpu": 5, "disk": 20},
		"log":          {"rate": 1000, "cpu": 1, "disk": 1},
	} {
		r.add("random", engine, figures)
	}
	v := r.judge(target{table: "random", figure: "rate", cpu: "cpu", times: 2, of: peers})
	if v.rival != "badger" || v.theirs != 60 || v.ratio() != "1.67" || v.work != "1.50" || v.met() {
		t.Errorf("the most of a rate: %+v, ratio %s, met %v", v, v.ratio(), v.met())
	}
	v = r.judge(target{table: "random", figure: "disk", most: true, times: 0.75, of: peers})
	if v.rival != "badger" || v.theirs != 20 || v.ratio() != "0.50" || v.work != "" || !v.met() {
		t.Errorf("the least of a size: %+v, ratio %s, met %v", v, v.ratio(), v.met())
	}
	v = r.judge(target{table: "random", figure: "disk", most: true, bound: 9})
	if v.rival != "" || !v.known || v.met() {
		t.Errorf("a bound: %+v, met %v", v, v.met())
	}
	v = r.judge(target{table: "random", figure: "disk", times: 0.5, clean: "rate"}) // a tenth
	if v.rival != "clean" || v.theirs != 100 || v.met() || v.wanted() != "at least 0.5 of a clean table" {
		t.Errorf("another figure of the engine: %+v, met %v, wanted %s", v, v.met(), v.wanted())
	}
	v = r.judge(target{table: "random", figure: "rate", times: 0.5, clean: "disk"})
	if v.theirs != 10 || !v.met() {
		t.Errorf("the same the other way round: %+v, met %v", v, v.met())
	}
	if v := r.judge(target{table: "reads", figure: "rows1", times: 1, of: peers}); v.known {
		t.Errorf("what was not measured: %+v", v)
	}
}
