package colonnade_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// open opens a directory with a table t of the families a, b and c, the last one in a locality group.
func open(t testing.TB) (*colonnade.DB, *colonnade.Table) {
	return openIn(t, filepath.Join(t.TempDir(), "data"))
}

func openIn(t testing.TB, dir string) (*colonnade.DB, *colonnade.Table) {
	db, err := colonnade.Open(dir, nil)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	must(t, db.CreateTable(t.Context(), "t", colonnade.TableSpec{
		Families: []colonnade.Family{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Groups: [][]string{{"c"}},
	}))
	return db, db.Table("t")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, table *colonnade.Table, m ...colonnade.Mutation) int64 {
	t.Helper()
	time, err := table.Write(t.Context(), m...)
	must(t, err)
	return time
}

// text returns what a query returns, as "row family:qualifier@time=value …", rows on lines.
func text(t testing.TB, scan func(func(*colonnade.Row, error) bool)) string {
	t.Helper()
	var b strings.Builder
	for row, err := range scan {
		must(t, err)
		fmt.Fprintf(&b, "%s", row.Key())
		for c, err := range row.Cells() {
			must(t, err)
			fmt.Fprintf(&b, " %s:%s", c.Family(), c.Qualifier())
			if c.Time() < 1_000_000 {
				fmt.Fprintf(&b, "@%d", c.Time())
			}
			fmt.Fprintf(&b, "=%v", c.Value())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func want(t testing.TB, what, got, wanted string) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: got\n%s\nwant\n%s", what, got, wanted)
	}
}

func s(text string) colonnade.Value { return colonnade.String(text) }

func TestQueries(t *testing.T) {
	_, table := open(t)
	var ms []colonnade.Mutation
	for _, row := range []string{"x", "y1", "y2", "z"} {
		ms = append(ms,
			colonnade.Set(row, "a", "q", s("new")).At(2), colonnade.Set(row, "a", "q", s("old")).At(1),
			colonnade.Set(row, "a", "", s("empty")).At(1), colonnade.Set(row, "c", "r", colonnade.I64(7)).At(3))
	}
	write(t, table, ms...)
	const whole = " a:@1=empty a:q@2=new a:q@1=old c:r@3=7\n"
	for _, test := range []struct {
		name string
		q    colonnade.Query
		want string
	}{
		{"all", colonnade.Query{}, "x" + whole + "y1" + whole + "y2" + whole + "z" + whole},
		{"prefix", colonnade.Query{Rows: colonnade.Prefix("y")}, "y1" + whole + "y2" + whole},
		{"range", colonnade.Query{Rows: colonnade.Range("y1", "z")}, "y1" + whole + "y2" + whole},
		{"open range", colonnade.Query{Rows: colonnade.Range("y1\x00", "")}, "y2" + whole + "z" + whole},
		{"empty range", colonnade.Query{Rows: colonnade.Range("z", "y")}, ""},
		{"keys", colonnade.Query{Rows: colonnade.Keys("z", "none", "x")}, "x" + whole + "z" + whole},
		{"no keys", colonnade.Query{Rows: colonnade.Keys()}, ""},
		{"reverse, limit", colonnade.Query{Reverse: true, Limit: colonnade.Limit{Rows: 2, CellsPerRow: 1}}, "z a:@1=empty\ny2 a:@1=empty\n"},
		{"versions", colonnade.Query{Rows: colonnade.Keys("x"), Columns: colonnade.Columns("a:q"), Limit: colonnade.Limit{CellsPerColumn: 1}}, "x a:q@2=new\n"},
		{"family", colonnade.Query{Rows: colonnade.Keys("x"), Columns: colonnade.Columns("c")}, "x c:r@3=7\n"},
		{"column prefix", colonnade.Query{Rows: colonnade.Keys("x"), Columns: colonnade.ColumnPrefix("a:q")}, "x a:q@2=new a:q@1=old\n"},
		{"times", colonnade.Query{Rows: colonnade.Keys("x"), Times: colonnade.Times{Start: 2}}, "x a:q@2=new c:r@3=7\n"},
		{"times with an end", colonnade.Query{Rows: colonnade.Keys("x"), Times: colonnade.Times{End: 2}}, "x a:@1=empty a:q@1=old\n"},
	} {
		want(t, test.name, text(t, table.Scan(t.Context(), test.q)), test.want)
	}
	cells, err := table.Row(t.Context(), "y1", colonnade.Query{Columns: colonnade.Columns("a", "c:r")})
	must(t, err)
	if newest, ok := cells.Find("a", "q"); len(cells) != 4 || !ok || newest.Value().String() != "new" {
		t.Errorf("Row: %d cells, newest %v %v", len(cells), newest, ok)
	}
	if _, ok := cells.Find("a", "none"); ok {
		t.Error("Find has found a column that is not there")
	}
	c, ok, err := table.Get(t.Context(), "x", "a", "") // not all of the family
	if err != nil || !ok || c.Value().String() != "empty" {
		t.Errorf("Get: %v %v %v", c, ok, err)
	}
	if _, ok, err = table.Get(t.Context(), "x", "b", ""); ok || err != nil {
		t.Errorf("Get of nothing: %v %v", ok, err)
	}
	var stats colonnade.Stats
	for range table.Scan(t.Context(), colonnade.Query{Columns: colonnade.Columns("c"), Stats: &stats}) {
	}
	if stats.Rows != 4 || stats.CellsScanned != 4 || stats.Partitions != 1 {
		t.Errorf("scan of a locality group: %+v", stats)
	}
	for row, err := range table.Scan(t.Context(), colonnade.Query{Rows: colonnade.Keys("x"), Columns: colonnade.Columns("c"), KeysOnly: true}) {
		must(t, err)
		for c, err := range row.Cells() {
			if must(t, err); c.Value().String() != "" || c.Value().Type() != "i64" {
				t.Errorf("KeysOnly: %q of type %s", c.Value(), c.Value().Type())
			}
		}
	}
}

func TestMutations(t *testing.T) {
	_, table := open(t)
	fill := func() {
		for i := range int64(3) {
			write(t, table, colonnade.Set("r", "a", "q", colonnade.I64(i)).At(i), colonnade.Set("r", "b", "q", colonnade.I64(i)).At(i))
		}
	}
	for _, test := range []struct {
		name string
		m    []colonnade.Mutation
		want string
	}{
		{"column", []colonnade.Mutation{colonnade.DeleteColumn("r", "a", "q")}, "r b:q@2=2 b:q@1=1 b:q@0=0\n"},
		{"versions", []colonnade.Mutation{colonnade.DeleteVersions("r", "a", "q", colonnade.Times{Start: 1, End: 2})}, "r a:q@2=2 a:q@0=0 b:q@2=2 b:q@1=1 b:q@0=0\n"},
		{"family", []colonnade.Mutation{colonnade.DeleteFamily("r", "b")}, "r a:q@2=2 a:q@1=1 a:q@0=0\n"},
		{"row", []colonnade.Mutation{colonnade.DeleteRow("r")}, ""},
		{"order", []colonnade.Mutation{colonnade.DeleteRow("r"), colonnade.Set("r", "a", "", s("x")).At(5)}, "r a:@5=x\n"},
	} {
		fill()
		write(t, table, test.m...)
		want(t, test.name, text(t, table.Scan(t.Context(), colonnade.Query{})), test.want)
		must(t, table.DeleteRows(t.Context(), colonnade.Prefix("")))
	}
	first := write(t, table, colonnade.Set("r", "a", "", s("x")))
	if second := write(t, table, colonnade.Set("r", "a", "", s("x"))); second <= first || first < 1_700_000_000_000_000 {
		t.Errorf("commits at %d and %d", first, second)
	}
}

func TestValuesKeepTypeAndBits(t *testing.T) {
	_, table := open(t)
	for i, v := range []colonnade.Value{
		s("päper"), s(""), colonnade.Bytes([]byte{0, 255}), colonnade.I64(math.MinInt64), colonnade.I32(math.MinInt32), colonnade.Byte(255),
		colonnade.F64(math.SmallestNonzeroFloat64), colonnade.F32(0.1), colonnade.Bool(true), colonnade.Bool(false),
	} {
		row := fmt.Sprint(i)
		write(t, table, colonnade.Set(row, "a", "", v))
		c, ok, err := table.Get(t.Context(), row, "a", "")
		if must(t, err); !ok || c.Value().String() != v.String() || c.Value().Type() != v.Type() {
			t.Errorf("%s %q came back as %s %q", v.Type(), v, c.Value().Type(), c.Value())
		}
	}
}

func TestConditions(t *testing.T) {
	_, table := open(t)
	write(t, table, colonnade.Set("r", "a", "q", s("old")).At(1), colonnade.Set("r", "a", "q", s("new")).At(2))
	for _, test := range []struct {
		name string
		row  string
		c    colonnade.Condition
		want bool
	}{
		{"row", "r", colonnade.RowExists(), true},
		{"zero", "r", colonnade.Condition{}, true},
		{"no row", "s", colonnade.RowExists(), false},
		{"column", "r", colonnade.ColumnExists("a", "q"), true},
		{"other qualifier", "r", colonnade.ColumnExists("a", ""), false},
		{"value", "r", colonnade.ColumnEquals("a", "q", s("new")), true},
		{"older value", "r", colonnade.ColumnEquals("a", "q", s("old")), false},
		{"longer value", "r", colonnade.ColumnEquals("a", "q", s("new!")), false},
	} {
		met, err := table.CheckAndMutate(t.Context(), colonnade.Check{Row: test.row, If: test.c,
			Then: []colonnade.Mutation{colonnade.Set(test.row, "b", "", s("then")).At(1)},
			Else: []colonnade.Mutation{colonnade.Set(test.row, "b", "", s("else")).At(1)}})
		if must(t, err); met != test.want {
			t.Errorf("%s: met %v, want %v", test.name, met, test.want)
		}
		c, _, err := table.Get(t.Context(), test.row, "b", "")
		must(t, err)
		want(t, test.name, c.Value().String(), map[bool]string{true: "then", false: "else"}[test.want])
		write(t, table, colonnade.DeleteFamily(test.row, "b"))
	}
}

// TestIncrements: of increments that run at the same time none is lost.
func TestIncrements(t *testing.T) {
	_, table := open(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 25 {
				if _, err := table.Increment(t.Context(), "r", "a", "n", 2); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	sum, err := table.Increment(t.Context(), "r", "a", "n", -1)
	if err != nil || sum != 199 {
		t.Errorf("sum %d, %v, want 199", sum, err)
	}
}

// TestSnapshots: a snapshot stays as it is, and reads may be nested and in several goroutines.
func TestSnapshots(t *testing.T) {
	_, table := open(t)
	const rows = 2000
	var ms []colonnade.Mutation
	for i := range rows {
		ms = append(ms, colonnade.Set(fmt.Sprintf("%04d", i), "a", "next", s(fmt.Sprintf("%04d", (i+1)%rows))), colonnade.Set(fmt.Sprintf("%04d", i), "c", "", s("v")))
	}
	write(t, table, ms...)
	snap, err := table.Snapshot(t.Context())
	must(t, err)
	defer snap.Close()
	must(t, table.DeleteRows(t.Context(), colonnade.Prefix("0")))
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			n := 0
			for row, err := range snap.Scan(t.Context(), colonnade.Query{Columns: colonnade.Columns("a")}) {
				if err != nil {
					t.Error(err)
					return
				}
				n++
				for c, err := range row.Cells() {
					if err != nil {
						t.Error(err)
						return
					}
					next, ok, err := snap.Get(t.Context(), c.Value().String(), "c", "")
					if err != nil || !ok || next.Value().String() != "v" {
						t.Errorf("nested read of %s: %v %v", c.Value(), ok, err)
						return
					}
				}
			}
			if n != rows {
				t.Errorf("%d rows, want %d", n, rows)
			}
		})
	}
	all.Wait()
	n := 0
	for range table.Scan(t.Context(), colonnade.Query{}) {
		n++
	}
	if n != rows-1000 {
		t.Errorf("the table has %d rows, want %d", n, rows-1000)
	}
}

// TestLoopsThatEndEarly: whatever way a loop is left, the scan is closed: Close of the DB waits for it otherwise.
func TestLoopsThatEndEarly(t *testing.T) {
	_, table := open(t)
	big := strings.Repeat("x", 100_000)
	for i := range 20 { // a row of several chunks
		write(t, table, colonnade.Set("r", "a", fmt.Sprint(i), s(big)))
	}
	write(t, table, colonnade.Set("s", "a", "", s("small")))
	scan := func() func(func(*colonnade.Row, error) bool) { return table.Scan(t.Context(), colonnade.Query{}) }
	for range scan() {
		break
	}
	for row := range scan() {
		for range row.Cells() {
			break
		}
		break
	}
	func() {
		defer func() { _ = recover() }()
		for range scan() {
			panic("left")
		}
	}()
	var keys []string
	for row := range scan() { // a row that is not read to its end is skipped
		for range row.Cells() {
			break
		}
		for range row.Cells() {
			t.Error("a second loop over the cells has some")
		}
		keys = append(keys, string(row.Key()))
	}
	if !slices.Equal(keys, []string{"r", "s"}) {
		t.Errorf("rows %q", keys)
	}
	keys = nil
	for row := range scan() {
		cells := 0
		for range row.Cells() {
			cells++
		}
		keys = append(keys, fmt.Sprint(string(row.Key()), cells)) // the key outlives the cells
	}
	if !slices.Equal(keys, []string{"r20", "s1"}) {
		t.Errorf("rows with cells %q", keys)
	}
}

func TestErrors(t *testing.T) {
	db, table := open(t)
	ctx := t.Context()
	write(t, table, colonnade.Set("text", "a", "", s("x")))
	_, missing := db.Table("none").Write(ctx, colonnade.Set("r", "a", "", s("x")))
	_, noFamily := table.Write(ctx, colonnade.Set("r", "a", "", s("x")), colonnade.Set("r", "nope", "", s("x")))
	_, noKey := table.Write(ctx, colonnade.Set("", "a", "", s("x")))
	_, noValue := table.Write(ctx, colonnade.Set("r", "a", "", colonnade.Value{}))
	_, notUTF8 := table.Write(ctx, colonnade.Set("r", "a", "", s("\xff")))
	_, notFinite := table.Write(ctx, colonnade.Set("r", "a", "", colonnade.F64(math.NaN())))
	_, negative := table.Write(ctx, colonnade.Set("r", "a", "", s("x")).At(-1))
	_, timed := table.Write(ctx, colonnade.DeleteRow("r").At(1))
	_, nothing := table.Write(ctx)
	_, notANumber := table.Increment(ctx, "text", "a", "", 1)
	_, _, badFamily := table.Get(ctx, "r", "a b", "")
	_, badColumn := table.Row(ctx, "r", colonnade.Query{Columns: colonnade.Columns("a b:")})
	_, badLimit := table.Row(ctx, "r", colonnade.Query{Limit: colonnade.Limit{CellsPerRow: -1}})
	_, otherRow := table.CheckAndMutate(ctx, colonnade.Check{Row: "r", Then: []colonnade.Mutation{colonnade.DeleteRow("s")}})
	_, badCheck := table.CheckAndMutate(ctx, colonnade.Check{Row: "r", If: colonnade.ColumnExists("", ""), Then: []colonnade.Mutation{colonnade.DeleteRow("r")}})
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, gone := table.Row(cancelled, "text", colonnade.Query{})
	for _, test := range []struct {
		name string
		err  error
		kind error
		text string
	}{
		{"no table", missing, colonnade.ErrNotFound, `table "none" does not exist`},
		{"no family", noFamily, colonnade.ErrNotFound, `item 1: table "t" has no column family "nope"`},
		{"no key", noKey, colonnade.ErrInvalid, "row key has 0 bytes"},
		{"no value", noValue, colonnade.ErrInvalid, "no type"},
		{"not UTF-8", notUTF8, colonnade.ErrInvalid, "write it as Bytes"},
		{"not finite", notFinite, colonnade.ErrInvalid, "NaN is not a finite number"},
		{"negative time", negative, colonnade.ErrInvalid, "time -1"},
		{"time of a deletion", timed, colonnade.ErrInvalid, "only a Set has a time"},
		{"nothing", nothing, colonnade.ErrInvalid, "at least one"},
		{"not a number", notANumber, colonnade.ErrConflict, "increment needs i64"},
		{"family name", badFamily, colonnade.ErrInvalid, "a b"},
		{"column key", badColumn, colonnade.ErrInvalid, "a b"},
		{"limit", badLimit, colonnade.ErrInvalid, "below 0"},
		{"other row", otherRow, colonnade.ErrInvalid, "one row only"},
		{"condition", badCheck, colonnade.ErrInvalid, "column family name"},
		{"rows", table.DeleteRows(ctx, colonnade.RowSet{}), colonnade.ErrInvalid, `Prefix("")`},
		{"exists", db.CreateTable(ctx, "t", colonnade.TableSpec{}), colonnade.ErrExists, "exists already"},
		{"TTL", table.SetGC(ctx, "a", colonnade.GC{TTL: time.Millisecond}), colonnade.ErrInvalid, "whole seconds"},
		{"family exists", table.CreateFamilies(ctx, false, colonnade.Family{Name: "a"}), colonnade.ErrExists, "already"},
		{"no group", table.MoveFamily(ctx, "a", "none"), colonnade.ErrNotFound, "none"},
		{"context", gone, context.Canceled, "canceled"},
	} {
		if !errors.Is(test.err, test.kind) || !strings.Contains(fmt.Sprint(test.err), test.text) {
			t.Errorf("%s: error %v, want %v with %q", test.name, test.err, test.kind, test.text)
		}
		var e *colonnade.Error
		if test.kind != context.Canceled && (!errors.As(test.err, &e) || e.Code == "") {
			t.Errorf("%s: %T has no code", test.name, test.err)
		}
	}
	want(t, "what bad writes have left", text(t, table.Scan(ctx, colonnade.Query{Columns: colonnade.Columns("a"), KeysOnly: true})), "text a:=\n")
}

func TestTables(t *testing.T) {
	db, table := open(t)
	ctx := t.Context()
	must(t, table.CreateFamilies(ctx, true, colonnade.Family{Name: "d", GC: colonnade.GC{VersionLimit: 1}}))
	must(t, table.SetGC(ctx, "a", colonnade.GC{TTL: time.Hour, VersionLimit: 2, Intersection: true}))
	must(t, table.DropFamily(ctx, "b"))
	write(t, table, colonnade.Set("r", "d", "", s("old")), colonnade.Set("r", "c", "", s("c")))
	write(t, table, colonnade.Set("r", "d", "", s("new")))
	want(t, "garbage", text(t, table.Scan(ctx, colonnade.Query{})), "r c:=c d:=new\n")
	info, err := table.Info(ctx)
	must(t, err)
	if len(info.Groups) != 2 || len(info.Families) != 3 || info.Families[0].GC != (colonnade.GC{TTL: time.Hour, VersionLimit: 2, Intersection: true}) {
		t.Errorf("info %+v", info)
	}
	must(t, table.MoveFamily(ctx, "d", ""))
	want(t, "after a move", text(t, table.Scan(ctx, colonnade.Query{})), "r c:=c d:=new\n")
	must(t, db.CreateTable(ctx, "a", colonnade.TableSpec{}))
	must(t, db.DropTable(ctx, "t"))
	list, err := db.Tables(ctx)
	if err != nil || len(list) != 1 || list[0].Name != "a" {
		t.Errorf("tables %+v, %v", list, err)
	}
}

// TestOneDirectory: what was written is there after another Open, and two at once are refused.
func TestOneDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	db, err := colonnade.Open(dir, &colonnade.Options{CacheBytes: 8 << 20, MemtableBytes: 8 << 20})
	must(t, err)
	must(t, db.CreateTable(t.Context(), "t", colonnade.TableSpec{Families: []colonnade.Family{{Name: "a"}}}))
	write(t, db.Table("t"), colonnade.Set("r", "a", "", s("kept")))
	_, err = colonnade.Open(dir, nil)
	if !errors.Is(err, colonnade.ErrInUse) || !strings.Contains(err.Error(), dir+" is open already, in this process") {
		t.Errorf("a second open: %v", err)
	}
	must(t, db.Close())
	if _, err := db.Table("t").Write(t.Context(), colonnade.DeleteRow("r")); !errors.Is(err, colonnade.ErrClosed) {
		t.Errorf("a write after Close: %v", err)
	}
	if err := db.Close(); !errors.Is(err, colonnade.ErrClosed) {
		t.Errorf("a second Close: %v", err)
	}
	db, err = colonnade.Open(dir, nil)
	must(t, err)
	want(t, "after another open", text(t, db.Table("t").Scan(t.Context(), colonnade.Query{})), "r a:=kept\n")
	must(t, db.Close())
}

