package storetest

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// merging creates table t with the families sum, min and max, of those operators, in a group, and a, which sets.
func (f *fixture) merging() {
	f.Helper()
	f.ok(f.store().CreateTable(background, "t", widecol.TableSpec{
		Families: []widecol.Family{
			{Name: "a"}, {Name: "sum", Merge: widecol.MergeSum, Annotation: "\xff"}, {Name: "min", Merge: widecol.MergeMin}, {Name: "max", Merge: widecol.MergeMax},
		},
		Groups: [][]string{{"sum", "max"}},
	}))
}

// merge returns a Merge of a number, such as 5, with the version at a place, such as "r sum:x@1".
func (f *fixture) merge(place string, n int64) widecol.Mutation {
	v := f.number(place, n)
	m := v.mutation()
	m.Op = widecol.Merge
	return m
}

// merged checks what table t holds: numbers at places.
func (f *fixture) merged(places string, numbers ...int64) {
	f.Helper()
	var want []version
	for i, place := range strings.Split(places, ", ") {
		want = append(want, f.number(place, numbers[i]))
	}
	f.wantVersions("t", everything(), want)
}

// untyped makes a read-modify-write of row r of Bigtable's kind.
func (f *fixture) untyped(rules ...widecol.Rule) []cell.Cell {
	f.Helper()
	for i := range rules {
		rules[i].Untyped = true
	}
	written, _, err := f.store().ReadModifyWrite(background, "t", &widecol.ReadModifyWrite{Row: []byte("r"), Rules: rules, Granule: 1000}, "")
	f.ok(err)
	return written
}

