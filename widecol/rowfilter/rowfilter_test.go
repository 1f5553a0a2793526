package rowfilter_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
	"github.com/colonnade-db/colonnade/widecol/rowfilter"
	"github.com/colonnade-db/colonnade/widecol/storetest"
)

var (
	background = context.Background()
	rowKeys    = []string{"a", "a\x00", "a\nb", "a:b", "aa", "b", "row1", "row2", "row9", "ROW", "é", "\xff"}
	families   = []string{"a", "a-b", "b", "z"}
	qualifiers = []string{"", "x", "x:y", "xy", "x\x00", "x\n", "y", "\x00", "\U0010ffff"}
	cellTypes  = []cell.Type{cell.String, cell.Bytes, cell.I64, cell.I32, cell.F64, cell.F32, cell.Bool, cell.Byte}
)

// start is the time that the trees of storetest are about.
const start = 1_000_000 * 1_000_000

// randomView returns a view of a table of random cells.
func randomView(t testing.TB, rnd *rand.Rand) widecol.View {
	s := memstore.New(memstore.Options{})
	var spec widecol.TableSpec
	for _, f := range families {
		spec.Families = append(spec.Families, widecol.Family{Name: f})
	}
	if err := s.CreateTable(background, "t", spec); err != nil {
		t.Fatal(err)
	}
	pick := func(list []string) []byte { return []byte(list[rnd.IntN(len(list))]) }
	var ms []widecol.Mutation
	for range 120 {
		m := widecol.Mutation{Row: pick(rowKeys), Family: pick(families), Qualifier: pick(qualifiers), Type: cellTypes[rnd.IntN(len(cellTypes))]}
		m.Time = start + 5_000_000*(rnd.Int64N(13)-6)
		size := rnd.IntN(6)
		switch m.Type {
		case cell.I64, cell.F64:
			size = 8
		case cell.I32, cell.F32:
			size = 4
		case cell.Bool, cell.Byte:
			size = 1
		}
		for range size {
			b := byte(rnd.IntN(256))
			if m.Type == cell.Bool {
				b %= 2
			}
			m.Value = append(m.Value, b)
		}
		ms = append(ms, m)
	}
	if _, err := s.Write(background, "t", ms, ""); err != nil {
		t.Fatal(err)
	}
	view, err := s.View(background, "t")
	if err != nil {
		t.Fatal(err)
	}
	return view
}

// shown shows a cell with its label.
func shown(row []byte, c *cell.Cell, label string) string {
	return fmt.Sprintf("%q %q %d %s %q %s", row, c.Column, c.Time, c.Type, c.Value, label)
}

// answer returns the cells that a query selects.
func answer(t testing.TB, view widecol.View, q *widecol.Query) (cells []string) {
	rows, err := view.Scan(background, q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		labels := rows.Labels()
		for i, c := range rows.Cells() {
			cells = append(cells, shown(rows.Row(), &c, labels[i]))
		}
	}
	return cells
}

// row is a row of a view.
type row struct {
	key   []byte
	cells []cell.Cell
}

func rowsOf(t testing.TB, view widecol.View) (all []row) {
	q := widecol.NewQuery()
	rows, err := view.Scan(background, &q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		if rows.First() {
			all = append(all, row{key: slices.Clone(rows.Row())})
		}
		last := &all[len(all)-1]
		for _, c := range rows.Cells() {
			c.Column, c.Value = slices.Clone(c.Column), slices.Clone(c.Value)
			last.cells = append(last.cells, c)
		}
	}
	return all
}

