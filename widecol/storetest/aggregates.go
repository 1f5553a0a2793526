package storetest

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

const everyFunction = widecol.Count | widecol.Sum | widecol.Min | widecol.Max | widecol.Avg

// aggregateText evaluates an aggregate and describes its groups, as groupText does, or its error.
func (f *fixture) aggregateText(table string, a *widecol.Aggregate) string {
	f.Helper()
	v := f.view(table)
	defer v.close()
	result, err := widecol.RunAggregate(background, v.View, a)
	if err != nil {
		return "error " + errorText(err)
	}
	var texts []string
	for _, g := range result.Groups {
		texts = append(texts, groupText(g))
	}
	return strings.Join(texts, "; ")
}

func (f *fixture) wantAggregate(table string, a *widecol.Aggregate, want string) {
	f.Helper()
	if got := f.aggregateText(table, a); got != want {
		f.Errorf("aggregate %s by %+v is\n\t%s\nshould be\n\t%s", functionsText(a.Of), a.GroupBy, got, want)
	}
}

// writeNumbers writes versions whose values are texts such as "i64:5" and "f32:NaN", or other texts.
func (f *fixture) writeNumbers(table string, texts ...string) {
	f.Helper()
	versions := f.parseAll(texts)
	for i := range versions {
		versions[i].typ, versions[i].value = numberFrom(versions[i].value)
	}
	f.writeAll(table, versions)
}

func numberFrom(text string) (cell.Type, string) {
	name, digits, ok := strings.Cut(text, ":")
	var n int64
	var x float64
	if ok {
		fmt.Sscan(digits, &n)
		fmt.Sscan(digits, &x)
	}
	switch {
	case !ok:
		return cell.String, text
	case name == "i64":
		return cell.I64, string(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	case name == "i32":
		return cell.I32, string(binary.LittleEndian.AppendUint32(nil, uint32(n)))
	case name == "byte":
		return cell.Byte, string([]byte{byte(n)})
	case name == "f64":
		return cell.F64, string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
	}
	return cell.F32, string(binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x))))
}

// aggregating returns an aggregate of everything.
func aggregating(of widecol.Functions, by widecol.GroupBy) *widecol.Aggregate {
	return &widecol.Aggregate{Query: widecol.NewQuery(), GroupBy: by, Of: of}
}

