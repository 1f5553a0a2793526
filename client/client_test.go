package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
)

func TestTablesAndFamilies(t *testing.T) {
	c := open(t, newServer(t), Options{})
	ctx := t.Context()
	table := c.Table("a#b.$")
	gc := GC{TTLSecs: 60, VersionLimit: 3, Intersection: true}
	for _, err := range []error{
		table.Create(ctx, TableSpec{Families: []Family{{Name: "f", GC: gc}, {Name: "g"}}, Groups: [][]string{{"g"}}}),
		c.Table("empty").Create(ctx, TableSpec{}),
		table.CreateFamilies(ctx, Family{Name: "h"}, Family{Name: "drop"}),
		table.CreateGroup(ctx, Family{Name: "i", GC: GC{VersionLimit: 1}}, Family{Name: "j"}),
		table.SetGC(ctx, "h", GC{TTLSecs: 5}),
		table.SetGC(ctx, "g", gc),
		table.SetGC(ctx, "g", GC{}),
		table.DropFamily(ctx, "drop"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	info, err := table.Describe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := []Family{{Name: "f", GC: gc}, {Name: "g"}, {Name: "h", GC: GC{TTLSecs: 5}}, {Name: "i", GC: GC{VersionLimit: 1}}, {Name: "j"}}
	if info.Name != "a#b.$" || !reflect.DeepEqual(info.Families, want) {
		t.Errorf("described as %+v, want families %+v", info, want)
	}
	if len(info.Groups) != 2 || !reflect.DeepEqual(info.Groups[0].Families, []string{"g"}) || !reflect.DeepEqual(info.Groups[1].Families, []string{"i", "j"}) || info.Groups[0].ID == "" {
		t.Errorf("groups %+v", info.Groups)
	}
	tables, err := c.Tables(ctx)
	if err != nil || len(tables) != 2 || tables[0].Name != "a#b.$" || tables[1].Name != "empty" || len(tables[0].Families) != 5 {
		t.Errorf("tables %+v, %v", tables, err)
	}
	if err := table.Drop(ctx); err != nil {
		t.Fatal(err)
	}
	if tables, err := c.Tables(ctx); err != nil || len(tables) != 1 {
		t.Errorf("after a drop: %+v, %v", tables, err)
	}
}

func TestConfigure(t *testing.T) {
	c := open(t, newServer(t), Options{})
	ctx := t.Context()
	table := c.Table("t")
	yes, no, gc := true, false, GC{VersionLimit: 2, TTLSecs: 9, Intersection: true}
	for _, e := range []error{
		table.Create(ctx, TableSpec{Families: []Family{{Name: "f"}}}),
		table.Configure(ctx, TableSettings{DeletionProtection: &yes}),
		table.Configure(ctx, TableSettings{DefaultGC: &gc}), // the other setting stays
	} {
		if e != nil {
			t.Fatal(e)
		}
	}
	if info, err := table.Describe(ctx); err != nil || !info.DeletionProtection || info.DefaultGC != gc {
		t.Errorf("%+v, %v", info, err)
	}
	if err := table.Drop(ctx); !errors.Is(err, ErrConflict) {
		t.Errorf("a protected table is dropped: %v", err)
	}
	if err := table.Configure(ctx, TableSettings{DeletionProtection: &no}); err != nil || table.Drop(ctx) != nil {
		t.Errorf("the protection stays: %v", err)
	}
	if err := table.Configure(ctx, TableSettings{DeletionProtection: &no}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a table that is not there: %v", err)
	}
}

func TestCountGarbage(t *testing.T) {
	c := open(t, newServer(t), Options{})
	table := webtable(t, c)
	for i := range 3 {
		for _, row := range []string{"a", "b"}[:1+i%2] {
			if err := table.Write(t.Context(), Row{Key: row, Cells: []Cell{{Family: "title", Value: String("xyz"), Time: At(int64(i))}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := table.CountGarbage(t.Context(), "title", GC{VersionLimit: 1})
	if err != nil || got.Rows != 1 || got.Cells != 2 || got.Bytes <= 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if n, err := table.Count(t.Context(), Query{}); err != nil || n.Cells != 4 {
		t.Errorf("%d cells are left, %v", n.Cells, err)
	}
}

func TestMoveFamily(t *testing.T) {
	c := open(t, newServer(t), Options{})
	ctx := t.Context()
	table := c.Table("t")
	if err := table.Create(ctx, TableSpec{Families: []Family{{Name: "f"}, {Name: "g"}}}); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{NewGroup, "", NewGroup} {
		if err := table.MoveFamily(ctx, "f", place); err != nil {
			t.Fatal(err)
		}
		info, err := table.Describe(ctx)
		if err != nil || place == "" && len(info.Groups) != 0 || place != "" && (len(info.Groups) != 1 || info.Groups[0].Families[0] != "f") {
			t.Errorf("moved to %q the groups are %+v, %v", place, info.Groups, err)
		}
	}
	if err := table.MoveFamily(ctx, "f", "nowhere"); !errors.Is(err, ErrNotFound) {
		t.Errorf("moved to a group that is not there: %v", err)
	}
	var f Family
	text := `{"name":"f","gc_settings":{"ttl_secs":null,"version_limit":null},"moving":{"locality_group":"x","from":null,"row_count":1,"cell_count":2,"bytes":3,"error":"e"}}`
	if err := json.Unmarshal([]byte(text), &f); err != nil || f.Moving == nil || *f.Moving != (Move{To: "x", Rows: 1, Cells: 2, Bytes: 3, Error: "e"}) {
		t.Errorf("%+v, %v", f.Moving, err)
	}
}

// values are values at the bounds of their types.
var values = []Value{
	String(""), String("a \"quoted\" \\ text,\n\x00\x1f\x7f\u2028 ü 🏛 \ufffd"),
	Bytes(nil), Bytes([]byte{0, 1, 0xff, 0xfe}),
	I64(math.MinInt64), I64(math.MaxInt64), I64(9007199254740993), I64(0),
	I32(math.MinInt32), I32(math.MaxInt32), Byte(0), Byte(255), Bool(true), Bool(false),
	F64(0), F64(math.Copysign(0, -1)), F64(0.1), F64(1), F64(1e21), F64(math.MaxFloat64), F64(math.SmallestNonzeroFloat64), F64(-9007199254740992),
	F32(0), F32(float32(math.Copysign(0, -1))), F32(0.1), F32(math.MaxFloat32), F32(math.SmallestNonzeroFloat32), F32(16777216),
}

// TestCellsAreLossless: what is written is read again, by scan and by key, for every compression.
func TestCellsAreLossless(t *testing.T) {
	for _, compression := range []Compression{Zstd, Gzip, Uncompressed} {
		table := webtable(t, open(t, newServer(t), Options{Compression: compression}))
		keys := []string{"a", "a:b/c", "\x00", "ü\u2028", "\xff", "\xff\x00\"", strings.Repeat("k", 4096)}
		qualifiers := []string{"", "https://x:80/ä?\\\"", "\x00\n", "\xc3\x28", "\xfe\xff", strings.Repeat("\x80", 300)}
		written := make(map[string]map[Cell]bool)
		var rows []Row
		for i, key := range keys {
			row := Row{Key: key}
			for j, v := range values {
				for k, qualifier := range qualifiers {
					family := []string{"anchor", "contents", "title"}[(i+j)%3]
					row.Cells = append(row.Cells, Cell{Family: family, Qualifier: qualifier, Value: v, Time: At(int64(1000*j + k))})
				}
			}
			row.Cells = append(row.Cells, Cell{Family: "title", Qualifier: "first", Value: I64(1), Time: At(0)}, Cell{Family: "title", Qualifier: "last", Value: I64(1), Time: At(math.MaxInt64 - 1)})
			written[key] = make(map[Cell]bool)
			for _, c := range row.Cells {
				written[key][c] = true
			}
			rows = append(rows, row)
		}
		if err := table.Write(t.Context(), rows...); err != nil {
			t.Fatal(err)
		}
		got := all(t, table, Query{})
		if len(got) != len(keys) {
			t.Fatalf("%d rows, want %d", len(got), len(keys))
		}
		for i, row := range got {
			if i > 0 && got[i-1].Key >= row.Key {
				t.Errorf("row %q is not behind %q", row.Key, got[i-1].Key)
			}
			for j, c := range row.Cells {
				if !written[row.Key][c] {
					t.Errorf("row %q has %+v, which was not written", row.Key, c)
				}
				if j > 0 && !before(row.Cells[j-1], c) {
					t.Errorf("row %q: %+v is not behind %+v", row.Key, c, row.Cells[j-1])
				}
			}
			if len(row.Cells) != len(written[row.Key]) {
				t.Errorf("row %q has %d cells, want %d", row.Key, len(row.Cells), len(written[row.Key]))
			}
			again, err := table.ReadRow(t.Context(), row.Key)
			if err != nil || !sameRow(again, row) {
				t.Errorf("row %q by its key: %v, %d cells of %d", row.Key, err, len(again.Cells), len(row.Cells))
			}
		}
		// Rows that were read can be written as they are.
		copied := table.c.Table("copy")
		if err := copied.Create(t.Context(), TableSpec{Families: []Family{{Name: "title"}, {Name: "contents"}, {Name: "anchor"}}}); err != nil {
			t.Fatal(err)
		}
		if err := copied.Write(t.Context(), got...); err != nil {
			t.Fatal(err)
		}
		if !sameRows(all(t, copied, Query{}), got) {
			t.Error("a copy of the table differs from it")
		}
	}
}

// before reports whether a comes before b in a row.
func before(a, b Cell) bool {
	if a.Family != b.Family {
		return a.Family < b.Family
	}
	if a.Qualifier != b.Qualifier {
		return a.Qualifier < b.Qualifier
	}
	return a.Time.Micros() > b.Time.Micros()
}

func TestValueAccessors(t *testing.T) {
	for _, v := range values {
		_, text := v.Text()
		_, bytes := v.Bytes()
		_, integer := v.Int()
		_, float := v.Float()
		_, boolean := v.Bool()
		n := 0
		for _, ok := range []bool{text, bytes, integer, float, boolean} {
			if ok {
				n++
			}
		}
		if n != 1 || v.IsNull() || v.Any() == nil {
			t.Errorf("%s %s: %d accessors, %v", v.Type(), v, n, v.Any())
		}
	}
	if n, _ := I32(-7).Int(); n != -7 {
		t.Errorf("got %d", n)
	}
	if f, _ := F32(0.5).Float(); f != 0.5 {
		t.Errorf("got %v", f)
	}
	if b, _ := Bytes([]byte("x")).Bytes(); string(b) != "x" {
		t.Errorf("got %q", b)
	}
	if F64(0) == F64(math.Copysign(0, -1)) || F64(1) == F32(1) {
		t.Error("values that differ are equal")
	}
	if at := At(1_500_000); at.Micros() != 1_500_000 || at.Time().UnixMilli() != 1500 || at.IsZero() || At(0).IsZero() || !(Time{}).IsZero() {
		t.Error("times are not what they were made of")
	}
}

// TestFloatsAreNoIntegers: a number with a point or an exponent is taken however many digits it has.
func TestFloatsAreNoIntegers(t *testing.T) {
	for f, want := range map[float64]string{1: "1.0", 10: "10.0", -3: "-3.0", 0.5: "0.5", 1e21: "1e+21", math.Inf(1): `"+Inf"`} {
		if got := string(appendFloat(nil, f, 64)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := string(appendFloat(nil, math.Copysign(0, -1), 64)); got != "-0.0" {
		t.Errorf("got %s, want -0.0", got)
	}
}

// TestRefusals: what the model does not have is refused by the server, with its place, and nothing of it is
// changed into something that it has.
func TestRefusals(t *testing.T) {
	table := webtable(t, open(t, newServer(t), Options{Attempts: 1}))
	cell := func(v Value, at Time) Row {
		return Row{Key: "r", Cells: []Cell{{Family: "title", Qualifier: "", Value: v, Time: at}}}
	}
	tests := []struct {
		row  Row
		code string
		at   string
	}{
		{cell(F64(math.NaN()), Time{}), "invalid_value", "items[0].cells[0].value"},
		{cell(F32(float32(math.Inf(-1))), Time{}), "invalid_value", "items[0].cells[0].value"},
		{cell(String("\xff"), Time{}), "invalid_utf8", "items[0].cells[0].value"},
		{cell(Value{}, Time{}), "invalid_type", "items[0].cells[0].type"},
		{cell(I64(1), At(-1)), "number_out_of_range", "items[0].cells[0].time"},
		{cell(I64(1), At(math.MinInt64)), "number_out_of_range", "items[0].cells[0].time"},
		{cell(I64(1), At(math.MaxInt64)), "number_out_of_range", "items[0].cells[0].time"},
		{Row{Key: "", Cells: []Cell{{Family: "title", Qualifier: "", Value: I64(1), Time: Time{}}}}, "invalid_row_key", "items[0].row_key"},
		{Row{Key: "r", Cells: []Cell{{Family: "", Qualifier: "x", Value: I64(1), Time: Time{}}}}, "invalid_column_key", "items[0].cells[0].column_key"},
		{Row{Key: "r"}, "empty_list", "items[0].cells"},
	}
	for _, test := range tests {
		err := table.Write(t.Context(), test.row)
		var e *Error
		if !errors.As(err, &e) || e.Code != test.code || e.At != test.at || !errors.Is(err, ErrInvalid) || errors.Is(err, ErrUnavailable) {
			t.Errorf("%+v: got %v, want %s at %s", test.row, err, test.code, test.at)
		}
	}
	if rows := all(t, table, Query{}); len(rows) != 0 {
		t.Errorf("refused writes left %+v", rows)
	}
	if err := table.Delete(t.Context(), Deletion{Rows: Keys()}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a deletion of no keys: %v", err)
	}
	if err := table.Delete(t.Context(), Deletion{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a deletion of everything: %v", err)
	}
}

func TestErrorKinds(t *testing.T) {
	c := open(t, newServer(t), Options{Attempts: 1})
	table := webtable(t, c)
	ctx := t.Context()
	text := Row{Key: "r", Cells: []Cell{{Family: "title", Value: String("x")}, {Family: "title", Qualifier: "n", Value: I64(math.MaxInt64)}}}
	if err := table.Write(ctx, text); err != nil {
		t.Fatal(err)
	}
	_, increment := table.ReadModifyWrite(ctx, "r", Increment("title", "", 1))
	_, overflow := table.ReadModifyWrite(ctx, "r", Increment("title", "n", 1))
	_, unknown := c.Table("nope").Describe(ctx)
	tests := []struct {
		err    error
		status int
		code   string
		kind   error
	}{
		{unknown, 404, "unknown_table", ErrNotFound},
		{table.Write(ctx, Row{Key: "r", Cells: []Cell{{Family: "nope", Value: I64(1)}}}), 404, "unknown_column_family", ErrNotFound},
		{table.Create(ctx, TableSpec{}), 409, "table_exists", ErrExists},
		{table.CreateFamilies(ctx, Family{Name: "title"}), 409, "column_family_exists", ErrExists},
		{table.CreateFamilies(ctx, Family{Name: "no name"}), 400, "invalid_column_family_name", ErrInvalid},
		{c.Table("..").Drop(ctx), 400, "invalid_table_name", ErrInvalid},
		{increment, 409, "not_a_number", ErrConflict},
		{overflow, 409, "overflow", ErrConflict},
	}
	kinds := []error{ErrInvalid, ErrNotFound, ErrExists, ErrConflict, ErrUnavailable, ErrOutcomeUnknown}
	for _, test := range tests {
		var e *Error
		if !errors.As(test.err, &e) || e.Status != test.status || e.Code != test.code || e.Message == "" {
			t.Errorf("got %v, want %d %s", test.err, test.status, test.code)
		}
		for _, kind := range kinds {
			if errors.Is(test.err, kind) != (kind == test.kind) {
				t.Errorf("%v: Is(%v) is %t", test.err, kind, !(kind == test.kind))
			}
		}
	}
}

func TestMutations(t *testing.T) {
	table := webtable(t, open(t, newServer(t), Options{}))
	ctx := t.Context()
	set := func(family, qualifier string, v Value, at Time) Mutation {
		return Set(Cell{Family: family, Qualifier: qualifier, Value: v, Time: at})
	}
	start, err := table.Mutate(ctx, RowMutations{"a", []Mutation{
		set("title", "", I64(1), At(1)), set("title", "", I64(2), At(2)), set("title", "", I64(3), At(3)),
		set("anchor", "\xff", String("x"), At(1)), set("contents", "", Bool(true), At(1)),
	}})
	if err != nil || start.IsZero() {
		t.Fatal(start, err)
	}
	if _, err := table.Mutate(ctx, RowMutations{"a", []Mutation{
		DeleteVersions("title", "", Times{At(1), At(3)}), DeleteColumn("anchor", "\xff"), DeleteFamily("contents"),
	}}, RowMutations{"b", []Mutation{DeleteCells(), set("title", "", I64(1), At(1))}}); err != nil {
		t.Fatal(err)
	}
	want := []Row{{"a", []Cell{{Family: "title", Qualifier: "", Value: I64(3), Time: At(3)}}}, {"b", []Cell{{Family: "title", Qualifier: "", Value: I64(1), Time: At(1)}}}}
	if got := all(t, table, Query{}); !sameRows(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}

	nope := RowMutations{"c", []Mutation{set("title", "", I64(1), At(1)), DeleteFamily("nope")}}
	if _, err := table.Mutate(ctx, RowMutations{"d", []Mutation{set("title", "", I64(1), At(1))}}, nope); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	commit, outcomes, err := table.MutateRows(ctx, RowMutations{"d", []Mutation{set("title", "", I64(1), Time{})}}, nope)
	if err != nil || len(outcomes) != 2 || outcomes[0] != nil || !errors.Is(outcomes[1], ErrNotFound) {
		t.Fatalf("got outcomes %v, %v", outcomes, err)
	}
	var e *Error
	if errors.As(outcomes[1], &e); e.Code != "unknown_column_family" || e.At != "items[1].mutations[1].delete_family" || strings.Contains(e.Message, e.At) {
		t.Errorf("got outcome %+v", e)
	}
	if rows := all(t, table, Query{Rows: Ranges(Range{Start: "c"})}); !sameRows(rows, []Row{{"d", []Cell{{Family: "title", Qualifier: "", Value: I64(1), Time: commit}}}}) {
		t.Errorf("got %+v", rows)
	}
}

func TestCheckAndMutate(t *testing.T) {
	table := webtable(t, open(t, newServer(t), Options{}))
	owner := func(name string) []Mutation {
		return []Mutation{Set(Cell{Family: "title", Qualifier: "owner", Value: String(name)})}
	}
	steps := []struct {
		check   Check
		matched bool
		written bool
		owner   string
	}{
		{Check{If: Exists(true), Then: owner("nobody")}, false, false, ""},
		{Check{If: Exists(true), Then: owner("nobody"), Else: owner("me")}, false, true, "me"},
		{Check{If: Exists(false), Then: owner("you")}, false, false, "me"},
		{Check{If: Exists(true), Then: owner("you")}, true, true, "you"},
		{Check{If: Matches(ValueRegex("m")), Then: owner("nobody")}, false, false, "you"},
		{Check{If: Matches(Chain(QualifierRegex("owner"), ValueRegex("y.u"))), Then: owner("her")}, true, true, "her"},
	}
	for i, s := range steps {
		matched, commit, err := table.CheckAndMutate(t.Context(), "lock", s.check)
		if err != nil || matched != s.matched || commit.IsZero() == s.written {
			t.Errorf("step %d: got %t at %v, %v", i, matched, commit, err)
		}
		row, err := table.ReadRow(t.Context(), "lock")
		c, _ := row.Get("title", "owner")
		if got, _ := c.Value.Text(); err != nil || got != s.owner {
			t.Errorf("step %d: owner %q, %v, want %q", i, got, err, s.owner)
		}
	}
}

// TestConcurrentUse: increments from many goroutines all count. Run it with -race.
func TestConcurrentUse(t *testing.T) {
	table := webtable(t, open(t, newServer(t), Options{}))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				if _, err := table.ReadModifyWrite(t.Context(), "\xff", Increment("title", "\xfe", 2), Append("title", "log", "é"), AppendBytes("title", "raw", []byte{0xff})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	row, err := table.ReadModifyWrite(t.Context(), "\xff", Increment("title", "\xfe", math.MinInt64))
	if err != nil || row.Key != "\xff" || len(row.Cells) != 1 || row.Cells[0].Value != I64(math.MinInt64+400) || row.Cells[0].Qualifier != "\xfe" {
		t.Errorf("got %+v, %v", row, err)
	}
	read, err := table.ReadRow(t.Context(), "\xff", "title:log", "title:raw")
	if err != nil {
		t.Fatal(err)
	}
	log, _ := read.Get("title", "log")
	raw, _ := read.Get("title", "raw")
	if log.Value != String(strings.Repeat("é", 200)) || raw.Value != Bytes([]byte(strings.Repeat("\xff", 200))) {
		t.Errorf("got %v, %v", log.Value, raw.Value)
	}
}

func TestDeletions(t *testing.T) {
	table := webtable(t, open(t, newServer(t), Options{}))
	ctx := t.Context()
	var rows []Row
	for i := range 10 {
		rows = append(rows, Row{fmt.Sprintf("r%d", i), []Cell{{Family: "title", Qualifier: "", Value: I64(1), Time: At(1)}, {Family: "anchor", Qualifier: "\xff", Value: I64(2), Time: At(5)}}})
	}
	if err := table.Write(ctx, rows...); err != nil {
		t.Fatal(err)
	}
	d := Deletion{Rows: Ranges(Range{Start: "r1", End: "r3", ExcludeStart: true, IncludeEnd: true}), Columns: Families("anchor"), Times: Times{Start: At(5)}}
	if r, c, err := table.CountDeletion(ctx, d); err != nil || r != 2 || c != 2 {
		t.Errorf("would delete %d rows, %d cells, %v, want 2 and 2", r, c, err)
	}
	if n, err := table.Count(ctx, Query{}); err != nil || n.Rows != 10 || n.Cells != 20 || n.CellsScanned != 20 {
		t.Errorf("counting has changed something: %+v, %v", n, err)
	}
	if err := table.Delete(ctx, d); err != nil {
		t.Fatal(err)
	}
	if n, err := table.Count(ctx, Query{Columns: Columns("anchor:\xff")}); err != nil || n.Cells != 8 {
		t.Errorf("counted %+v, %v, want 8 cells", n, err)
	}
	if n, err := table.DeleteRow(ctx, "r0", "anchor:\xff"); err != nil || n != 1 {
		t.Errorf("deleted %d, %v, want 1", n, err)
	}
	if n, err := table.DeleteRow(ctx, "r1"); err != nil || n != 2 {
		t.Errorf("deleted %d, %v, want 2", n, err)
	}
	if err := table.Delete(ctx, Deletion{All: true, Times: Times{End: At(2)}}); err != nil {
		t.Fatal(err)
	}
	if got := all(t, table, Query{}); len(got) != 6 || got[0].Key != "r4" || len(got[0].Cells) != 1 {
		t.Errorf("left are %+v", got)
	}
}

// TestConnectionsAreReused: a connection outlives answers of every kind.
func TestConnectionsAreReused(t *testing.T) {
	s := httptest.NewUnstartedServer(newServer(t))
	var mu sync.Mutex
	opened := 0
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if mu.Lock(); state == http.StateNew {
			opened++
		}
		mu.Unlock()
	}
	s.Start()
	defer s.Close()
	c, err := New(s.URL, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	table := webtable(t, c)
	for i := range 20 {
		if err := table.Write(t.Context(), Row{fmt.Sprint(i), []Cell{{Family: "title", Qualifier: "", Value: String(strings.Repeat("x", 20_000)), Time: Time{}}}}); err != nil {
			t.Fatal(err)
		}
		all(t, table, Query{})
		all(t, table, Query{Rows: Prefix("none")})
		if err := table.Create(t.Context(), TableSpec{}); !errors.Is(err, ErrExists) {
			t.Fatal(err)
		}
		if row, err := table.ReadRow(t.Context(), "none"); err != nil || len(row.Cells) != 0 || row.Key != "none" {
			t.Fatal(row, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	// On a busy machine net/http gives up a connection whose writer is late, so a few may be new.
	if opened > 10 {
		t.Errorf("%d connections for 120 requests one after the other", opened)
	}
}

func TestLargeRequestsAreCompressed(t *testing.T) {
	next := newServer(t)
	var encodings []string
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/write") {
			encodings = append(encodings, r.Header.Get("Content-Encoding")+" "+r.Header.Get("Accept-Encoding")+" "+r.UserAgent())
		}
		next.ServeHTTP(w, r)
	})
	large := Row{"r", []Cell{{Family: "title", Qualifier: "", Value: String(strings.Repeat("x", compressFrom)), Time: Time{}}}}
	small := Row{"r", []Cell{{Family: "title", Qualifier: "", Value: String(strings.Repeat("x", 1000)), Time: Time{}}}}
	table := webtable(t, open(t, h, Options{}))
	gzipped := open(t, h, Options{Compression: Gzip, UserAgent: "test/1"}).Table("web")
	plain := open(t, h, Options{Compression: Uncompressed}).Table("web")
	for _, err := range []error{table.Write(t.Context(), large), table.Write(t.Context(), small), gzipped.Write(t.Context(), large), plain.Write(t.Context(), large)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"zstd zstd, gzip;q=0.5 colonnade-go", " zstd, gzip;q=0.5 colonnade-go", "gzip gzip test/1", " identity colonnade-go"}
	if !reflect.DeepEqual(encodings, want) {
		t.Errorf("got %q, want %q", encodings, want)
	}
}

func TestURLs(t *testing.T) {
	for _, url := range []string{"", "127.0.0.1:9876", "ftp://x", "http://", "http://x?y=1", "http://x#y", "http://x y"} {
		if _, err := New(url, Options{}); err == nil || !strings.Contains(err.Error(), "is no URL") {
			t.Errorf("%q: got %v", url, err)
		}
	}
	var path string
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { path = r.URL.EscapedPath() })
	s := httptest.NewServer(h)
	defer s.Close()
	c, err := New(s.URL+"/behind/", Options{Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	c.Table("a/b").SetGC(context.Background(), "f#", GC{})
	if want := "/behind/v1/table/a%2Fb/column-family/f%23"; path != want {
		t.Errorf("got %s, want %s", path, want)
	}
}

// TestDefaultGC: a family has the settings that it comes with, or those of its table.
func TestDefaultGC(t *testing.T) {
	table := webtable(t, open(t, newServer(t), Options{}))
	gc := GC{VersionLimit: 2}
	if err := table.Configure(t.Context(), TableSettings{DefaultGC: &gc}); err != nil {
		t.Fatal(err)
	}
	if err := table.CreateFamilies(t.Context(), Family{Name: "x", DefaultGC: true}, Family{Name: "y"}); err != nil {
		t.Fatal(err)
	}
	if err := table.CreateGroup(t.Context(), Family{Name: "z", DefaultGC: true}); err != nil {
		t.Fatal(err)
	}
	info, err := table.Describe(t.Context())
	want := []Family{{Name: "anchor"}, {Name: "contents"}, {Name: "title"}, {Name: "x", GC: gc}, {Name: "y"}, {Name: "z", GC: gc}}
	if err != nil || !reflect.DeepEqual(info.Families, want) {
		t.Errorf("got %+v, %v, want %+v", info.Families, err, want)
	}
	other := table.c.Table("other")
	if err := other.Create(t.Context(), TableSpec{Families: []Family{{Name: "x", DefaultGC: true}}}); err != nil {
		t.Error(err)
	}
}

func TestReadyAndCacheStats(t *testing.T) {
	status := 200
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		if r.URL.Path == "/readyz" {
			fmt.Fprint(w, `{"message":"The server takes requests","result":null,"status":200,"time_ms":0,"error":{"code":"shutting_down","at":""}}`)
			return
		}
		fmt.Fprint(w, `{"result":{"cache_stats":{"block_count":3,"memory_usage_in_bytes":4000},"tables":{"count":0,"items":[]}}}`)
	})
	c := open(t, h, Options{})
	if message, err := c.Ready(t.Context()); err != nil || message != "The server takes requests" {
		t.Errorf("%q, %v", message, err)
	}
	if n, err := c.CacheStats(t.Context()); err != nil || n != (CacheStats{3, 4000}) {
		t.Errorf("%+v, %v", n, err)
	}
	status = 503
	if _, err := c.Ready(t.Context()); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if message, err := open(t, newServer(t), Options{}).Ready(t.Context()); err != nil || message == "" {
		t.Errorf("%q, %v", message, err)
	}
}

func TestDo(t *testing.T) {
	table := webtable(t, open(t, newServer(t), Options{}))
	var n struct {
		Items struct {
			Rows int `json:"row_count"`
		} `json:"items"`
	}
	body := `{"items":[{"row_key":"r","cells":[{"column_key":"title:","type":"i64","value":1}]}]}`
	if err := table.c.Do(t.Context(), "POST", "/v1/table/web/write", []byte(body), &n); err != nil || n.Items.Rows != 1 {
		t.Errorf("got %+v, %v", n, err)
	}
	if err := table.c.Do(t.Context(), "GET", "/v1/nothing", nil, nil); !errors.As(err, new(*Error)) {
		t.Errorf("got %v", err)
	}
}
