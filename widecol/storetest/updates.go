package storetest

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// set returns the mutation that writes a version; see fixture.parse.
func (f *fixture) set(text string) widecol.Mutation {
	f.Helper()
	v := f.parse(text)
	return v.mutation()
}

// unset returns a deletion from a row: of a family "a", a column "a:x", or, if place is "", of the row. times
// are those of the column, if there are any.
func unset(row, place string, times ...int64) widecol.Mutation {
	m := widecol.Mutation{Row: []byte(row), Op: widecol.DeleteRow, End: widecol.EndOfTime}
	for i, c := range place {
		if c == ':' {
			m.Op, m.Family, m.Qualifier = widecol.DeleteColumn, []byte(place[:i]), []byte(place[i+1:])
		}
	}
	if place != "" && m.Op == widecol.DeleteRow {
		m.Op, m.Family = widecol.DeleteFamily, []byte(place)
	}
	if len(times) == 2 {
		m.Time, m.End = times[0], times[1]
	}
	return m
}

// mutate applies mutations.
func (f *fixture) mutate(table string, mutations ...widecol.Mutation) int64 {
	f.Helper()
	time, err := f.store().Write(background, table, mutations, "")
	f.ok(err)
	return time
}

// check makes a check-and-mutate of row r, and checks its result.
func (f *fixture) check(c widecol.CheckAndMutate, key string, matched bool) int64 {
	f.Helper()
	c.Row = []byte("r")
	got, time, err := f.store().CheckAndMutate(background, "t", &c, key)
	f.ok(err)
	if got != matched {
		f.Errorf("matched is %t, want %t", got, matched)
	}
	return time
}

// update makes a read-modify-write of row r.
func (f *fixture) update(key string, rules ...widecol.Rule) ([]cell.Cell, int64) {
	f.Helper()
	written, time, err := f.store().ReadModifyWrite(background, "t", &widecol.ReadModifyWrite{Row: []byte("r"), Rules: rules}, key)
	f.ok(err)
	return written, time
}

// notUpdated checks that a read-modify-write of row r is refused.
func (f *fixture) notUpdated(kind widecol.Kind, code string, index int, rules ...widecol.Rule) {
	f.Helper()
	_, _, err := f.store().ReadModifyWrite(background, "t", &widecol.ReadModifyWrite{Row: []byte("r"), Rules: rules}, "")
	f.refused(err, kind, code, index)
}

func increment(family, qualifier string, n int64) widecol.Rule {
	return widecol.Rule{Family: []byte(family), Qualifier: []byte(qualifier), Increment: n}
}

func appending(family, qualifier string, t cell.Type, text string) widecol.Rule {
	return widecol.Rule{Family: []byte(family), Qualifier: []byte(qualifier), Append: []byte(text), Type: t}
}