// TestDamage: damage is an error of its kind, never a shorter result.
func TestDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	db, err := colonnade.Open(dir, nil)
	must(t, err)
	must(t, db.CreateTable(t.Context(), "t", colonnade.TableSpec{Families: []colonnade.Family{{Name: "a"}}}))
	write(t, db.Table("t"), colonnade.Set("r", "a", "", s(strings.Repeat("kept", 1000))))
	must(t, db.Close())
	var damaged int
	must(t, filepath.WalkDir(filepath.Join(dir, "partitions"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(data), "kept") {
			return err
		}
		damaged++
		data[strings.Index(string(data), "kept")]++
		return os.WriteFile(name, data, 0o600)
	}))
	if damaged == 0 {
		t.Fatal("no file has the value")
	}
	db, err = colonnade.Open(dir, nil)
	must(t, err)
	defer db.Close()
	if _, err := db.Table("t").Row(t.Context(), "r", colonnade.Query{}); !errors.Is(err, colonnade.ErrCorrupt) {
		t.Errorf("read of a damaged row: %v", err)
	}
}

func TestCheckpoint(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	db, table := openIn(t, data)
	ctx := t.Context()
	must(t, db.CreateTable(ctx, "other", colonnade.TableSpec{Families: []colonnade.Family{{Name: "a"}}}))
	write(t, table, colonnade.Set("r", "a", "", s("then")), colonnade.Set("r", "c", "", s("too")))
	parent := t.TempDir()
	all, one := filepath.Join(parent, "all"), filepath.Join(parent, "one")
	must(t, db.Checkpoint(ctx, all+"/"))
	must(t, db.Checkpoint(ctx, one, "t"))
	write(t, table, colonnade.DeleteRow("r"))
	if err := db.Checkpoint(ctx, all); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a directory that is there: %v", err)
	}
	if err := db.Checkpoint(ctx, filepath.Join(parent, "x"), "none"); !errors.Is(err, colonnade.ErrNotFound) {
		t.Errorf("of no table: %v", err)
	}
	for dir, tables := range map[string]int{all: 2, one: 1} {
		copied, err := colonnade.Open(dir, nil) // while the first one is open
		must(t, err)
		want(t, dir, text(t, copied.Table("t").Scan(ctx, colonnade.Query{})), "r a:=then c:=too\n")
		list, err := copied.Tables(ctx)
		if err != nil || len(list) != tables {
			t.Errorf("%s has %d tables, %v, want %d", dir, len(list), err, tables)
		}
		write(t, copied.Table("t"), colonnade.Set("s", "a", "", s("its own")))
		must(t, copied.Close())
	}
	if a, b := timeline(t, all), timeline(t, one); a == b { // the log of each goes a way of its own
		t.Errorf("both copies have the timeline %d", a)
	}
	if inner, err := os.ReadDir(filepath.Join(data, "checkpoints")); err != nil || len(inner) != 0 {
		t.Errorf("%v is left in the directory of the store, %v", inner, err)
	}
	left, err := os.ReadDir(parent)
	if err != nil || len(left) != 2 {
		t.Errorf("%v is left, %v", left, err)
	}
	want(t, "the first one", text(t, table.Scan(ctx, colonnade.Query{})), "")
}