// evaluated returns what an Eval makes of rows that are pushed in chunks of random sizes.
func evaluated(t testing.TB, e *rowfilter.Eval, rnd *rand.Rand, rows []row) (out []string) {
	for _, r := range rows {
		e.BeginRow(r.key)
		take := func() {
			for cells := e.Next(); len(cells) > 0; cells = e.Next() {
				labels := e.LabelsOf(cells)
				for i := range cells {
					label := ""
					if labels != nil {
						label = labels[i]
					}
					out = append(out, shown(r.key, &cells[i], label))
				}
			}
		}
		// The Eval may change what it is given, and what it has given back goes bad.
		rest := slices.Clone(r.cells)
		for len(rest) > 0 && !e.Done() {
			n := min(1+rnd.IntN(5), len(rest))
			if !e.Push(rest[:n]) {
				for e.Undecided() {
					for again := r.cells; len(again) > 0; again = again[min(3, len(again)):] {
						if e.Observe(again[:min(3, len(again))]) {
							break
						}
					}
					e.EndPass()
				}
			}
			take()
			for i := range n {
				rest[i] = cell.Cell{Column: []byte("bad\x00"), Value: []byte("bad")}
			}
			rest = rest[n:]
		}
		if len(rest) == 0 {
			e.EndRow()
			take()
		}
	}
	if err := e.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			return fmt.Sprintf("cell %d is %s, want %s", i, g, w)
		}
	}
	return ""
}

// TestAgainstMemstore compares streams, and queries that were pushed down, with the specification.
func TestAgainstMemstore(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	copies, held := 0, 0
	for seed := range uint64(rounds) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		view := randomView(t, rnd)
		rows := rowsOf(t, view)
		for range 200 {
			f := storetest.RandomFilter(rnd)
			q := widecol.NewQuery()
			q.RowFilter = f
			want := answer(t, view, &q)
			program, err := rowfilter.Compile(f)
			if err != nil {
				t.Fatal(err)
			}
			e := program.NewEval(background, f)
			e.SetHeldBytes([]int{0, 200, 1000, rowfilter.HeldBytes}[rnd.IntN(4)])
			if diff := firstDifference(evaluated(t, e, rnd, rows), want); diff != "" {
				t.Fatalf("seed %d: %s: %s", seed, storetest.FilterText(f), diff)
			}
			if f.Copies() > 1 {
				copies++
			}
			if e.Held() > 0 {
				held++
			}
			limitRandomly(rnd, &q)
			want = answer(t, view, &q)
			narrow, _ := program.PushDown(&q, families)
			if diff := firstDifference(answer(t, view, &narrow), want); diff != "" {
				left := "nothing"
				if narrow.RowFilter != nil {
					left = storetest.FilterText(narrow.RowFilter)
				}
				t.Fatalf("seed %d: %s pushed down: %s\n%s is left of %+v", seed, storetest.FilterText(f), diff, left, narrow)
			}
		}
	}
	if copies == 0 || held == 0 {
		t.Errorf("%d trees made copies, %d held cells", copies, held)
	}
}

// limitRandomly sets what else a query selects and limits.
func limitRandomly(rnd *rand.Rand, q *widecol.Query) {
	for _, limit := range []*int64{&q.ColumnCellLimit, &q.RowCellLimit, &q.RowLimit} {
		if rnd.IntN(3) == 0 {
			*limit = rnd.Int64N(4)
		}
	}
	if rnd.IntN(3) == 0 {
		q.Filter, _ = widecol.ColumnsFilter("a:x", "b", "z:")
	}
	if rnd.IntN(3) == 0 {
		q.Times = widecol.TimeRange{Start: start - 10_000_000, End: start + 10_000_000}
	}
	if rnd.IntN(3) == 0 {
		q.Rows = widecol.NewRowSet(widecol.PrefixRange([]byte("a")), widecol.KeyRange([]byte("row1")), widecol.RowRange{Start: []byte("row2")})
	}
}

// cellsOf returns n cells of a row, three to a column.
func cellsOf(n int, value []byte) []cell.Cell {
	cells := make([]cell.Cell, n)
	for i := range cells {
		cells[i] = cell.Cell{Column: fmt.Appendf(nil, "f\x00q%04d", i/3), Value: value, Time: int64(9 - i%3), Type: cell.String}
	}
	return cells
}