var aggregateCases = []testCase{
	{"an aggregate of nothing has one empty group", func(f *fixture) {
		f.create("t", "a")
		f.wantAggregate("t", aggregating(everyFunction, widecol.GroupBy{}), `"" 0 - - - -`)
		f.wantAggregate("t", aggregating(widecol.Count, widecol.GroupBy{By: widecol.ByColumn}), "")
		f.write("t", "r a:x@1=text", "s a:x@1=text")
		f.wantAggregate("t", aggregating(everyFunction, widecol.GroupBy{}), `"" 2 - - - -`)
		f.wantAggregate("t", aggregating(widecol.Sum, widecol.GroupBy{}), `"" 0 - - - -`)
	}},
	{"numbers of all types are added, compared and averaged", func(f *fixture) {
		for _, e := range []struct{ numbers, want string }{
			{"i64:5", "i64(5) i64(5) i64(5) f64(5)"},
			{"i64:-5 i32:-7 byte:200 text", "i64(188) i32(-7) byte(200) f64(62.666666666666664)"},
			{"i64:9223372036854775807 i64:-1 i64:1", "i64(9223372036854775807) i64(-1) i64(9223372036854775807) f64(3.0744573456182584e+18)"},
			{"i64:-9223372036854775808 i64:-9223372036854775808 i64:9223372036854775807 i64:9223372036854775807", "i64(-2) i64(-9223372036854775808) i64(9223372036854775807) f64(-0.5)"},
			{"i64:9223372036854775807 i64:1", "overflow"},
			{"i64:-9223372036854775808 i32:-1", "overflow"},
			{"f64:0.1 f64:0.2 f64:0.3 f64:-0.6", "f64(2.7755575615628914e-17) f64(-0.6) f64(0.3) f64(6.938893903907228e-18)"},
			{"f64:1e308 f64:1 f64:-1e308", "f64(1) f64(-1e+308) f64(1e+308) f64(0.3333333333333333)"},
			{"f64:1e308 f64:1e308 f64:-1e308", "f64(1e+308) f64(-1e+308) f64(1e+308) f64(3.333333333333333e+307)"},
			{"f64:1e308 f64:1e308", "overflow"},
			{"i64:9007199254740993 f32:0.5", "f64(9.007199254740994e+15) f32(0.5) i64(9007199254740993) f64(4.503599627370497e+15)"},
			{"i64:9007199254740993 f64:9007199254740992", "f64(1.8014398509481984e+16) f64(9.007199254740992e+15) i64(9007199254740993) f64(9.007199254740992e+15)"},
			{"i64:9223372036854775807 f64:9223372036854775808", "f64(1.8446744073709552e+19) i64(9223372036854775807) f64(9.223372036854776e+18) f64(9.223372036854776e+18)"},
			{"f32:1 byte:1 f64:1 i32:1", "f64(4) i32(1) i32(1) f64(1)"},
			{"f32:-0.0 f64:0", "f64(0) f32(-0) f64(0) f64(0)"},
			{"byte:0 f64:-0.0", "f64(0) f64(-0) byte(0) f64(0)"},
			{"f64:5e-324 f64:5e-324 f64:5e-324", "f64(1.5e-323) f64(5e-324) f64(5e-324) f64(5e-324)"},
			{"f64:+Inf i64:1", "f64(+Inf) i64(1) f64(+Inf) f64(+Inf)"},
			{"f64:+Inf f32:-Inf", "f64(NaN) f32(-Inf) f64(+Inf) f64(NaN)"},
			{"f64:NaN i64:1", "f64(NaN) f64(NaN) i64(1) f64(NaN)"},
		} {
			f.create("t", "a", "b+")
			list := strings.Fields(e.numbers)
			for i, number := range list {
				f.writeNumbers("t", fmt.Sprintf("r%d %s:x@1=%s", i%2, []string{"a", "b"}[i/2%2], number), fmt.Sprintf("r%d a:y%d@1=text", i%2, i))
			}
			want := fmt.Sprintf(`"" %d %s`, 2*len(list), e.want)
			if e.want == "overflow" {
				want = "error " + errorText(widecol.SumOverflow(cell.I64))
			}
			f.wantAggregate("t", aggregating(everyFunction, widecol.GroupBy{}), want)
			f.ok(f.store().DropTable(background, "t"))
		}
	}},
	{"groups are by column and in their order", func(f *fixture) {
		f.create("t", "a", "a-b+", "b+")
		f.writeNumbers("t", "r b:x@1=i64:1", "r a:x@1=i64:2", "s a:x@1=i64:3", "s a:@1=i64:4", "s a-b:x@1=i64:5", "t b:x@2=i64:6", "t b:x@1=i64:7")
		f.wantAggregate("t", aggregating(widecol.Sum|widecol.Count, widecol.GroupBy{By: widecol.ByColumn}),
			`"a\x00" 1 i64(4) - - -; "a\x00x" 2 i64(5) - - -; "a-b\x00x" 1 i64(5) - - -; "b\x00x" 3 i64(14) - - -`)
		a := aggregating(widecol.Max, widecol.GroupBy{By: widecol.ByColumn})
		a.Query.ColumnCellLimit = 1
		a.Query.Filter = f.columns("b")
		f.wantAggregate("t", a, `"b\x00x" 0 - - i64(6) -`)
	}},
	{"groups are by the beginning of a row's key", func(f *fixture) {
		f.create("t", "a", "b+")
		f.write("t", "a a:x@1=v", "a/ a:x@1=v", "a/1 a:x@1=v", "a/1 b:x@1=v", "a/2/3 a:x@1=v", "ab a:x@1=v", "\xff\xff a:x@1=v", "\xff\xff/ a:x@1=v")
		f.wantAggregate("t", aggregating(widecol.Count, widecol.GroupBy{By: widecol.ByRowDelimiter, Delimiter: []byte("/")}),
			`"a" 1 - - - -; "a/" 4 - - - -; "ab" 1 - - - -; "\xff\xff" 1 - - - -; "\xff\xff/" 1 - - - -`)
		f.wantAggregate("t", aggregating(widecol.Count, widecol.GroupBy{By: widecol.ByRowDelimiter, Delimiter: []byte("/2/")}),
			`"a" 1 - - - -; "a/" 1 - - - -; "a/1" 2 - - - -; "a/2/" 1 - - - -; "ab" 1 - - - -; "\xff\xff" 1 - - - -; "\xff\xff/" 1 - - - -`)
		f.wantAggregate("t", aggregating(widecol.Count, widecol.GroupBy{By: widecol.ByRowLength, Length: 2}),
			`"a" 1 - - - -; "a/" 4 - - - -; "ab" 1 - - - -; "\xff\xff" 2 - - - -`)
		f.wantAggregate("t", aggregating(widecol.Count, widecol.GroupBy{By: widecol.ByRowLength, Length: 4}),
			`"a" 1 - - - -; "a/" 1 - - - -; "a/1" 2 - - - -; "a/2/" 1 - - - -; "ab" 1 - - - -; "\xff\xff" 1 - - - -; "\xff\xff/" 1 - - - -`)
	}},
	{"a group without a selected version is not there", func(f *fixture) {
		f.create("t", "a")
		f.writeAll("t", manyRows(300))
		f.writeNumbers("t", "row00100 a:x@2=i64:7")
		a := aggregating(widecol.Count, widecol.GroupBy{By: widecol.ByRowLength, Length: 6})
		a.Query.Value = &widecol.ValueFilter{Op: widecol.Equal, Type: cell.I64, Value: []byte("\x07\x00\x00\x00\x00\x00\x00\x00")}
		f.wantAggregate("t", a, `"row001" 1 - - - -`)
	}},
	{"an aggregate of many rows is that of the model", func(f *fixture) {
		m := memstore.New(memstore.Options{Now: f.clock.Now})
		gc := []widecol.Family{{Name: "a"}, {Name: "b", GC: widecol.GC{TTLSecs: 10, VersionLimit: 2}}, {Name: "c"}}
		f.ok(f.store().CreateTable(background, "t", widecol.TableSpec{Families: gc, Groups: [][]string{{"c"}}}))
		if err := m.CreateTable(background, "t", widecol.TableSpec{Families: gc}); err != nil {
			f.Fatal(err)
		}
		for _, part := range f.manyNumbers() {
			f.writeAll("t", part)
			if _, err := (&write{table: "t", versions: part}).apply(m, nil, 0); err != nil {
				f.Fatal(err)
			}
		}
		for _, s := range []widecol.Store{f.store(), m} {
			if _, err := removeRow(s, "t", "row/00777", widecol.Filter{}, ""); err != nil {
				f.Fatal(err)
			}
		}
		f.ok(nil)
		model, err := m.View(background, "t")
		if err != nil {
			f.Fatal(err)
		}
		view := f.view("t")
		defer view.close()
		f.compareAggregates(heldView{subject: view.View, model: model})
	}},
	{"too many groups are refused", func(f *fixture) {
		f.create("t", "a")
		versions := make([]version, widecol.MaxGroups+1)
		for i := range versions {
			versions[i] = version{fmt.Sprintf("%05d", i), "a", fmt.Sprint(i), 1, cell.Byte, "\x01"}
		}
		f.writeAll("t", versions)
		for _, by := range []widecol.GroupBy{{By: widecol.ByColumn}, {By: widecol.ByRowLength, Length: 9}, {By: widecol.ByRowDelimiter, Delimiter: []byte{':'}}} {
			a := aggregating(widecol.Sum, by)
			f.wantAggregate("t", a, "error "+errorText(widecol.TooManyGroups()))
			a.Query.SetRange([]byte("00001"), nil)
			if got := f.aggregateText("t", a); strings.Count(got, ";") != widecol.MaxGroups-1 {
				f.Errorf("%d groups by %+v are %.80s", widecol.MaxGroups, by, got)
			}
		}
	}},
	{"an aggregate that makes no sense is refused", func(f *fixture) {
		f.create("t", "a")
		view := f.view("t")
		defer view.close()
		for _, e := range []struct {
			of   widecol.Functions
			by   widecol.GroupBy
			code string
		}{
			{0, widecol.GroupBy{}, "invalid_function"},
			{1 << 5, widecol.GroupBy{}, "invalid_function"},
			{widecol.Sum, widecol.GroupBy{By: 4}, "invalid_group_by"},
			{widecol.Sum, widecol.GroupBy{By: widecol.ByRowLength}, "invalid_group_by"},
			{widecol.Sum, widecol.GroupBy{By: widecol.ByRowLength, Length: widecol.MaxRowKey + 1}, "invalid_group_by"},
			{widecol.Sum, widecol.GroupBy{By: widecol.ByRowDelimiter}, "invalid_group_by"},
		} {
			_, err := widecol.RunAggregate(background, view.View, aggregating(e.of, e.by))
			f.refused(err, widecol.Invalid, e.code, -1)
		}
		a := aggregating(widecol.Sum, widecol.GroupBy{})
		a.Query.Filter = f.columns("a", "b")
		_, err := widecol.RunAggregate(background, view.View, a)
		f.refused(err, widecol.NotFound, "unknown_column_family", 1)
	}},
}