func timeline(t *testing.T, dir string) uint64 {
	store, err := lsmstore.Open(lsmstore.Options{Dir: filepath.ToSlash(dir), Engine: engine.Options{FS: vfs.OS, Clock: clock.System}})
	must(t, err)
	defer store.Close()
	return store.Engine().Timeline()
}

// TestScansDoNotAllocate: neither by cell nor by row. What the store does in the background allocates now and then, so
// the least of several runs counts.
func TestScansDoNotAllocate(t *testing.T) {
	_, table := open(t)
	of := func(rows, cells int) float64 {
		must(t, table.DeleteRows(t.Context(), colonnade.Prefix("")))
		var ms []colonnade.Mutation
		for r := range rows {
			for c := range cells {
				ms = append(ms, colonnade.Set(fmt.Sprintf("%06d", r), "a", fmt.Sprintf("%06d", c), colonnade.I64(int64(c))))
			}
		}
		write(t, table, ms...)
		sum := int64(0)
		scan := func() {
			for row, err := range table.Scan(t.Context(), colonnade.Query{}) {
				must(t, err)
				for c, err := range row.Cells() {
					must(t, err)
					n, _ := c.Value().Int()
					sum += n + int64(len(c.Family())+len(c.Qualifier()))
				}
			}
		}
		least := math.Inf(1)
		for range 20 {
			least = min(least, testing.AllocsPerRun(1, scan))
		}
		return least
	}
	few, rows, cells := of(10, 1), of(2000, 1), of(10, 200)
	if rows > few+500 || cells > few+500 { // one for each would be 2,000
		t.Errorf("%v allocations for 10 rows, %v for 2,000 rows, %v for 2,000 cells in 10 rows", few, rows, cells)
	}
}

// TestSnapshotClosedTwice: the second Close does nothing, so that the one of the DB still waits for what is under way.
func TestSnapshotClosedTwice(t *testing.T) {
	_, table := openIn(t, filepath.Join(t.TempDir(), "data")) // and closed at the end
	snap, err := table.Snapshot(t.Context())
	must(t, err)
	snap.Close()
	snap.Close()
}
