package storetest

import (
	"fmt"
	"slices"

	"github.com/colonnade-db/colonnade/widecol"
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
	t := f.describe("t")
	if err := checkAdvice(&a, &t); err != nil {
		f.Error(err)
	}
	if a.Since > f.clock.Now() {
		f.Errorf("queries count since %d; it is %d", a.Since, f.clock.Now())
	}
	return a
}