var mergeCases = []testCase{
	{"a family combines values by its operator", func(f *fixture) {
		f.merging()
		f.mutate("t", f.merge("r sum:x@1", 5), f.merge("r min:x@1", 5), f.merge("r max:x@1", 5), f.merge("r sum:x@2", 100))
		f.merged("r max:x@1, r min:x@1, r sum:x@2, r sum:x@1", 5, 5, 100, 5)
		f.mutate("t", f.merge("r sum:x@1", -7), f.merge("r min:x@1", -7), f.merge("r max:x@1", -7))
		f.mutate("t", f.merge("r sum:x@1", 3), f.merge("r min:x@1", 3), f.merge("r max:x@1", 8))
		f.merged("r max:x@1, r min:x@1, r sum:x@2, r sum:x@1", 8, -7, 100, 1)
		f.mutate("t", f.merge("r sum:x@1", math.MaxInt64))
		f.merged("r max:x@1, r min:x@1, r sum:x@2, r sum:x@1", 8, -7, 100, math.MinInt64)
	}},
	{"merges of one request apply in order", func(f *fixture) {
		f.merging()
		f.mutate("t", f.merge("r sum:x@1", 1), f.merge("r sum:x@2", 10), f.merge("r sum:x@1", 2), f.merge("s sum:x@1", 7))
		f.merged("r sum:x@2, r sum:x@1, s sum:x@1", 10, 3, 7)
		f.mutate("t", f.merge("r sum:x@1", 1), f.merge("r sum:y@1", 4), unset("r", "sum:x"), f.merge("r sum:x@1", 5), f.merge("r sum:y@1", 4), f.merge("r sum:x@1", 6))
		f.merged("r sum:x@1, r sum:y@1, s sum:x@1", 11, 8, 7)
		f.mutate("t", f.merge("r sum:x@1", 1), unset("r", "sum:x", 1, 2), f.merge("r sum:x@1", 2), f.merge("r sum:x@2", 9), unset("r", "sum:x", 1, 2))
		f.merged("r sum:x@2, r sum:y@1, s sum:x@1", 9, 8, 7)
		f.mutate("t", unset("r", "sum"), f.merge("r sum:y@1", 1), unset("s", ""), f.merge("s sum:x@1", 2), f.merge("s sum:x@1", 2))
		f.merged("r sum:y@1, s sum:x@1", 1, 4)
	}},
	{"a condition decides about merges, and rows are merged one by one", func(f *fixture) {
		f.merging()
		f.check(widecol.CheckAndMutate{If: widecol.NewQuery(), Else: []widecol.Mutation{f.merge("r sum:x@1", 1), f.merge("r sum:x@1", 1)}}, "", false)
		f.check(widecol.CheckAndMutate{If: widecol.NewQuery(), Then: []widecol.Mutation{f.merge("r sum:x@1", 5)}}, "", true)
		_, outcomes, err := f.store().WriteRows(background, "t", [][]widecol.Mutation{
			{f.merge("r sum:x@1", 1)}, {f.merge("s a:x@1", 1)}, {f.merge("s sum:x@1", 1)}, {f.merge("r sum:x@1", 1)},
		}, "")
		f.ok(err)
		f.refused(outcomes[1], widecol.Invalid, "no_merge_operator", 0)
		f.merged("r sum:x@1, s sum:x@1", 9, 1)
	}},
	{"a merge under a key counts once", func(f *fixture) {
		f.merging()
		for range 3 {
			_, err := f.store().Write(background, "t", []widecol.Mutation{f.merge("r sum:x@1", 5)}, "k")
			f.ok(err)
		}
		f.merged("r sum:x@1", 5)
	}},
	{"a family takes what its operator allows", func(f *fixture) {
		f.merging()
		typed := f.set("r a:x@1=v")
		typed.Op, typed.Family = widecol.Merge, []byte("sum")
		for _, bad := range []struct {
			m    widecol.Mutation
			code string
		}{
			{f.merge("r a:x@1", 1), "no_merge_operator"}, {f.set("r sum:x@1=v"), "merge_only"},
			{f.merge("r sum:x", 1), "invalid_mutation"}, {f.merge("r sum:x@-1", 1), "invalid_mutation"}, {typed, "invalid_mutation"},
		} {
			_, err := f.store().Write(background, "t", []widecol.Mutation{f.merge("r sum:x@1", 1), bad.m}, "")
			f.refused(err, widecol.Invalid, bad.code, 1)
		}
		f.notUpdated(widecol.Invalid, "merge_only", 0, increment("sum", "x", 1))
		f.want("t", everything())
	}},
	{"all merges count, whoever makes them", func(f *fixture) {
		f.merging()
		var wait sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wait.Go(func() {
				for range 25 {
					if _, err := f.store().Write(background, "t", []widecol.Mutation{f.merge("r sum:x@1", 1)}, ""); err != nil {
						errs[i] = err
					}
				}
			})
		}
		wait.Wait()
		for _, err := range errs {
			f.ok(err)
		}
		f.merged("r sum:x@1", 200)
	}},
	{"operators and annotations stay with their families", func(f *fixture) {
		f.merging()
		long, note := strings.Repeat("x", widecol.MaxAnnotation+1), "note"
		f.ok(f.store().CreateFamilies(background, "t", []widecol.Family{{Name: "b", Merge: widecol.MergeMin, Annotation: "b"}}, true))
		f.ok(f.store().AlterFamily(background, "t", "a", widecol.FamilyChange{Annotation: &note}))
		f.ok(f.store().AlterFamily(background, "t", "sum", widecol.ChangeGC(widecol.GC{VersionLimit: 3})))
		f.refused(f.store().AlterFamily(background, "t", "a", widecol.FamilyChange{Annotation: &long}), widecol.TooLarge, "annotation_too_large", -1)
		f.refused(f.store().CreateFamilies(background, "t", []widecol.Family{{Name: "c", Merge: widecol.MergeMax + 1}}, false), widecol.Invalid, "invalid_merge_operator", 0)
		got := fmt.Sprintf("%#v", f.describe("t").Families)
		want := fmt.Sprintf("%#v", []widecol.Family{
			{Name: "a", Annotation: note}, {Name: "b", Merge: widecol.MergeMin, Annotation: "b"}, {Name: "max", Merge: widecol.MergeMax},
			{Name: "min", Merge: widecol.MergeMin}, {Name: "sum", GC: widecol.GC{VersionLimit: 3}, Merge: widecol.MergeSum, Annotation: "\xff"},
		})
		if got != want {
			f.Errorf("the families are\n%s, want\n%s", got, want)
		}
	}},
	{"an untyped increment takes bytes, and wraps around", func(f *fixture) {
		f.create("t", "a")
		f.writeAll("t", []version{f.number("r a:typed@1", math.MaxInt64)})
		for range 2 {
			f.untyped(increment("a", "typed", 1), increment("a", "new", math.MaxInt64))
		}
		written := f.untyped(increment("a", "new", 5), increment("a", "typed", 1))
		big := binary.BigEndian.AppendUint64(nil, 3) // twice the largest, and 5
		if len(written) != 2 || written[0].Type != cell.Bytes || string(written[0].Value) != string(big) ||
			written[1].Type != cell.I64 || int64(binary.LittleEndian.Uint64(written[1].Value)) != math.MinInt64+2 {
			f.Errorf("the versions written are %+v", written)
		}
		f.write("t", "r a:text@1=seven b")
		for _, r := range []widecol.Rule{increment("a", "text", 1), increment("a", "typed2", 1)} {
			r.Untyped = true
			if string(r.Qualifier) == "text" {
				f.notUpdated(widecol.Conflict, "not_a_number", 0, r)
			}
		}
	}},
	{"an untyped append may make a string bytes", func(f *fixture) {
		f.create("t", "a")
		f.write("t", "r a:x@1=text", "r a:y@1=text")
		written := f.untyped(appending("a", "x", cell.Bytes, "\xff"), appending("a", "y", cell.Bytes, "é"))
		if len(written) != 2 || written[0].Type != cell.Bytes || string(written[0].Value) != "text\xff" || written[1].Type != cell.String {
			f.Errorf("the versions written are %+v", written)
		}
	}},
	{"an update with a granule writes multiples of it", func(f *fixture) {
		f.create("t", "a")
		future := (start/1000)*1000 + 1_000_000_000
		f.writeAll("t", []version{f.number(fmt.Sprintf("r a:x@%d", future+1), 1)})
		for i := range int64(3) {
			written := f.untyped(increment("a", "x", 1), increment("a", "now", 1))
			if at := written[1].Time; at != future+1000*(i+1) || written[0].Time%1000 != 0 {
				f.Errorf("update %d has the times %d and %d", i, written[0].Time, at)
			}
		}
	}},
}
