package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

var viewCases = []testCase{
	{"a view does not see later changes", func(f *fixture) {
		before := []string{"q a:x@1=v", "r a:x@1=v", "r b:x@1=v", "s b:x@1=v"}
		for i, change := range laterChanges {
			f.create("t", "a", "b+")
			f.write("t", before...)
			view := f.view("t")
			change(f)
			view.want(everything(), before...)
			view.want(where(f.columns("b")), "r b:x@1=v", "s b:x@1=v")
			view.want(asking(func(q *widecol.Query) { q.SetKey([]byte("r")) }), "r a:x@1=v", "r b:x@1=v")
			view.close()
			if f.Failed() {
				f.Fatalf("after later change %d", i)
			}
			if _, err := f.store().Table(background, "t"); err == nil {
				f.ok(f.store().DropTable(background, "t"))
			}
		}
	}},
	{"a view knows the families of its time", func(f *fixture) {
		f.create("t", "a", "b+")
		f.write("t", "r a:x@1=v", "r b:x@1=v")
		view := f.view("t")
		defer view.close()
		f.ok(f.store().DropFamily(background, "t", "b"))
		f.ok(f.store().CreateFamilies(background, "t", spec("c").Families, false))
		view.want(where(f.columns("b")), "r b:x@1=v")
		rows, err := view.Scan(background, where(f.columns("c")))
		f.refused(err, widecol.NotFound, "unknown_column_family", 0)
		if err == nil {
			rows.Close()
		}
	}},
	{"what has gone is decided when a view is opened", func(f *fixture) {
		f.createGC("t", "a", widecol.GC{TTLSecs: 10, VersionLimit: 2})
		f.write("t", "r a:x@-5s=v", "r a:x@-4s=v", "s a:x@-12s=v")
		view := f.view("t")
		defer view.close()
		f.tick(8 * time.Second)
		f.write("t", "r a:x@+8s=new", "r a:x@+7s=new")
		f.ok(f.store().AlterFamily(background, "t", "a", widecol.ChangeGC(widecol.GC{TTLSecs: 1, VersionLimit: 1})))
		view.want(everything(), "r a:x@-4s=v", "r a:x@-5s=v")
		f.want("t", everything(), "r a:x@+8s=new")
	}},
	{"views of different moments differ", func(f *fixture) {
		f.create("t", "a", "b+")
		var views []fixtureView
		for i := range 6 {
			f.write("t", fmt.Sprintf("r a:x@1=%d", i), fmt.Sprintf("r b:x@1=%d", i))
			views = append(views, f.view("t"))
			f.remove("t", "r", f.columns("a"), 1)
		}
		for i, view := range views {
			view.want(everything(), fmt.Sprintf("r a:x@1=%d", i), fmt.Sprintf("r b:x@1=%d", i))
			view.close()
		}
		f.want("t", everything(), "r b:x@1=5")
	}},
	{"a view sees what was written before it", func(f *fixture) {
		f.create("t", "a")
		for i := range 20 {
			text := fmt.Sprintf("r a:x@1=%d", i)
			f.write("t", text)
			f.want("t", everything(), text)
		}
	}},
	{"an answer may be left before its end", func(f *fixture) {
		f.limited()
		view := f.view("t")
		defer view.close()
		for chunks := range 6 {
			a, err := ask(background, view, everything(), chunks)
			if err != nil {
				f.Fatal(err)
			}
			if err := diff(a.versions, f.parseAll(limitRows[:len(a.versions)])); err != nil {
				f.Error(err)
			}
			view.want(everything(), limitRows...)
		}
	}},
	{"an answer stays what it was while the table changes", func(f *fixture) {
		f.create("t", "a", "b+")
		versions := f.numbered("t", 300)
		view := f.view("t")
		defer view.close()
		rows, err := view.Scan(background, everything())
		if err != nil {
			f.Fatal(err)
		}
		defer rows.Close()
		r := reader{query: everything()}
		for i := 0; rows.Next(); i++ {
			if err := r.take(rows); err != nil {
				f.Fatal(err)
			}
			if i%50 == 0 {
				f.write("t", versions[299].row+" a:x@1=changed", "row999 b:x@1=added")
				if _, err := removeRow(f.store(), "t", versions[298].row, widecol.Filter{}, ""); err != nil {
					f.Fatal(err)
				}
			}
		}
		if _, err := r.end(rows); err != nil {
			f.Fatal(err)
		}
		if err := diff(r.versions, versions); err != nil {
			f.Error(err)
		}
	}},
	{"a cancelled context ends an answer", func(f *fixture) {
		f.create("t", "a")
		f.writeAll("t", manyRows(5000))
		view := f.view("t")
		defer view.close()
		ctx, cancel := context.WithCancel(background)
		rows, err := view.Scan(ctx, everything())
		if err != nil {
			f.Fatal(err)
		}
		if !rows.Next() {
			f.Fatalf("no answer: %v", rows.Err())
		}
		cancel()
		r := reader{query: everything()}
		for rows.Next() {
			r.rows++
		}
		if !errors.Is(rows.Err(), context.Canceled) {
			f.Errorf("the answer ends after %d chunks with the error %v, want %v", r.rows, rows.Err(), context.Canceled)
		}
		rows.Close()
		view.want(asking(func(q *widecol.Query) { q.RowLimit = 1 }), "row00000 a:x@1=v")
	}},
	{"a query that looks at much lets its caller interrupt it", func(f *fixture) {
		const rows = 1000
		f.create("t", "a")
		versions := manyRows(rows)
		for i := 1; i < rows; i += 2 {
			versions[i].time = 3 // so that a time between cannot be ruled out without a look
		}
		f.writeAll("t", versions)
		view := f.view("t")
		defer view.close()
		stop := errors.New("stop")
		for name, q := range map[string]*widecol.Query{
			"everything": everything(),
			"no value":   asking(func(q *widecol.Query) { q.Value = &widecol.ValueFilter{Op: widecol.Equal, Type: cell.String} }),
			"no time":    asking(func(q *widecol.Query) { q.Times = widecol.TimeRange{Start: 2, End: 3} }),
			"an offset":  asking(func(q *widecol.Query) { q.Offset = rows }),
			"no sample":  asking(func(q *widecol.Query) { q.Sample = 1e-6 }),
		} {
			calls := 0
			q.Yield = func() error { calls++; return nil }
			if _, err := ask(background, view, q, all); err != nil || calls < rows/widecol.YieldEvery {
				f.Errorf("%s: %d calls of Yield for %d rows, %v", name, calls, rows, err)
			}
			q.Yield = func() error { return stop }
			if a, err := ask(background, view, q, all); !errors.Is(err, stop) || a.stats.RowsScanned > rows/2 {
				f.Errorf("%s: got %v after %d rows, want what Yield returned", name, err, a.stats.RowsScanned)
			}
		}
		view.want(asking(func(q *widecol.Query) { q.RowLimit = 1 }), "row00000 a:x@1=v")
	}},
	{"a call with a cancelled context happens or not", func(f *fixture) {
		f.create("t", "a")
		f.write("t", "r a:x@1=before")
		ctx, cancel := context.WithCancel(background)
		cancel()
		m := f.parse("r a:x@1=after").mutation()
		_, err := f.store().Write(ctx, "t", []widecol.Mutation{m}, "")
		if err != nil && !errors.Is(err, context.Canceled) {
			f.Errorf("Write: %v, want %v or none", err, context.Canceled)
		}
		if err == nil {
			f.want("t", everything(), "r a:x@1=after")
		} else {
			f.want("t", everything(), "r a:x@1=before")
		}
	}},
	{"a closed store refuses every call", func(f *fixture) {
		f.create("t", "a")
		f.write("t", "r a:x@1=v")
		if err := f.store().Close(); err != nil {
			f.Errorf("Close: %v", err)
		}
		f.closed = true
		for name, err := range f.callAll("t") {
			if widecol.KindOf(err) != widecol.Closed {
				f.Errorf("%s after Close: %v, want an error of the kind Closed", name, err)
			}
		}
		f.store().CacheStats()
	}},
	{"a store can be closed while it is called", func(f *fixture) {
		f.create("t", "a", "b+", "c+")
		f.closeUnderCalls()
	}},
	{"writes, reads and views at the same time are whole", func(f *fixture) {
		f.create("t", "a", "b+", "c+")
		f.concurrently()
	}},
}