// manyNumbers returns the versions of two writes of rows, most with one number. So that a store can take many rows in one
// step, a column has one type in hundreds of rows. What it must not do for all of them alike is among them: rows
// with several versions, other columns, expired versions, rows that both writes have.
func (f *fixture) manyNumbers() (writes [2][]version) {
	now := f.clock.Now()
	for i := range 1500 {
		row := fmt.Sprintf("row/%05d", i)
		if i >= 1200 {
			row = fmt.Sprintf("s%d/%d", i%3, i)
		}
		typ, value := numberFrom(fmt.Sprintf("%s:%d", []string{"i64", "i32", "byte", "f64", "f32"}[i/300], i%100))
		w := &writes[i/40%2]
		*w = append(*w, version{row, "a", "n", int64(1 + i%9), typ, value})
		switch {
		case i%300 > 200:
		case i%97 == 0:
			*w = append(*w, version{row, "a", "n", 20, typ, value}, version{row, "a", "n", 19, typ, value})
		case i%83 == 0:
			writes[1-i/40%2] = append(writes[1-i/40%2], version{row, "a", "n", 30, typ, value})
		case i%53 == 0:
			*w = append(*w, version{row, "b", "", now, typ, value}, version{row, "b", "", now - 20*second, typ, value}, version{row, "c", "", 1, typ, value})
		case i%47 == 0:
			*w = append(*w, version{row, "b", "old", now - 20*second, typ, value})
		case i%41 == 0:
			for k := range 40 {
				*w = append(*w, version{row, "a", fmt.Sprintf("q%02d", k), 1, typ, value})
			}
		}
	}
	return writes
}

