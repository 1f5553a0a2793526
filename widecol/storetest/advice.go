package storetest

import (
	"fmt"
	"slices"

	"colonnade/widecol"
)

var adviceCases = []testCase{
	{"advice can be followed, and changes no answer", func(f *fixture) {
		f.create("t", "a", "b", "c+", "d+")
		var texts []string
		for i := range 40 {
			for _, column := range []string{"a:x@1=v", "b:x@1=a longer value than the other ones have", "c:x@1=v", "d:x@1=v"} {
				texts = append(texts, fmt.Sprintf("r%02d %s", i, column))
			}
		}
		f.write("t", texts...)
		f.checkAdvice()
		for range 3 {
			for range 20 {
				f.ask("t", where(f.columns("a")))
				q := where(f.columns("c", "d"))
				q.SetKey([]byte("r07"))
				f.ask("t", q)
			}
			for _, m := range f.checkAdvice().Moves {
				f.move(m.Family, m.Place)
				f.arrive(func() {})
			}
			f.want("t", everything(), texts...)
		}
	}},
	{"advice counts queries by the families that they can select from", func(f *fixture) {
		f.create("t", "a", "b", "c+")
		f.write("t", "r a:x@1=v", "r b:x@1=v", "r c:x@1=v")
		since := f.checkAdvice().Since
		f.ask("t", where(f.columns("a:x", "c")))
		f.tick(1e9)
		a := f.checkAdvice()
		if a.Since != since {
			f.Errorf("a query has changed the beginning from %d to %d", since, a.Since)
		}
		for _, q := range a.Queries {
			if !slices.Equal(q.Families, []string{"a", "c"}) || q.Queries != 1 || q.BytesRead == 0 {
				f.Errorf("a query of a:x and c is counted as %+v", q)
			}
		}
	}},
}

// checkAdvice returns the advice for table t, and checks what it says of the table and that its numbers fit.
func (f *fixture) checkAdvice() widecol.Advice {
	f.Helper()
	a, err := f.store().Advice(background, "t")
	f.ok(err)
	table := f.describe("t")
	if len(a.Families) != len(table.Families) {
		f.Fatalf("advice has the families %+v, the table %+v", a.Families, table.Families)
	}
	names := make([]string, len(a.Families))
	for i, size := range a.Families {
		names[i] = size.Family
		if size.Family != table.Families[i].Name || size.Place != f.groupOf(size.Family) || size.Bytes < 0 {
			f.Errorf("a family is %+v, in the table it is %+v in group %q", size, table.Families[i], f.groupOf(size.Family))
		}
	}
	for _, q := range a.Queries {
		if q.Queries < 1 || q.Partitions < 0 || q.BytesOver < 0 || q.BytesRead < q.BytesOver || !slices.IsSorted(q.Families) {
			f.Errorf("queries are counted as %+v", q)
		}
		for _, name := range q.Families {
			if !slices.Contains(names, name) {
				f.Errorf("queries of an unknown family are counted: %+v", q)
			}
		}
	}
	moved := make(map[string]bool)
	for _, m := range a.Moves {
		if moved[m.Family] || m.SavesBytes <= 0 && m.SavesPartitions <= 0 || m.Place == f.groupOf(m.Family) {
			f.Errorf("a move of %s, now in %q, is advised as %+v", m.Family, f.groupOf(m.Family), m)
		}
		moved[m.Family] = true
	}
	if a.Since > f.clock.Now() || a.Others < 0 {
		f.Errorf("queries count since %d, %d of them apart; it is %d", a.Since, a.Others, f.clock.Now())
	}
	return a
}