func regex(op widecol.FilterOp, text string) *widecol.RowFilter {
	return &widecol.RowFilter{Op: op, Pattern: []byte(text)}
}

func chain(fs ...*widecol.RowFilter) *widecol.RowFilter {
	return &widecol.RowFilter{Op: widecol.Chain, Filters: fs}
}

func interleave(fs ...*widecol.RowFilter) *widecol.RowFilter {
	return &widecol.RowFilter{Op: widecol.Interleave, Filters: fs}
}

var (
	pass     = &widecol.RowFilter{Op: widecol.PassAll}
	block    = &widecol.RowFilter{Op: widecol.BlockAll}
	streamed = chain(
		regex(widecol.RowKeyRegex, `r.*`),
		&widecol.RowFilter{Op: widecol.RowSample, P: 0.999999},
		regex(widecol.FamilyRegex, `f|g`),
		regex(widecol.QualifierRegex, `q\d+`),
		regex(widecol.ValueRegex, `.*[a-z]\C*`),
		&widecol.RowFilter{Op: widecol.TimestampRange, Times: widecol.TimeRange{End: 100}},
		&widecol.RowFilter{Op: widecol.ColumnRange, Family: "f"},
		&widecol.RowFilter{Op: widecol.ValueRange, Start: widecol.Bound{Kind: widecol.Included, Value: []byte("a")}},
		&widecol.RowFilter{Op: widecol.RowOffset, N: 1},
		&widecol.RowFilter{Op: widecol.ColumnLimit, N: 2},
		&widecol.RowFilter{Op: widecol.ApplyLabel, Label: "x"},
		&widecol.RowFilter{Op: widecol.StripValue},
	)
)

func newEval(t testing.TB, f *widecol.RowFilter) *rowfilter.Eval {
	if err := f.Check(); err != nil {
		t.Fatal(err)
	}
	p, err := rowfilter.Compile(f)
	if err != nil {
		t.Fatal(err)
	}
	return p.NewEval(background, f)
}

// pushAll evaluates a row and returns how many cells come out.
func pushAll(e *rowfilter.Eval, key []byte, cells, room []cell.Cell) (n int) {
	e.BeginRow(key)
	for at := 0; at < len(cells); at += 100 {
		part := room[:copy(room, cells[at:min(at+100, len(cells))])]
		if !e.Push(part) {
			panic("too much to hold")
		}
		for out := e.Next(); len(out) > 0; out = e.Next() {
			n += len(out)
		}
	}
	e.EndRow()
	for out := e.Next(); len(out) > 0; out = e.Next() {
		n += len(out)
	}
	return n
}

func TestStreamsWithoutAllocations(t *testing.T) {
	cells, room, key := cellsOf(3000, []byte("value")), make([]cell.Cell, 100), []byte("row")
	for name, f := range map[string]*widecol.RowFilter{
		"one by one":      streamed,
		"with copies":     interleave(streamed, pass),
		"to a sink":       chain(interleave(pass, &widecol.RowFilter{Op: widecol.Sink}), streamed),
		"with conditions": {Op: widecol.Condition, If: regex(widecol.QualifierRegex, "q0001"), Then: streamed},
	} {
		e := newEval(t, f)
		if n := pushAll(e, key, cells, room); n < 1500 {
			t.Errorf("%s: %d cells come out", name, n)
		}
		if allocs := testing.AllocsPerRun(10, func() { pushAll(e, key, cells, room) }); allocs > 2 {
			t.Errorf("%s: %v allocations for a row of %d cells", name, allocs, len(cells))
		}
	}
}

