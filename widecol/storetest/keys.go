package storetest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/colonnade-db/colonnade/widecol"
)

// send writes with an idempotency key.
func (f *fixture) send(table, key string, texts ...string) (int64, error) {
	f.Helper()
	var ms []widecol.Mutation
	for _, v := range f.parseAll(texts) {
		ms = append(ms, v.mutation())
	}
	return f.store().Write(background, table, ms, key)
}

// mustSend is send for a request that must succeed.
func (f *fixture) mustSend(table, key string, texts ...string) int64 {
	f.Helper()
	time, err := f.send(table, key, texts...)
	f.ok(err)
	return time
}

// removeUnder deletes with an idempotency key and checks the number of versions deleted.
func (f *fixture) removeUnder(key, table, row string, filter widecol.Filter, want int64) {
	f.Helper()
	got, err := removeRow(f.store(), table, row, filter, key)
	f.ok(err)
	if got != want {
		f.Errorf("deleted %d cells of row %s under the key %s, want %d", got, short(row), key, want)
	}
}

const window = widecol.IdempotencyWindowSecs * time.Second

var keyCases = []testCase{
	{"a write sent again under its key changes nothing", func(f *fixture) {
		f.create("t", "a", "b+")
		first := f.mustSend("t", "k", "r a:x=v", "r b:x=v", "r a:y@7=old")
		f.write("t", "r a:y@7=new")
		other := f.write("t", "r a:x=w")
		for range 2 {
			if again := f.mustSend("t", "k", "r a:x=v", "r b:x=v", "r a:y@7=old"); again != first {
				f.Errorf("the second time it returns %d, want %d as the first", again, first)
			}
		}
		f.want("t", everything(), fmt.Sprintf("r a:x@%d=w", other), fmt.Sprintf("r a:x@%d=v", first), "r a:y@7=new", fmt.Sprintf("r b:x@%d=v", first))
	}},
	{"a deletion sent again under its key changes nothing", func(f *fixture) {
		f.create("t", "a", "b+")
		f.write("t", "r a:x@1=v", "r a:x@2=v", "r b:x@1=v")
		f.removeUnder("k", "t", "r", f.columns("a"), 2)
		f.write("t", "r a:x@3=v")
		f.removeUnder("k", "t", "r", f.columns("a"), 2)
		f.want("t", everything(), "r a:x@3=v", "r b:x@1=v")
	}},
	{"a deletion that finds nothing keeps its key", func(f *fixture) {
		f.create("t", "a")
		f.removeUnder("k", "t", "r", widecol.Filter{}, 0)
		f.write("t", "r a:x@3=v")
		f.removeUnder("k", "t", "r", widecol.Filter{}, 0)
		f.want("t", everything(), "r a:x@3=v")
	}},
	{"a key is for one request", func(f *fixture) {
		f.create("t", "a")
		f.mustSend("t", "k", "r a:x@1=v", "r a:y@1=v")
		for _, texts := range [][]string{
			{"r a:x@1=w", "r a:y@1=v"}, {"r a:x@2=v", "r a:y@1=v"}, {"r a:x=v", "r a:y@1=v"}, {"q a:x@1=v", "r a:y@1=v"},
			{"r a:x@1=v"}, {"r a:x@1=v", "r a:y@1=v", "r a:z@1=v"}, {"r a:y@1=v", "r a:x@1=v"}, {"r a:xr@1=", "r a:y@1=v"},
		} {
			_, err := f.send("t", "k", texts...)
			f.refused(err, widecol.KeyReused, "idempotency_key_reused", -1)
		}
		_, err := removeRow(f.store(), "t", "r", widecol.Filter{}, "k")
		f.refused(err, widecol.KeyReused, "idempotency_key_reused", -1)

		f.removeUnder("d", "t", "q", widecol.Filter{}, 0)
		for _, filter := range []widecol.Filter{f.columns("a:x"), f.columns("a"), widecol.PrefixFilter("\x00")} {
			_, err := removeRow(f.store(), "t", "q", filter, "d")
			f.refused(err, widecol.KeyReused, "idempotency_key_reused", -1)
		}
		_, err = removeRow(f.store(), "t", "r", widecol.Filter{}, "d")
		f.refused(err, widecol.KeyReused, "idempotency_key_reused", -1)
		f.want("t", everything(), "r a:x@1=v", "r a:y@1=v")
	}},
	{"a request that was refused leaves its key free", func(f *fixture) {
		f.create("t", "a")
		_, err := f.send("t", "k", "r a:x@1=v", "r b:x@1=v")
		f.refused(err, widecol.NotFound, "unknown_column_family", 1)
		_, err = removeRow(f.store(), "t", "r", f.columns("b"), "k")
		f.refused(err, widecol.NotFound, "unknown_column_family", 0)
		f.ok(f.store().CreateFamilies(background, "t", spec("b").Families, false))
		f.mustSend("t", "k", "r a:x@1=v", "r b:x@1=v")
		f.want("t", everything(), "r a:x@1=v", "r b:x@1=v")
	}},
	{"a request is answered under its key when its family is gone", func(f *fixture) {
		f.create("t", "a", "b")
		first := f.mustSend("t", "k", "r a:x=v")
		f.ok(f.store().DropFamily(background, "t", "a"))
		if again := f.mustSend("t", "k", "r a:x=v"); again != first {
			f.Errorf("the second time it returns %d, want %d as the first", again, first)
		}
	}},
	{"keys belong to a table", func(f *fixture) {
		f.create("t", "a")
		f.create("u", "a")
		f.mustSend("t", "k", "r a:x@1=v")
		f.mustSend("u", "k", "r a:x@2=w")
		f.want("u", everything(), "r a:x@2=w")
		f.ok(f.store().DropTable(background, "t"))
		_, err := f.send("t", "k", "r a:x@1=v")
		f.refused(err, widecol.NotFound, "unknown_table", -1)
		f.create("t", "a")
		f.mustSend("t", "k", "r a:x@1=v")
		f.want("t", everything(), "r a:x@1=v")
	}},
	{"keys do not show", func(f *fixture) {
		f.create("t", "a")
		f.mustSend("t", "k", "r a:x@1=v")
		f.wantTables("t")
		f.wantPartitions("t", "_man_t", "_dat_t")
	}},
	{"a key is forgotten at its age, to the microsecond", func(f *fixture) {
		f.create("t", "a")
		first := f.mustSend("t", "k", "r a:x=v")
		f.clock.Set(first + window.Microseconds() - 1)
		if again := f.mustSend("t", "k", "r a:x=v"); again != first {
			f.Errorf("before, it returns %d, want %d as the first time", again, first)
		}
		f.clock.Set(first + window.Microseconds())
		anew := f.mustSend("t", "k", "r a:x=v")
		if again := f.mustSend("t", "k", "r a:x=v"); again != anew || anew <= first {
			f.Errorf("forgotten, it returns %d and then %d, want a new time", anew, again)
		}
		f.want("t", everything(), fmt.Sprintf("r a:x@%d=v", anew), fmt.Sprintf("r a:x@%d=v", first))
		f.removeUnder("d", "t", "r", widecol.Filter{}, 2)
		f.tick(window + time.Second) // the commit time may be above the clock's
		f.removeUnder("d", "t", "r", widecol.Filter{}, 0)
	}},
	{"a key is kept when the clock steps back", func(f *fixture) {
		f.create("t", "a")
		first := f.mustSend("t", "k", "r a:x=v")
		for _, d := range []time.Duration{-time.Hour, -window, 2 * time.Hour} {
			f.tick(d)
			if again := f.mustSend("t", "k", "r a:x=v"); again != first {
				f.Errorf("after a step of the clock it returns %d, want %d as the first time", again, first)
			}
		}
		f.mustSend("t", "l", "r a:x@1=v")
		f.mustSend("t", "l", "r a:x@1=v")
	}},
	{"a key is visible ASCII", func(f *fixture) {
		f.create("t", "a")
		for _, key := range []string{" ", "a b", "a\x00", "a\n", "é", "\x7f", strings.Repeat("k", widecol.MaxIdempotencyKey+1)} {
			_, err := f.send("t", key, "r a:x@1=v")
			f.refused(err, widecol.Invalid, "invalid_idempotency_key", -1)
			_, err = removeRow(f.store(), "t", "r", widecol.Filter{}, key)
			f.refused(err, widecol.Invalid, "invalid_idempotency_key", -1)
		}
		f.want("t", everything())
		for i, key := range []string{"!", "~", `"quoted"`, strings.Repeat("k", widecol.MaxIdempotencyKey)} {
			f.mustSend("t", key, fmt.Sprintf("r a:x@%d=v", i))
		}
		f.want("t", everything(), "r a:x@3=v", "r a:x@2=v", "r a:x@1=v", "r a:x@0=v")
	}},
	{"of requests with one key at the same time one is applied", func(f *fixture) {
		f.create("t", "a")
		for round := range 20 {
			row, key := fmt.Sprintf("r%02d", round), fmt.Sprint("k", round)
			var sending sync.WaitGroup
			times, errs := make([]int64, 8), make([]error, 8)
			for i := range times {
				sending.Go(func() { times[i], errs[i] = f.send("t", key, row+" a:x=v") })
			}
			sending.Wait()
			first := f.mustSend("t", key, row+" a:x=v")
			for i := range times {
				if errs[i] != nil {
					f.refused(errs[i], widecol.KeyInUse, "idempotency_key_in_use", -1)
				} else if times[i] != first {
					f.Errorf("one is told that it was applied at %d, one at %d", first, times[i])
				}
			}
			f.want("t", asking(func(q *widecol.Query) { q.SetKey([]byte(row)) }), fmt.Sprintf("%s a:x@%d=v", row, first))
		}
	}},
}