// compareAggregates compares aggregates of manyNumbers.
func (f *fixture) compareAggregates(v heldView) {
	f.Helper()
	some := widecol.NewRowSet(widecol.RowRange{Start: []byte("row/00003"), End: []byte("row/00401")}, widecol.KeyRange([]byte("row/00500")), widecol.RowRange{Start: []byte("row/00990")})
	for _, by := range []widecol.GroupBy{{}, {By: widecol.ByColumn}, {By: widecol.ByRowLength, Length: 7}, {By: widecol.ByRowLength, Length: 8}, {By: widecol.ByRowDelimiter, Delimiter: []byte("/")}} {
		for i, change := range []func(q *widecol.Query){
			func(q *widecol.Query) {},
			func(q *widecol.Query) { q.Rows = some },
			func(q *widecol.Query) { q.Filter = f.columns("a:n") },
			func(q *widecol.Query) { q.Filter = f.columns("b") },
			func(q *widecol.Query) { q.Filter, q.Rows = f.columns("a:n", "a:q07", "c"), some },
			func(q *widecol.Query) { q.Filter, q.ColumnCellLimit = f.columns("a:n"), 1 },
			func(q *widecol.Query) { q.Filter, q.ColumnCellLimit, q.Times.End = f.columns("a"), 1, 20 },
			func(q *widecol.Query) { q.Filter, q.Times.Start = f.columns("a"), 5 },
			func(q *widecol.Query) {
				q.Filter = f.columns("a:n")
				q.Value = &widecol.ValueFilter{Op: widecol.Greater, Type: cell.Byte, Value: []byte{20}}
			},
			func(q *widecol.Query) { q.Filter, q.RowCellLimit = f.columns("a"), 3 },
			func(q *widecol.Query) { q.Filter, q.RowLimit, q.Offset = f.columns("a"), 500, 100 },
			func(q *widecol.Query) { q.Filter, q.Sample = f.columns("a"), 0.3 },
			func(q *widecol.Query) { q.CellLimit = 777 },
			func(q *widecol.Query) { q.ColumnCellLimit = 0 },
		} {
			functions := []widecol.Functions{everyFunction, widecol.Count}
			if testing.Short() {
				functions = functions[i%2:][:1]
			}
			for _, of := range functions {
				a := aggregating(of, by)
				change(&a.Query)
				if err := v.aggregate(a); err != nil {
					f.Fatalf("query %d, %s by %+v: %v", i, functionsText(of), by, err)
				}
			}
		}
	}
}