func TestConditionHoldsOnlyWhatItNeeds(t *testing.T) {
	cells, room := cellsOf(3000, []byte("value")), make([]cell.Cell, 100)
	condition := func(predicate *widecol.RowFilter) *widecol.RowFilter {
		return &widecol.RowFilter{Op: widecol.Condition, If: predicate, Then: pass}
	}
	for _, tc := range []struct {
		name string
		f    *widecol.RowFilter
		held int // cells at most
		out  int
	}{
		{"the row key decides", condition(regex(widecol.RowKeyRegex, "row")), 0, 3000},
		{"the row key is no match", condition(regex(widecol.RowKeyRegex, "other")), 0, 0},
		{"the first cell decides", condition(pass), 0, 3000},
		{"the tenth column decides", condition(regex(widecol.QualifierRegex, "q0009")), 100, 3000},
		{"two decide", chain(condition(regex(widecol.QualifierRegex, "q0009")), condition(regex(widecol.QualifierRegex, "q0040"))), 200, 3000},
		{"the end of the row decides", condition(regex(widecol.QualifierRegex, "nothing")), 3000, 0},
		{"nothing gets there", chain(regex(widecol.RowKeyRegex, "other"), condition(regex(widecol.QualifierRegex, "nothing"))), 0, 0},
	} {
		e := newEval(t, tc.f)
		if n := pushAll(e, []byte("row"), cells, room); n != tc.out {
			t.Errorf("%s: %d cells come out, want %d", tc.name, n, tc.out)
		}
		if held := e.Held(); held > tc.held*100 {
			t.Errorf("%s: %d bytes are held, want those of at most %d cells", tc.name, held, tc.held)
		}
	}
}

func TestDone(t *testing.T) {
	limit := &widecol.RowFilter{Op: widecol.RowLimit, N: 2}
	sink := &widecol.RowFilter{Op: widecol.Sink}
	for _, tc := range []struct {
		name         string
		f            *widecol.RowFilter
		before, then bool // before the first cells and after them
	}{
		{"pass", pass, false, false},
		{"block", block, true, true},
		{"another row", regex(widecol.RowKeyRegex, "other"), true, true},
		{"limit", chain(pass, limit), false, true},
		{"limit behind a sink", chain(interleave(pass, sink), limit), false, false},
		{"limit before a sink", chain(limit, sink), false, true},
		{"one of two", interleave(limit, pass), false, false},
		{"both", interleave(limit, block), false, true},
		{"in a branch", &widecol.RowFilter{Op: widecol.Condition, If: pass, Then: limit}, false, true},
		{"no branch", &widecol.RowFilter{Op: widecol.Condition, If: block, Then: limit}, true, true},
	} {
		e := newEval(t, tc.f)
		e.BeginRow([]byte("row"))
		if got := e.Done(); got != tc.before {
			t.Errorf("%s: done at the start: %t, want %t", tc.name, got, tc.before)
		}
		e.Push(cellsOf(3, []byte("v")))
		for len(e.Next()) > 0 {
		}
		if got := e.Done(); got != tc.then {
			t.Errorf("%s: done after three cells: %t, want %t", tc.name, got, tc.then)
		}
	}
}

func TestReadsValues(t *testing.T) {
	strip, value := &widecol.RowFilter{Op: widecol.StripValue}, regex(widecol.ValueRegex, "a")
	for _, tc := range []struct {
		f              *widecol.RowFilter
		whole, leftOut bool
	}{
		{pass, true, false},
		{block, false, false},
		{strip, false, false},
		{value, true, true},
		{chain(pass, strip), false, false},
		{chain(value, strip), true, true},
		{interleave(pass, strip), true, false},
		{chain(interleave(pass, &widecol.RowFilter{Op: widecol.Sink}), strip), true, false},
		{&widecol.RowFilter{Op: widecol.Condition, If: pass, Then: strip}, false, false},
		{&widecol.RowFilter{Op: widecol.Condition, If: pass, Else: pass}, true, false},
		{&widecol.RowFilter{Op: widecol.Condition, If: value, Then: strip}, true, true},
	} {
		if got := rowfilter.ReadsValues(tc.f, false); got != tc.whole {
			t.Errorf("%s reads values: %t, want %t", storetest.FilterText(tc.f), got, tc.whole)
		}
		if got := rowfilter.ReadsValues(tc.f, true); got != tc.leftOut {
			t.Errorf("%s reads values that are left out: %t, want %t", storetest.FilterText(tc.f), got, tc.leftOut)
		}
	}
}