// laterChanges are changes that a view of t must not see.
var laterChanges = []func(f *fixture){
	func(f *fixture) {},
	func(f *fixture) {
		f.write("t", "r a:x@1=new", "r a:y@1=new", "p a:x@1=new", "r b:x@2=new", "z b:x=new")
	},
	func(f *fixture) { f.remove("t", "r", widecol.Filter{}, 2) },
	func(f *fixture) { f.remove("t", "r", f.columns("b"), 1); f.remove("t", "q", f.columns("a:x"), 1) },
	func(f *fixture) { f.remove("t", "r", widecol.Filter{}, 2); f.write("t", "r a:x@1=new", "r b:x@1=new") },
	func(f *fixture) { f.ok(f.store().DropFamily(background, "t", "a")) },
	func(f *fixture) { f.ok(f.store().DropFamily(background, "t", "b")) },
	func(f *fixture) {
		f.ok(f.store().DropFamily(background, "t", "b"))
		f.ok(f.store().CreateFamilies(background, "t", spec("b").Families, false))
		f.write("t", "r b:x@1=new")
	},
	func(f *fixture) { f.ok(f.store().DropTable(background, "t")) },
	func(f *fixture) {
		f.ok(f.store().DropTable(background, "t"))
		f.create("t", "a", "b+")
		f.write("t", "r a:x@1=new")
	},
	func(f *fixture) {
		f.ok(f.store().AlterFamily(background, "t", "a", widecol.ChangeGC(widecol.GC{TTLSecs: 1})))
	},
	func(f *fixture) { f.tick(1000 * time.Hour); f.tick(-500 * time.Hour) },
	func(f *fixture) {
		for _, hook := range []func() error{f.subject.Flush, f.subject.Compact} {
			f.ok(optional(hook))
		}
	},
	func(f *fixture) {
		for i := range 20 {
			f.write("t", fmt.Sprintf("r a:x@1=%d", i), strings.Repeat("x", i+1)+" b:x@1=v")
		}
	},
}