// number returns the version of an i64.
func (f *fixture) number(place string, n int64) version {
	v := f.parse(place + "=")
	v.typ, v.value = cell.I64, string(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	return v
}

// delete deletes, and checks the result.
func (f *fixture) delete(d widecol.Deletion, key string, want widecol.Deleted) {
	f.Helper()
	got, err := f.store().Delete(background, "t", &d, key)
	f.ok(err)
	if got != want {
		f.Errorf("deleted %+v, want %+v", got, want)
	}
}

// deletionOf returns a deletion of the whole table, changed by change.
func deletionOf(change func(d *widecol.Deletion)) widecol.Deletion {
	d := widecol.NewDeletion()
	change(&d)
	return d
}

var updateCases = []testCase{
	{"mutations of a request apply in order", func(f *fixture) {
		f.deleting()
		f.mutate("t",
			f.set("r a:x@9=set before"), f.set("r b:x@3=set before"), unset("r", ""), f.set("r b:x@3=set behind"), f.set("r a:x@1=set behind"),
			f.set("rr b:x@1=other row"), unset("q", "a:x"), f.set("q a:x@5=1"), unset("q", "a"), f.set("q a:x@4=2"))
		f.want("t", everything(), "q a:x@4=2", "r a:x@1=set behind", "r b:x@3=set behind",
			"r\x00 a:x@1=v", "r: a:x@1=v", "r:a a:x@1=v", "rr b:x@1=other row")
	}},
	{"a deletion deletes a column, a family or a row, and no other", func(f *fixture) {
		f.deleting()
		f.mutate("t", unset("r", "a:x"))
		f.left("r a:x@9=v", "r a:x@1=v")
		f.mutate("t", unset("r", "a"), unset("rr", "b"))
		f.left("r a:@1=v", "r a:x@9=v", "r a:x@1=v", "r a:xy@1=v", "r a:y@1=v", "rr b:x@1=v")
		f.mutate("t", unset("r", ""))
		f.left(append(deleteRows[1:8:8], "rr b:x@1=v")...)
	}},
	{"a deletion of times has its start and not its end", func(f *fixture) {
		f.create("t", "a", "b+")
		f.write("t", "r a:x@1=v", "r a:x@2=v", "r a:x@3=v", "r a:x@4=v", "r a:y@2=v", "r b:x@2=v")
		f.mutate("t", unset("r", "a:x", 2, 4))
		f.want("t", everything(), "r a:x@4=v", "r a:x@1=v", "r a:y@2=v", "r b:x@2=v")
		f.mutate("t", unset("r", "a:x", 4, widecol.EndOfTime))
		f.mutate("t", unset("r", "b:x", 0, 2))
		f.want("t", everything(), "r a:x@1=v", "r a:y@2=v", "r b:x@2=v")
		f.mutate("t", f.set("r b:x@2=before"), unset("r", "b:x", 2, 3), f.set("r a:y@1=behind"), unset("r", "a:y", 2, 3), f.set("r a:y@2=behind"))
		f.want("t", everything(), "r a:x@1=v", "r a:y@2=behind", "r a:y@1=behind")
	}},
	{"a deletion that finds nothing is a commit", func(f *fixture) {
		f.create("t", "a")
		first := f.mutate("t", unset("r", "a:x", 1, 5))
		if second := f.mutate("t", unset("r", "")); second <= first {
			f.Errorf("the commit times are %d and %d", first, second)
		}
		f.want("t", everything())
	}},
	{"a bad mutation refuses the request", func(f *fixture) {
		f.deleting()
		for _, bad := range []struct {
			m    widecol.Mutation
			kind widecol.Kind
			code string
		}{
			{unset("r", "c"), widecol.NotFound, "unknown_column_family"},
			{unset("r", "c:x"), widecol.NotFound, "unknown_column_family"},
			{unset("", ""), widecol.Invalid, "invalid_row_key"},
			{unset("r", "a:x", 5, 5), widecol.Invalid, "invalid_time"},
			{unset("r", "a:x", -1, 5), widecol.Invalid, "invalid_time"},
			{widecol.Mutation{Row: []byte("r"), Op: widecol.Merge + 1}, widecol.Invalid, "invalid_mutation"},
		} {
			_, err := f.store().Write(background, "t", []widecol.Mutation{unset("r", ""), f.set("s a:x=v"), bad.m}, "")
			f.refused(err, bad.kind, bad.code, 2)
		}
		f.left()
	}},
	{"row by row, a bad mutation refuses its row", func(f *fixture) {
		f.create("t", "a", "b+")
		rows := [][]widecol.Mutation{
			{f.set("r a:x@1=v"), f.set("r c:x@1=v")}, {f.set("s a:x@1=v"), f.set("s b:x@1=v")}, {}, {unset("t", ""), f.set("u a:x@1=v")},
		}
		for range 2 {
			time, outcomes, err := f.store().WriteRows(background, "t", rows, "k")
			f.ok(err)
			if len(outcomes) != 4 || outcomes[1] != nil || time <= 0 {
				f.Fatalf("the outcomes are %v at %d", outcomes, time)
			}
			f.refused(outcomes[0], widecol.NotFound, "unknown_column_family", 1)
			f.refused(outcomes[2], widecol.Invalid, "empty_write", -1)
			f.refused(outcomes[3], widecol.Invalid, "invalid_row_key", 1)
			f.want("t", everything(), "s a:x@1=v", "s b:x@1=v")
		}
		for range 2 {
			time, outcomes, err := f.store().WriteRows(background, "t", rows[:1], "none")
			f.ok(err)
			if len(outcomes) != 1 || outcomes[0] == nil || time != 0 {
				f.Errorf("where no row can be written the outcomes are %v at %d", outcomes, time)
			}
		}
	}},
	{"a row is changed by what it holds", func(f *fixture) {
		f.create("t", "a", "b+")
		here := widecol.NewQuery()
		yes, no := []widecol.Mutation{f.set("r a:x@1=then")}, []widecol.Mutation{f.set("r b:x@1=else")}
		f.write("t", "rr a:x@1=other")
		if time := f.check(widecol.CheckAndMutate{If: here, Then: yes}, "", false); time != 0 {
			f.Errorf("where nothing is written the time is %d", time)
		}
		f.want("t", everything(), "rr a:x@1=other")
		f.check(widecol.CheckAndMutate{If: here, Then: yes, Else: no}, "", false)
		f.want("t", everything(), "r b:x@1=else", "rr a:x@1=other")
		f.check(widecol.CheckAndMutate{If: here, Not: true, Then: no, Else: yes}, "", false)
		f.want("t", everything(), "r a:x@1=then", "r b:x@1=else", "rr a:x@1=other")
		f.check(widecol.CheckAndMutate{If: here, Then: []widecol.Mutation{unset("r", ""), f.set("r a:y@2=v")}, Else: no}, "", true)
		f.want("t", everything(), "r a:y@2=v", "rr a:x@1=other")
	}},
	{"a condition is a query of the row", func(f *fixture) {
		f.create("t", "a", "b+")
		f.write("t", "r a:x@1=one", "r a:x@5=five")
		step := int64(0)
		for _, c := range []struct {
			change  func(q *widecol.Query)
			matched bool
		}{
			{func(q *widecol.Query) { q.Filter = f.columns("a:x") }, true},
			{func(q *widecol.Query) { q.Filter = f.columns("a:y") }, false},
			{func(q *widecol.Query) { q.Times = widecol.TimeRange{Start: 2, End: 5} }, false},
			{func(q *widecol.Query) { q.Times = widecol.TimeRange{Start: 5, End: 6} }, true},
			{func(q *widecol.Query) {
				q.Value = &widecol.ValueFilter{Op: widecol.Equal, Type: cell.String, Value: []byte("one")}
			}, true},
			{func(q *widecol.Query) {
				q.Value = &widecol.ValueFilter{Op: widecol.Equal, Type: cell.String, Value: []byte("two")}
			}, false},
			{func(q *widecol.Query) { q.RowCellLimit = 0 }, false},
			{func(q *widecol.Query) { q.SetKey([]byte("another")) }, true},
		} {
			step++
			mutation := []widecol.Mutation{f.set(fmt.Sprintf("r b:x@%d=v", step))}
			f.check(widecol.CheckAndMutate{If: *asking(c.change), Then: mutation}, "", c.matched)
		}
		f.want("t", where(f.columns("b")), "r b:x@8=v", "r b:x@5=v", "r b:x@4=v", "r b:x@1=v")
		_, _, err := f.store().CheckAndMutate(background, "t", &widecol.CheckAndMutate{
			Row: []byte("r"), If: *where(f.columns("c")), Then: []widecol.Mutation{unset("r", "")}}, "")
		f.refused(err, widecol.NotFound, "unknown_column_family", 0)
	}},
	{"a conditional write is of one row", func(f *fixture) {
		f.deleting()
		for _, c := range []widecol.CheckAndMutate{
			{Then: []widecol.Mutation{unset("r", ""), unset("q", "")}},
			{Then: []widecol.Mutation{unset("r", "")}, Else: []widecol.Mutation{unset("q", "")}},
		} {
			c.Row, c.If = []byte("r"), widecol.NewQuery()
			_, _, err := f.store().CheckAndMutate(background, "t", &c, "")
			f.refused(err, widecol.Invalid, "invalid_row_key", 1)
		}
		_, _, err := f.store().CheckAndMutate(background, "t", &widecol.CheckAndMutate{Row: []byte("r"), If: widecol.NewQuery()}, "")
		f.refused(err, widecol.Invalid, "empty_write", -1)
		f.left()
	}},
	{"a number is incremented", func(f *fixture) {
		f.create("t", "a", "b+")
		_, first := f.update("", increment("a", "x", 5))
		written, second := f.update("", increment("a", "x", -7), increment("b", "x", 1), increment("a", "x", 3))
		if len(written) != 2 || first >= written[0].Time || written[0].Time > second { // before it, if the clock stands
			f.Fatalf("the versions written are %v, at %d behind %d", written, second, first)
		}
		f.wantVersions("t", everything(), []version{
			f.number(fmt.Sprintf("r a:x@%d", written[0].Time), 1), f.number(fmt.Sprintf("r a:x@%d", first), 5), f.number(fmt.Sprintf("r b:x@%d", second), 1),
		})
		for i, c := range written {
			want := f.number("r a:x", 1)
			if string(c.Value) != want.value || c.Type != cell.I64 || i == 1 && c.Time != second {
				f.Errorf("version %d that was written is %+v", i, c)
			}
		}
	}},
	{"text and bytes are appended to", func(f *fixture) {
		f.create("t", "a")
		f.write("t", "r a:x@1=text")
		written, time := f.update("", appending("a", "x", cell.Bytes, "é"), appending("a", "n", cell.Bytes, "\xff"), appending("a", "x", cell.String, ""))
		if len(written) != 2 || written[0].Type != cell.Bytes || string(written[0].Value) != "\xff" ||
			written[1].Type != cell.String || string(written[1].Value) != "texté" || written[0].Time != time {
			f.Errorf("the versions written are %+v", written)
		}
		f.want("t", where(f.columns("a:x")), fmt.Sprintf("r a:x@%d=texté", time), "r a:x@1=text")
	}},
	{"what cannot be changed so is refused, and nothing is changed", func(f *fixture) {
		f.create("t", "a")
		f.write("t", "r a:x@1=text")
		f.writeAll("t", []version{f.number("r a:max@1", math.MaxInt64), f.number("r a:min@1", math.MinInt64)})
		good := increment("a", "new", 1)
		f.notUpdated(widecol.Conflict, "not_a_number", 1, good, increment("a", "x", 1))
		f.notUpdated(widecol.Conflict, "overflow", 1, good, increment("a", "max", 1))
		f.notUpdated(widecol.Conflict, "overflow", 1, good, increment("a", "min", -1))
		f.notUpdated(widecol.Conflict, "not_appendable", 1, good, appending("a", "max", cell.String, "x"))
		f.notUpdated(widecol.Conflict, "not_appendable", 1, good, appending("a", "x", cell.Bytes, "\xff"))
		f.notUpdated(widecol.NotFound, "unknown_column_family", 1, good, increment("b", "x", 1))
		f.notUpdated(widecol.Invalid, "invalid_type", 1, good, appending("a", "x", cell.I64, "12345678"))
		f.notUpdated(widecol.Invalid, "empty_write", -1)
		f.want("t", where(f.columns("a:x", "a:new")), "r a:x@1=text")
		f.update("", increment("a", "max", -1), increment("a", "min", 1))
	}},
	{"a new version is above one of the future", func(f *fixture) {
		f.create("t", "a")
		future := start + 1000*second
		f.writeAll("t", []version{f.number(fmt.Sprintf("r a:x@%d", future), 1)})
		written, _ := f.update("", increment("a", "x", 1))
		if len(written) != 1 || written[0].Time != future+1 {
			f.Errorf("the version written is %+v, want one at %d", written, future+1)
		}
		f.writeAll("t", []version{f.number(fmt.Sprintf("r a:x@%d", cell.MaxTime), 1)})
		f.notUpdated(widecol.Conflict, "overflow", 0, increment("a", "x", 1))
	}},
	{"all increments count, whoever makes them", func(f *fixture) {
		f.create("t", "a")
		const clients, each = 8, 25
		var wait sync.WaitGroup
		errs := make([]error, clients)
		for i := range clients {
			wait.Go(func() {
				for range each {
					u := &widecol.ReadModifyWrite{Row: []byte("r"), Rules: []widecol.Rule{increment("a", "x", 1)}}
					if _, _, err := f.store().ReadModifyWrite(background, "t", u, ""); err != nil {
						errs[i] = err
					}
				}
			})
		}
		wait.Wait()
		for _, err := range errs {
			f.ok(err)
		}
		written, _ := f.update("", increment("a", "x", 0))
		if want := f.number("r a:x", clients*each); string(written[0].Value) != want.value {
			f.Errorf("the sum is %x, want %x", written[0].Value, want.value)
		}
	}},
	{"a change sent again under its key changes nothing", func(f *fixture) {
		f.create("t", "a", "b+")
		first, time := f.update("update", increment("a", "x", 1), appending("b", "x", cell.String, "v"))
		f.update("", increment("a", "x", 1))
		again, sameTime := f.update("update", increment("a", "x", 1), appending("b", "x", cell.String, "v"))
		if fmt.Sprint(again) != fmt.Sprint(first) || sameTime != time {
			f.Errorf("the second time it returns %v at %d, want %v at %d", again, sameTime, first, time)
		}
		c := widecol.CheckAndMutate{If: *where(f.columns("b:x")), Then: []widecol.Mutation{unset("r", "b:x")}, Else: []widecol.Mutation{unset("r", "")}}
		at := f.check(c, "check", true)
		if again := f.check(c, "check", true); again != at {
			f.Errorf("the second time it returns %d, want %d", again, at)
		}
		none := widecol.CheckAndMutate{If: *where(f.columns("b:x")), Then: []widecol.Mutation{unset("r", "")}}
		for range 2 {
			if time := f.check(none, "none", false); time != 0 {
				f.Errorf("where nothing is written the time is %d", time)
			}
			f.write("t", "r b:x@1=v")
		}
		deletion := deletionOf(func(d *widecol.Deletion) { d.Filter, d.Count = f.columns("b"), true })
		f.delete(deletion, "delete", widecol.Deleted{Rows: 1, Cells: 1})
		f.write("t", "s b:x@1=v")
		f.delete(deletion, "delete", widecol.Deleted{Rows: 1, Cells: 1})
		f.want("t", where(f.columns("b")), "s b:x@1=v")
		_, _, err := f.store().ReadModifyWrite(background, "t", &widecol.ReadModifyWrite{Row: []byte("r"), Rules: []widecol.Rule{increment("a", "x", 2)}}, "update")
		f.refused(err, widecol.KeyReused, "idempotency_key_reused", -1)
	}},
	{"sets of rows are deleted from", func(f *fixture) {
		f.deleting()
		rows := func(ranges ...widecol.RowRange) widecol.RowSet { return widecol.NewRowSet(ranges...) }
		some := rows(widecol.KeyRange([]byte("q")), widecol.RowRange{Start: []byte("r\x00"), End: []byte("r:a")})
		f.delete(deletionOf(func(d *widecol.Deletion) { d.Rows, d.DryRun = some, true }), "", widecol.Deleted{Rows: 3, Cells: 3})
		f.left()
		f.delete(deletionOf(func(d *widecol.Deletion) { d.Rows = some }), "", widecol.Deleted{})
		gone := []string{"q a:x@1=v", "r\x00 a:x@1=v", "r: a:x@1=v"}
		f.left(gone...)
		f.delete(deletionOf(func(d *widecol.Deletion) { d.Filter, d.Count = f.columns("b", "a:xy"), true }), "", widecol.Deleted{Rows: 2, Cells: 3})
		gone = append(gone, "r b:x@1=v", "r a:xy@1=v", "rr b:x@1=v")
		f.left(gone...)
		f.delete(deletionOf(func(d *widecol.Deletion) { d.Times, d.Count = widecol.TimeRange{Start: 2, End: 10}, true }), "", widecol.Deleted{Rows: 1, Cells: 1})
		f.left(append(gone, "r a:x@9=v")...)
		f.delete(deletionOf(func(d *widecol.Deletion) { d.Rows = nil }), "", widecol.Deleted{})
		f.left(append(gone, "r a:x@9=v")...)
		f.delete(widecol.NewDeletion(), "", widecol.Deleted{})
		f.want("t", everything())
		f.write("t", "r a:x@1=new")
		f.want("t", everything(), "r a:x@1=new")
	}},
	{"many rows are deleted", func(f *fixture) {
		f.create("t", "a", "b+")
		var list []version
		for i := range 700 {
			list = append(list, f.parse(fmt.Sprintf("row%04d a:x@1=v", i)), f.parse(fmt.Sprintf("row%04d b:x@1=v", i)))
		}
		f.writeAll("t", list)
		tail := deletionOf(func(d *widecol.Deletion) {
			d.Rows, d.Filter, d.Count = widecol.NewRowSet(widecol.RowRange{Start: []byte("row0001")}), f.columns("b"), true
		})
		f.delete(tail, "", widecol.Deleted{Rows: 699, Cells: 699})
		f.want("t", where(f.columns("b")), "row0000 b:x@1=v")
		f.delete(deletionOf(func(d *widecol.Deletion) { d.Rows = widecol.NewRowSet(widecol.PrefixRange([]byte("row0"))) }), "", widecol.Deleted{})
		f.want("t", everything())
	}},
}