// TestHurtfulRegex matches what a matcher that goes back takes forever for.
func TestHurtfulRegex(t *testing.T) {
	long := strings.Repeat("a", 200_000)
	for _, pattern := range []string{`(a+)+b`, `(a|aa)+b`, `(.*a){20}b`, `((a*)*)*b`, `(?:a?){500}b`} {
		e := newEval(t, chain(pass, regex(widecol.ValueRegex, pattern)))
		if n := pushAll(e, []byte("row"), cellsOf(1, []byte(long)), make([]cell.Cell, 100)); n != 0 {
			t.Errorf("%s matches", pattern)
		}
	}
}

// countdown is a context that is done after it was asked some times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestCancelled(t *testing.T) {
	long := []byte(strings.Repeat("a", 1<<20))
	for name, f := range map[string]*widecol.RowFilter{
		"within a value": regex(widecol.ValueRegex, `(?:a?){500}b`),
		"within a row":   chain(regex(widecol.QualifierRegex, "nothing"), &widecol.RowFilter{Op: widecol.Condition, If: pass}),
		"in a predicate": {Op: widecol.Condition, If: regex(widecol.QualifierRegex, "nothing")},
	} {
		p, err := rowfilter.Compile(f)
		if err != nil {
			t.Fatal(err)
		}
		ctx := &countdown{background, 3}
		e := p.NewEval(ctx, f)
		value := []byte("v")
		if name == "within a value" {
			value = long
		}
		cells := cellsOf(99, value)
		room := make([]cell.Cell, 100)
		for i := 0; e.Err() == nil; i++ {
			if i == 100_000 {
				t.Fatalf("%s: it goes on", name)
			}
			pushAll(e, []byte("row"), cells, room)
		}
		if !errors.Is(e.Err(), context.Canceled) {
			t.Errorf("%s: %v", name, e.Err())
		}
	}
}

// TestCancelledSoon: however large an expression is, a match looks at the context every few million steps.
func TestCancelledSoon(t *testing.T) {
	const steps, looks, most = 16_000, 4, 4 << 20
	f := regex(widecol.ValueRegex, "(?:"+strings.Repeat("a?", 8)+"){1000}b")
	p, err := rowfilter.Compile(f)
	if err != nil {
		t.Fatal(err)
	}
	e := p.NewEval(&countdown{background, looks}, f)
	pushAll(e, []byte("row"), cellsOf(1, bytes.Repeat([]byte("a"), 1<<17)), make([]cell.Cell, 2))
	if n := e.ReadOfLong(); n == 0 || n*steps > looks*most {
		t.Errorf("%d looks for %d bytes of %d steps", looks, n, steps)
	}
}

func BenchmarkEval(b *testing.B) {
	for _, bc := range []struct {
		name string
		f    *widecol.RowFilter
	}{
		{"pass", pass},
		{"qualifier", regex(widecol.QualifierRegex, `q\d+`)},
		{"value", regex(widecol.ValueRegex, `.*[a-z]\C*`)},
		{"chain", streamed},
		{"interleave", interleave(chain(regex(widecol.QualifierRegex, "q00.*"), &widecol.RowFilter{Op: widecol.ApplyLabel, Label: "x"}), pass)},
		{"condition", &widecol.RowFilter{Op: widecol.Condition, If: regex(widecol.QualifierRegex, "q0001"), Then: pass}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			cells, room := cellsOf(3000, []byte("value")), make([]cell.Cell, 100)
			e := newEval(b, bc.f)
			b.ReportAllocs()
			for b.Loop() {
				pushAll(e, []byte("row"), cells, room)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/3000, "ns/cell")
		})
	}
}
