package lsmstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// adviceTable is a table t in a store of its own, with families that have values of the same length in each row.
type adviceTable struct {
	*testing.T
	store *lsmstore.Store
	fs    *vfs.Mem
	rows  int
}

// newAdviceTable creates the table. lengths are those of the values, by family; groups as in widecol.TableSpec.
func newAdviceTable(t *testing.T, rows int, lengths map[string]int, groups ...[]string) *adviceTable {
	a := &adviceTable{T: t, fs: vfs.NewMem(), rows: rows}
	a.open()
	t.Cleanup(func() { a.store.Close() })
	var spec widecol.TableSpec
	for name := range lengths {
		spec.Families = append(spec.Families, widecol.Family{Name: name})
	}
	spec.Groups = groups
	a.ok(a.store.CreateTable(t.Context(), "t", spec))
	r := rand.NewChaCha8([32]byte{1})
	for first := 0; first < rows; first += 500 {
		var ms []widecol.Mutation
		for i := first; i < min(first+500, rows); i++ {
			for name, length := range lengths {
				value := make([]byte, length)
				r.Read(value)
				ms = append(ms, widecol.Mutation{Row: fmt.Appendf(nil, "row%07d", i), Family: []byte(name), Qualifier: []byte("q"), Value: value, Type: cell.Bytes})
			}
		}
		_, err := a.store.Write(t.Context(), "t", ms, "")
		a.ok(err)
	}
	a.compact()
	return a
}

func (a *adviceTable) open() {
	a.Helper()
	s, err := lsmstore.Open(lsmstore.Options{Dir: "data", StepMoves: true, Engine: engine.Options{FS: a.fs, Clock: clock.System, ReserveBytes: -1}})
	a.ok(err)
	a.store = s
}

