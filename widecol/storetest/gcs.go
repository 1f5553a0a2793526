package storetest

import (
	"fmt"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

var gcCases = []testCase{
	{"ttl: a version goes at its age, to the microsecond", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{TTLSecs: 10})
		f.write("t", "r a:x@-10s=gone", "r a:x@-9.999999s=left", "r a:x@+0s=now")
		f.want("t", everything(), "r a:x@+0s=now", "r a:x@-9.999999s=left")
		f.tick(time.Microsecond)
		f.want("t", everything(), "r a:x@+0s=now")
		f.tick(10*time.Second - 2*time.Microsecond)
		f.want("t", everything(), "r a:x@+0s=now")
		f.tick(time.Microsecond)
		f.want("t", everything())
	}},
	{"ttl: a version with time 0 or in the future has no age", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{TTLSecs: 1})
		latest := fmt.Sprintf("r a:x@%d=max", cell.MaxTime)
		f.write("t", "r a:x@0=zero", "r a:x@1=gone", "r a:x@+1µs=future", latest)
		f.want("t", everything(), latest, "r a:x@+1µs=future", "r a:x@0=zero")
		f.tick(time.Second)
		f.want("t", everything(), latest, "r a:x@+1µs=future", "r a:x@0=zero")
		f.tick(time.Microsecond)
		f.want("t", everything(), latest, "r a:x@0=zero")
		f.tick(1000 * time.Hour)
		f.want("t", everything(), latest, "r a:x@0=zero")
	}},
	{"ttl: the largest keeps everything", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{TTLSecs: widecol.MaxTTLSecs})
		f.write("t", "r a:x@+0s=v", "r a:x@1=v", "r a:x@0=v")
		f.want("t", everything(), "r a:x@+0s=v", "r a:x@1=v", "r a:x@0=v")
	}},
	{"ttl: each version for itself", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{TTLSecs: 10})
		f.write("t", "q a:x@-11s=v", "r a:x@-11s=v", "r a:y@-5s=v", "s a:x@-5s=v", "s a:x@-20s=v")
		f.want("t", everything(), "r a:y@-5s=v", "s a:x@-5s=v")
	}},
	{"version limit: the newest stay, in each column", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{VersionLimit: 2})
		f.write("t", "r a:x@1=v", "r a:x@2=v", "r a:x@3=v", "r a:y@1=v", "s a:x@0=v", "s a:x@1=v", "s a:x@9=v")
		f.want("t", everything(), "r a:x@3=v", "r a:x@2=v", "r a:y@1=v", "s a:x@9=v", "s a:x@1=v")
		f.write("t", "r a:x@5=v", "r a:y@2=v")
		f.want("t", everything(), "r a:x@5=v", "r a:x@3=v", "r a:y@2=v", "r a:y@1=v", "s a:x@9=v", "s a:x@1=v")
	}},
	{"version limit: an older version than those that stay is never seen", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{VersionLimit: 2})
		f.write("t", "r a:x@5=v", "r a:x@6=v")
		f.write("t", "r a:x@4=older")
		f.want("t", everything(), "r a:x@6=v", "r a:x@5=v")
	}},
	{"version limit: a replaced version counts once", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{VersionLimit: 2})
		f.write("t", "r a:x@1=v")
		for i := range 3 {
			f.write("t", fmt.Sprintf("r a:x@2=%d", i))
		}
		f.want("t", everything(), "r a:x@2=2", "r a:x@1=v")
	}},
	{"version limit: deleted versions do not count", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{VersionLimit: 1})
		f.write("t", "r a:x@5=v", "r a:y@5=v")
		f.remove("t", "r", f.columns("a:x"), 1)
		f.write("t", "r a:x@3=v")
		f.want("t", everything(), "r a:x@3=v", "r a:y@5=v")
	}},
	{"either limit is enough", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{TTLSecs: 10, VersionLimit: 2})
		f.write("t", "r a:x@-12s=v", "r a:y@-3s=v", "r a:y@-2s=v", "r a:y@-1s=v", "r a:z@-1s=v", "r a:z@-11s=v")
		f.want("t", everything(), "r a:y@-1s=v", "r a:y@-2s=v", "r a:z@-1s=v")
	}},
	{"intersection: both limits are needed", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{TTLSecs: 10, VersionLimit: 1, Intersection: true})
		f.write("t", "r a:w@-12s=v", "r a:x@-3s=v", "r a:x@-2s=v", "r a:x@-1s=v", "r a:y@-1s=v", "r a:y@-11s=v", "r a:y@0=v",
			"r a:z@-13s=v", "r a:z@-12s=v")
		f.want("t", everything(), "r a:w@-12s=v", "r a:x@-1s=v", "r a:x@-2s=v", "r a:x@-3s=v", "r a:y@-1s=v", "r a:y@0=v", "r a:z@-12s=v")
	}},
	{"each family has its own settings", func(f *fixture) {
		f.ok(f.store().CreateTable(background, "t", widecol.TableSpec{
			Families: []widecol.Family{{Name: "a", GC: widecol.GC{VersionLimit: 1}}, {Name: "b"}, {Name: "c", GC: widecol.GC{TTLSecs: 10}}},
			Groups:   [][]string{{"a", "c"}},
		}))
		for _, family := range []string{"a", "b", "c"} {
			f.write("t", "r "+family+":x@-11s=v", "r "+family+":x@-5s=v", "r "+family+":x@-4s=v")
		}
		f.want("t", everything(), "r a:x@-4s=v", "r b:x@-4s=v", "r b:x@-5s=v", "r b:x@-11s=v", "r c:x@-4s=v", "r c:x@-5s=v")
	}},
	{"new settings hold at once", func(f *fixture) {
		f.create("t", "a")
		f.write("t", "r a:x@-30s=v", "r a:x@-20s=v", "r a:x@-10s=v", "r a:x@-5s=v")
		for _, step := range []struct {
			gc   widecol.GC
			want []string
		}{
			{widecol.GC{TTLSecs: 31}, []string{"r a:x@-5s=v", "r a:x@-10s=v", "r a:x@-20s=v", "r a:x@-30s=v"}},
			{widecol.GC{}, []string{"r a:x@-5s=v", "r a:x@-10s=v", "r a:x@-20s=v", "r a:x@-30s=v"}},
			{widecol.GC{VersionLimit: 3}, []string{"r a:x@-5s=v", "r a:x@-10s=v", "r a:x@-20s=v"}},
			{widecol.GC{VersionLimit: 3, TTLSecs: 20}, []string{"r a:x@-5s=v", "r a:x@-10s=v"}},
			{widecol.GC{VersionLimit: 1, TTLSecs: 20}, []string{"r a:x@-5s=v"}},
			{widecol.GC{VersionLimit: 1, TTLSecs: 5}, nil},
		} {
			f.ok(f.store().AlterFamily(background, "t", "a", widecol.ChangeGC(step.gc)))
			f.want("t", everything(), step.want...)
		}
	}},
	{"what has gone takes no place in limits", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{TTLSecs: 10, VersionLimit: 2})
		f.write("t", "p a:x@-11s=v", "q a:x@-11s=v", "q a:y@-1s=v", "r a:x@-3s=v", "r a:x@-2s=v", "r a:x@-1s=v", "r a:y@-1s=v", "s a:x@-20s=v", "t a:x@-1s=v")
		f.want("t", asking(func(q *widecol.Query) { q.RowLimit = 2 }), "q a:y@-1s=v", "r a:x@-1s=v", "r a:x@-2s=v", "r a:y@-1s=v")
		f.want("t", asking(func(q *widecol.Query) { q.Offset = 1 }), "r a:x@-1s=v", "r a:x@-2s=v", "r a:y@-1s=v", "t a:x@-1s=v")
		f.want("t", asking(func(q *widecol.Query) { q.RowCellLimit, q.CellLimit = 3, 5 }),
			"q a:y@-1s=v", "r a:x@-1s=v", "r a:x@-2s=v", "r a:y@-1s=v", "t a:x@-1s=v")
		f.want("t", asking(func(q *widecol.Query) { q.Sample = 0.5 }), "q a:y@-1s=v", "t a:x@-1s=v")
	}},
	{"an expired version can be written again", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{TTLSecs: 10})
		f.write("t", "r a:x@-5s=old")
		f.tick(20 * time.Second)
		f.want("t", everything())
		f.write("t", "r a:x@+15s=new", "r a:x@-5s=again")
		f.want("t", everything(), "r a:x@+15s=new")
	}},
	{"ttl: what is newer than a clock that has stepped back has no age", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{TTLSecs: 5})
		f.write("t", "r a:x@-1s=v", "r a:x@+0s=v", "s a:x@-4s=v")
		f.tick(-20 * time.Second)
		f.want("t", everything(), "r a:x@+0s=v", "r a:x@-1s=v", "s a:x@-4s=v")
		f.write("t", "r a:y@-30s=gone", "r a:y@-20s=v")
		f.want("t", everything(), "r a:x@+0s=v", "r a:x@-1s=v", "r a:y@-20s=v", "s a:x@-4s=v")
		f.tick(21 * time.Second)
		f.want("t", everything(), "r a:x@+0s=v", "r a:x@-1s=v")
		f.tick(4 * time.Second)
		f.want("t", everything())
	}},
	{"a version that has gone can be written again, in its place", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{TTLSecs: 10, VersionLimit: 1})
		f.write("t", "r a:x@-5s=old", "s a:x@-5s=old")
		f.write("t", "r a:x@-4s=newer")
		f.want("t", everything(), "r a:x@-4s=newer", "s a:x@-5s=old")
		f.tick(5 * time.Second)
		f.want("t", everything(), "r a:x@-4s=newer")
		f.write("t", "r a:x@-5s=again", "s a:x@-5s=again")
		f.want("t", everything(), "r a:x@-4s=newer")
		f.ok(f.store().AlterFamily(background, "t", "a", widecol.ChangeGC(widecol.GC{})))
		f.write("t", "r a:x@-5s=new", "s a:x@-5s=new")
		f.want("t", everything(), "r a:x@-4s=newer", "r a:x@-5s=new", "s a:x@-5s=new")
	}},
}