func manyRows(n int) []version {
	versions := make([]version, n)
	for i := range versions {
		versions[i] = version{fmt.Sprintf("row%05d", i), "a", "x", 1, cell.String, "v"}
	}
	return versions
}

// concurrently runs goroutines that write the same rows of t, each request with one value in all
// cells, while other goroutines check that they never see a part of a request.
func (f *fixture) concurrently() {
	const writers, readers, writes = 3, 2, 60
	var working, watching sync.WaitGroup
	done := make(chan struct{})
	for w := range writers {
		working.Go(func() {
			for i := range writes {
				if err := f.writeUniform(fmt.Sprintf("%d-%d", w, i)); err != nil {
					f.Errorf("Write: %v", err)
				}
			}
		})
	}
	for range readers {
		watching.Go(func() {
			for {
				if err := f.checkUniform(); err != nil {
					f.Error(err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	working.Wait()
	close(done)
	watching.Wait()
	if err := f.checkUniform(); err != nil {
		f.Error(err)
	}
}

// writeUniform writes one value to three families of three rows.
func (f *fixture) writeUniform(value string) error {
	var versions []version
	for _, row := range []string{"p", "q", "r"} {
		for _, family := range []string{"a", "b", "c"} {
			versions = append(versions, version{row, family, "x", 1, cell.String, value})
		}
	}
	_, err := f.tryWrite("t", versions...)
	return err
}

// checkUniform checks that a view shows all of a request of writeUniform, or nothing yet.
func (f *fixture) checkUniform() error {
	view, err := f.store().View(background, "t")
	if err != nil {
		return err
	}
	defer view.Close()
	a, err := ask(background, view, everything(), all)
	if err != nil {
		return err
	}
	for _, v := range a.versions {
		if len(a.versions) != 9 || v.value != a.versions[0].value {
			return fmt.Errorf("a view shows a request in part: %v", a.versions)
		}
	}
	return nil
}

// closeUnderCalls closes the Store while goroutines write and read. Their calls must succeed until
// one fails with the kind Closed.
func (f *fixture) closeUnderCalls() {
	const callers = 4
	var calling, begun sync.WaitGroup
	begun.Add(callers)
	for i := range callers {
		calling.Go(func() {
			working := sync.OnceFunc(begun.Done)
			defer working()
			for n := 0; ; n++ {
				err := f.checkUniform()
				if i%2 == 0 && err == nil {
					err = f.writeUniform(fmt.Sprint(i, n))
				}
				if err != nil {
					if widecol.KindOf(err) != widecol.Closed {
						f.Errorf("a call during Close: %v, want an error of the kind Closed", err)
					}
					return
				}
				if n == 3 {
					working()
				}
			}
		})
	}
	begun.Wait()
	f.closed = true
	if err := f.store().Close(); err != nil {
		f.Errorf("Close: %v", err)
	}
	calling.Wait()
}