func (a *adviceTable) ok(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

// compact brings everything to files of the last level.
func (a *adviceTable) compact() {
	a.Helper()
	a.ok(a.store.Engine().Flush(a.Context()))
	for _, p := range a.store.Engine().Partitions() {
		a.ok(a.store.Engine().Compact(a.Context(), p.ID))
	}
}

// read reads rows from start up to end, nil for all, of families.
func (a *adviceTable) read(start, end []byte, families ...string) widecol.Stats {
	a.Helper()
	v, err := a.store.View(a.Context(), "t")
	a.ok(err)
	defer v.Close()
	q := widecol.NewQuery()
	q.Rows = widecol.RowSet{{Start: start, End: end}}
	q.Filter = widecol.Filter{Families: families, Columns: columnsOf(families)}
	rows, err := v.Scan(a.Context(), &q)
	a.ok(err)
	defer rows.Close()
	for rows.Next() {
	}
	a.ok(rows.Err())
	return rows.Stats()
}

func columnsOf(families []string) *cell.Columns {
	if families == nil {
		return nil
	}
	var ranges []cell.Range
	for _, f := range families {
		ranges = append(ranges, cell.FamilyRange([]byte(f)))
	}
	return cell.NewColumns(ranges...)
}

func (a *adviceTable) scan(times int, families ...string) {
	a.Helper()
	for range times {
		a.read(nil, nil, families...)
	}
}

// readRows reads single rows of families.
func (a *adviceTable) readRows(times int, families ...string) {
	a.Helper()
	for i := range times {
		row := fmt.Appendf(nil, "row%07d", i*7919%a.rows)
		a.read(row, append(slices.Clone(row), 0), families...)
	}
}

func (a *adviceTable) advice() widecol.Advice {
	a.Helper()
	advice, err := a.store.Advice(a.Context(), "t")
	a.ok(err)
	return advice
}

// wantMoves checks the moves, each as family>place, with the families of a group as its place.
func (a *adviceTable) wantMoves(want ...string) []widecol.AdvisedMove {
	a.Helper()
	advice := a.advice()
	table, err := a.store.Table(a.Context(), "t")
	a.ok(err)
	var got []string
	for _, m := range advice.Moves {
		place := m.Place
		for _, g := range table.Groups {
			if g.ID == m.Place {
				place = strings.Join(g.Families, "+")
			}
		}
		got = append(got, m.Family+">"+place)
	}
	if !slices.Equal(got, want) {
		a.Fatalf("the advice is %q, want %q: %+v", got, want, advice)
	}
	return advice.Moves
}

// follow makes the moves.
func (a *adviceTable) follow(moves []widecol.AdvisedMove) {
	a.Helper()
	for _, m := range moves {
		move(a.T, a.store, m.Family, m.Place)
		arrive(a.T, a.store)
	}
	a.compact()
}

func totalRead(a widecol.Advice) (bytes, partitions int64) {
	for _, q := range a.Queries {
		bytes += q.BytesRead
		partitions += q.Partitions
	}
	return bytes, partitions
}

// near reports whether got is within part of want.
func near(got, want int64, part float64) bool {
	return float64(got) >= float64(want)*(1-part) && float64(got) <= float64(want)*(1+part)
}

// TestAdviceIsTrue: what advice says that a move saves, the same queries save after it, in each of these tables.
func TestAdviceIsTrue(t *testing.T) {
	for _, c := range []struct {
		name    string
		rows    int
		lengths map[string]int
		groups  [][]string
		queries func(a *adviceTable)
		moves   []string
	}{
		{"scans of a thin family", 6000, map[string]int{"fat": 700, "thin": 20}, nil,
			func(a *adviceTable) { a.scan(5, "thin") }, []string{"thin>new"}},
		{"scans of the thinner of two alike", 20000, map[string]int{"fat": 60, "thin": 40}, nil,
			func(a *adviceTable) { a.scan(5, "thin") }, []string{"thin>new"}},
		{"scans of a thin family, rows of both", 6000, map[string]int{"fat": 700, "thin": 20}, nil,
			func(a *adviceTable) { a.scan(5, "thin"); a.readRows(50, "thin", "fat"); a.readRows(20) }, []string{"thin>new"}},
		{"rows of a thin family", 6000, map[string]int{"fat": 900, "thin": 20}, nil,
			func(a *adviceTable) { a.readRows(500, "thin") }, []string{"thin>new"}},
		{"scans of two, rows of one, beside a third", 5000, map[string]int{"a": 50, "b": 80, "c": 600}, [][]string{{"a", "b", "c"}},
			func(a *adviceTable) { a.scan(3, "a", "b"); a.readRows(100, "a") }, []string{"c>"}},
		{"halves of a table", 6000, map[string]int{"fat": 700, "thin": 20}, nil,
			func(a *adviceTable) {
				for range 8 {
					a.read([]byte("row0003000"), nil, "thin")
				}
			}, []string{"thin>new"}},
		{"one that is read with another lies with a third", 5000, map[string]int{"a": 100, "b": 100, "c": 500}, [][]string{{"a"}, {"b", "c"}},
			func(a *adviceTable) { a.scan(3, "a", "b"); a.readRows(1000, "a", "b"); a.scan(1, "c") }, []string{"b>a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAdviceTable(t, c.rows, c.lengths, c.groups...)
			c.queries(a)
			moves := a.wantMoves(c.moves...)
			said := moves[0].SavesBytes
			bytesBefore, partitionsBefore := totalRead(a.advice())
			a.follow(moves)
			c.queries(a)
			bytes, partitions := totalRead(a.advice())
			t.Logf("read %d bytes, then %d: %d less, said were %d", bytesBefore, bytes, bytesBefore-bytes, said)
			if saved := bytesBefore - bytes; !near(said, saved, .15) || saved <= 0 {
				t.Errorf("the move saves %d of %d bytes, said were %d", saved, bytesBefore, said)
			}
			if saved := partitionsBefore - partitions; saved != moves[0].SavesPartitions {
				t.Errorf("the move saves %d partitions, said were %d", saved, moves[0].SavesPartitions)
			}
			a.wantMoves()
		})
	}
}

// TestAdviceJoins: families that are always read together, row by row, should share a partition.
func TestAdviceJoins(t *testing.T) {
	a := newAdviceTable(t, 3000, map[string]int{"a": 30, "b": 40}, []string{"b"})
	a.wantMoves()
	a.readRows(300, "a", "b")
	moves := a.wantMoves("a>b")
	if m := moves[0]; m.SavesPartitions != 300 || m.SavesBytes != 0 {
		t.Errorf("it saves %+v", m)
	}
	a.follow(moves)
	a.wantMoves()
	a.readRows(300, "a", "b")
	a.wantMoves()
	if _, partitions := totalRead(a.advice()); partitions != 300 {
		t.Errorf("300 rows of two families in one partition open %d", partitions)
	}
}

// TestNoAdvice: tables that are well as they are.
func TestNoAdvice(t *testing.T) {
	a := newAdviceTable(t, 3000, map[string]int{"a": 30, "b": 400}, []string{"b"})
	a.scan(5, "a")
	a.scan(5, "b")
	a.readRows(20, "a", "b")
	a.wantMoves()

	// Values of a kilobyte lie apart from those of other families: a scan of these does not read them.
	a = newAdviceTable(t, 1500, map[string]int{"a": 600, "b": 5000})
	a.scan(5, "a")
	a.wantMoves()
	if q := a.advice().Queries; len(q) != 1 || q[0].BytesRead > 5*1500*700 || q[0].BytesOver > q[0].BytesRead/10 {
		t.Errorf("the queries are %+v", q)
	}
}

// TestAdviceEvidence: the queries are counted by what they could select from, each once, since the grouping is what it
// is; and families are measured.
func TestAdviceEvidence(t *testing.T) {
	a := newAdviceTable(t, 4000, map[string]int{"a": 100, "b": 300, "c": 2000}, []string{"c"})
	before := a.advice()
	if before.Queries != nil || before.Moves != nil || before.Others != 0 {
		t.Errorf("without queries the advice is %+v", before)
	}
	for i, want := range []struct {
		place string
		bytes int64
	}{{"", 400_000}, {"", 1_200_000}, {groupOf(t, a.store, "c"), 8_000_000}} {
		if f := before.Families[i]; f.Family != string(rune('a'+i)) || f.Place != want.place || !near(f.Bytes, want.bytes+4000*28, .15) {
			t.Errorf("a family is %+v, want about %+v", f, want)
		}
	}
	a.scan(3, "a")
	a.readRows(10)
	a.readRows(7, "b", "c")
	v, err := a.store.View(t.Context(), "t")
	a.ok(err)
	q := widecol.NewQuery()
	q.Rows = nil
	for i := range 2 { // one query, which looks for two ranges
		row := fmt.Appendf(nil, "row%07d", 11*i)
		q.Rows = append(q.Rows, widecol.RowRange{Start: row, End: append(slices.Clone(row), 0)})
	}
	q.RowFilter = &widecol.RowFilter{Op: widecol.FamilyRegex, Pattern: []byte("b")}
	rows, err := v.Scan(t.Context(), &q)
	a.ok(err)
	for rows.Next() {
	}
	a.ok(rows.Err())
	rows.Close()
	rows.Close()
	v.Close()
	got := a.advice()
	for i, want := range []widecol.QueryCosts{
		{Families: []string{"a"}, Queries: 3, Partitions: 3, BytesRead: 3 * 4000 * 415, BytesOver: 3 * 4000 * 307},
		{Families: []string{"a", "b", "c"}, Queries: 10, Partitions: 20, BytesRead: 10 * 2450},
		{Families: []string{"b", "c"}, Queries: 7, Partitions: 14, BytesRead: 7 * 2450, BytesOver: 7 * 107},
		{Families: []string{"b"}, Queries: 1, Partitions: 2, BytesRead: 2 * 450, BytesOver: 2 * 107},
	} {
		if i >= len(got.Queries) {
			t.Fatalf("the queries are %+v", got.Queries)
		}
		q := got.Queries[i]
		if !slices.Equal(q.Families, want.Families) || q.Queries != want.Queries || q.Partitions != want.Partitions ||
			!near(q.BytesRead, want.BytesRead, .15) || !near(q.BytesOver, want.BytesOver, .25) {
			t.Errorf("queries are %+v, want about %+v", q, want)
		}
	}
	if len(got.Queries) != 4 || got.Since != before.Since {
		t.Errorf("the queries are %+v, since %d, before %d", got.Queries, got.Since, before.Since)
	}

	a.ok(a.store.AlterFamily(t.Context(), "t", "a", widecol.ChangeGC(widecol.GC{VersionLimit: 3})))
	if again := a.advice(); len(again.Queries) != 4 || again.Since != before.Since {
		t.Errorf("after a change of settings the queries are %+v", again.Queries)
	}
	move(t, a.store, "a", widecol.NewGroup)
	a.scan(3, "a")
	if moving := a.advice(); moving.Moves != nil || len(moving.Queries) != 1 || moving.Since <= before.Since {
		t.Errorf("while a family moves the advice is %+v", moving)
	}
	arrive(t, a.store)
	if moved := a.advice(); moved.Queries != nil {
		t.Errorf("after a move the queries are %+v", moved.Queries)
	}
	a.scan(3, "a")
	a.ok(a.store.Close())
	a.open()
	if again := a.advice(); again.Queries != nil || again.Since <= before.Since {
		t.Errorf("after a restart the queries are %+v, since %d", again.Queries, again.Since)
	}
}

// TestAdviceBound: more sets of families than there is room for are counted together, and a set that is asked for
// often gets a place among them.
func TestAdviceBound(t *testing.T) {
	lengths := make(map[string]int)
	for i := range 10 {
		lengths[string(rune('a'+i))] = 5
	}
	a := newAdviceTable(t, 2, lengths)
	queries := int64(0)
	for set := 1; set < 1000; set++ {
		var families []string
		for i := range 10 {
			if set>>i&1 != 0 {
				families = append(families, string(rune('a'+i)))
			}
		}
		a.readRows(1+set%2, families...)
		queries += int64(1 + set%2)
	}
	a.readRows(200, "b", "d", "f", "g", "h", "i", "j")
	queries += 200
	got := a.advice()
	counted := got.Others
	often := false
	for _, q := range got.Queries {
		counted += q.Queries
		often = often || q.Queries > 100
	}
	if len(got.Queries) > 64 || len(got.Queries) < 60 || counted != queries || !often {
		t.Errorf("%d sets and %d other queries of %d, of %d in all; the frequent one is there: %v", len(got.Queries), got.Others, counted, queries, often)
	}
}

// TestAdviceOfManyFamilies: a table with more families than are counted works as any, and gets no advice.
func TestAdviceOfManyFamilies(t *testing.T) {
	lengths := make(map[string]int)
	for i := range 257 {
		lengths[fmt.Sprintf("f%03d", i)] = 3
	}
	a := newAdviceTable(t, 2, lengths, []string{"f000"})
	if got := a.read(nil, nil, "f000", "f256"); got.Cells != 4 || got.Partitions != 2 {
		t.Errorf("a scan of two of them: %+v", got)
	}
	if got := a.advice(); len(got.Families) != 257 || got.Queries != nil || got.Moves != nil {
		t.Errorf("the advice has %d families, %+v, %+v", len(got.Families), got.Queries, got.Moves)
	}
	a.ok(a.store.DropFamily(t.Context(), "t", "f100"))
	if got := a.read(nil, nil, "f000", "f255"); got.Cells != 4 || got.Partitions != 2 {
		t.Errorf("a scan of two of 256: %+v", got)
	}
	if got := a.advice(); len(got.Queries) != 1 || !slices.Equal(got.Queries[0].Families, []string{"f000", "f255"}) {
		t.Errorf("the queries are %+v", got.Queries)
	}
}

// TestAdviceInParallel: queries, advice and changes of the schema at the same time lose no query that ended since.
func TestAdviceInParallel(t *testing.T) {
	a := newAdviceTable(t, 50, map[string]int{"a": 5, "b": 5, "c": 5}, []string{"c"})
	sets := [][]string{{"a"}, {"b"}, {"a", "c"}, nil}
	var readers sync.WaitGroup
	for g := range 4 {
		readers.Go(func() { a.readRows(300, sets[g]...) })
	}
	for i := range 10 {
		if _, err := a.store.Advice(context.Background(), "t"); err != nil {
			t.Error(err)
		}
		if err := a.store.AlterFamily(context.Background(), "t", "a", widecol.ChangeGC(widecol.GC{VersionLimit: int64(1 + i)})); err != nil {
			t.Error(err)
		}
	}
	readers.Wait()
	for _, q := range a.advice().Queries {
		if q.Queries != 300 {
			t.Errorf("%+v, want 300 queries", q)
		}
	}
	if n := len(a.advice().Queries); n != 4 {
		t.Errorf("%d sets of families, want 4", n)
	}
}
