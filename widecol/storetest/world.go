package storetest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// world is a Store under test and its model, in one Env. Operations run on both.
type world struct {
	subject  *Subject
	model    *memstore.Store
	clock    *clock
	grouping grouping
	views    [slots]heldView
	paged    paged
	last     int64 // the newest commit time of the subject
	work     Work
}

// newWorld returns a world with an empty model.
func newWorld(subject *Subject, env *Env, clock *clock, g grouping) *world {
	model := memstore.New(memstore.Options{Now: env.Now, MaxValue: env.MaxValue})
	return &world{subject: subject, model: model, clock: clock, grouping: g}
}

// grouping is the locality group of each family in the subject, 0 for the default partition. The
// model has no groups.
type grouping map[string]int

// spec returns a spec of families with the groups.
func (g grouping) spec(families []widecol.Family) widecol.TableSpec {
	groups := make(map[int][]string)
	for _, f := range families {
		if n := g[f.Name]; n > 0 {
			groups[n] = append(groups[n], f.Name)
		}
	}
	spec := widecol.TableSpec{Families: families}
	for _, n := range slices.Sorted(maps.Keys(groups)) {
		spec.Groups = append(spec.Groups, groups[n])
	}
	return spec
}

// change makes a change in both Stores and compares the results.
func (w *world) change(c change) error {
	got, err := c.apply(w.subject.Store, w.grouping, widecol.CommitTime)
	want, wantErr := c.apply(w.model, nil, got.time)
	return w.compare(c, got, want, err, wantErr)
}

// compare compares the results of a change.
func (w *world) compare(c change, got, want result, err, wantErr error) error {
	if err := sameResult(got, want, err, wantErr); err != nil {
		return err
	}
	if err == nil {
		return w.committed(c, got.time)
	}
	return nil
}

func sameResult(got, want result, err, wantErr error) error {
	if err := sameError(err, wantErr); err != nil {
		return err
	}
	if got.count != want.count {
		return fmt.Errorf("%d cells deleted, should be %d", got.count, want.count)
	}
	if got.text != want.text {
		return fmt.Errorf("the result is %s, should be %s", got.text, want.text)
	}
	return nil
}

// committed records the commit time of a write and checks it. A write that may have been applied
// before has its old commit time. The comparison with the model covers that time, since it is part
// of the content.
func (w *world) committed(c change, time int64) error {
	o, ok := c.(sender)
	if !ok || time == 0 {
		return nil
	}
	w.work.Writes++
	if _, again := o.sent(); again {
		w.work.Again++
		w.last = max(w.last, time)
		return nil
	}
	if time <= w.last || time < w.clock.Now() {
		return fmt.Errorf("commit time %s is not above the last, %s, or below the clock, %s",
			clockText(time), clockText(w.last), clockText(w.clock.Now()))
	}
	w.last = time
	return nil
}

// crash crashes the subject and compares what is left.
func (w *world) crash() error {
	if w.subject.Crash == nil {
		return nil
	}
	w.work.Crashes++
	return w.restartAndCheck("crash", w.subject.Crash)
}

// reopen closes the subject, opens it again and compares the content.
func (w *world) reopen() error {
	if w.subject.Reopen == nil {
		return nil
	}
	w.work.Reopens++
	return w.restartAndCheck("reopen", w.subject.Reopen)
}

func (w *world) restartAndCheck(what string, hook func() (widecol.Store, error)) error {
	if err := w.restart(what, hook); err != nil {
		return err
	}
	if err := w.check(); err != nil {
		return fmt.Errorf("after the %s: %w", what, err)
	}
	return nil
}

func (w *world) restart(what string, hook func() (widecol.Store, error)) error {
	w.closeViews()
	s, err := hook()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	w.subject.Store = s
	return nil
}

func (w *world) closeViews() {
	for i := range w.views {
		w.views[i].close()
	}
}

func (w *world) flush() error {
	w.work.Flushes++
	return optional(w.subject.Flush)
}

func (w *world) compact() error {
	w.work.Compacts++
	return optional(w.subject.Compact)
}

// checkAll lets the subject look for damage, reads the open results to their end, and compares
// everything.
func (w *world) checkAll() error {
	w.work.Verified++
	if err := optional(w.subject.Verify); err != nil {
		return fmt.Errorf("damage: %w", err)
	}
	for i := range w.views {
		if err := w.views[i].read(all); err != nil {
			return err
		}
	}
	return w.check()
}

// check compares the whole content of both Stores.
func (w *world) check() error {
	got, err := w.subject.Store.Tables(background)
	if err != nil {
		return fmt.Errorf("list of tables: %w", err)
	}
	want, err := w.model.Tables(background)
	if err != nil {
		return err
	}
	if g, w := outline(got), outline(want); g != w {
		return fmt.Errorf("tables are\n\t%s\nshould be\n\t%s", g, w)
	}
	for _, t := range want {
		q := widecol.NewQuery()
		if err := w.scan(t.Name, &q, all); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	return nil
}

// scan compares the results of a query of a table, in a new view.
func (w *world) scan(table string, q *widecol.Query, chunks int) error {
	v, err := w.openView(table)
	if err != nil {
		return err
	}
	defer v.close()
	return v.scan(q, chunks)
}

// outline returns the part of the tables' descriptions that all Stores share.
func outline(tables []widecol.Table) string {
	s := ""
	for _, t := range tables {
		s += fmt.Sprintf("%q%+v ", t.Name, t.Families)
	}
	return s
}
