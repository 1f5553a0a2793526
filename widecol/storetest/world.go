package storetest

import (
	"fmt"
	"maps"
	"slices"

	"colonnade/widecol"
	"colonnade/widecol/memstore"
)

// world is a Store under test beside the model of what it should be, in one
// Env. Operations happen to both.
type world struct {
	subject  *Subject
	model    *memstore.Store
	clock    *clock
	grouping grouping
	views    [slots]heldView
	last     int64 // the newest commit time that the subject told
}

// newWorld puts a model beside a subject.
func newWorld(subject *Subject, env *Env, clock *clock, g grouping) *world {
	model := memstore.New(memstore.Options{Now: env.Now, MaxValue: env.MaxValue})
	return &world{subject: subject, model: model, clock: clock, grouping: g}
}

// slots is how many views an operation can find open.
const slots = 3

// heldView is a view of the subject and the same of the model.
type heldView struct{ subject, model widecol.View }

// grouping says in which locality group of the subject a family lives, 0 for
// the default partition. The model has no groups.
type grouping map[string]int

// spec adds the groups to a spec.
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

// change makes a change in both Stores and compares what they say.
func (w *world) change(c change) error {
	got, err := c.apply(w.subject.Store, w.grouping, widecol.CommitTime)
	want, wantErr := c.apply(w.model, nil, got.time)
	if err := sameError(err, wantErr); err != nil {
		return err
	}
	return w.compare(c, got, want, err)
}

// compare compares the results of a change that both Stores made, or refused.
func (w *world) compare(c change, got, want result, err error) error {
	if got.count != want.count {
		return fmt.Errorf("%d cells deleted, should be %d", got.count, want.count)
	}
	if _, ok := c.(*write); ok && err == nil {
		if got.time <= w.last || got.time < w.clock.Now() {
			return fmt.Errorf("commit time %s is not above the last, %s, or below the clock, %s",
				clockText(got.time), clockText(w.last), clockText(w.clock.Now()))
		}
		w.last = got.time
	}
	return nil
}

// faulty makes a change while the subject has a fault, then crashes it. What
// the subject says about the change decides what it may be found with.
func (w *world) faulty(c change) error {
	if w.subject.Fault == nil || w.subject.Crash == nil {
		return nil
	}
	w.subject.Fault()
	got, err := c.apply(w.subject.Store, w.grouping, widecol.CommitTime)
	commit := got.time
	if commit <= 0 {
		commit = max(w.clock.Now(), w.last+1)
	}
	before, after := w.model, w.model.Clone()
	want, wantErr := c.apply(after, nil, commit)
	if err == nil {
		if err := sameError(err, wantErr); err != nil {
			return err
		}
		if err := w.compare(c, got, want, err); err != nil {
			return err
		}
		w.model = after
		return w.crash()
	}
	if err := w.restart("crash", w.subject.Crash); err != nil {
		return err
	}
	different := w.check()
	if different == nil || widecol.KindOf(err) != widecol.Unknown {
		return different
	}
	w.model = after
	if _, ok := c.(*write); ok {
		w.last = commit
	}
	if w.check() != nil {
		w.model = before
		return fmt.Errorf("a change failed with %w; after the crash it is there in part: %w", err, different)
	}
	return nil
}

// crash crashes the subject and compares what it has kept.
func (w *world) crash() error { return w.restartAndCheck("crash", w.subject.Crash) }

// reopen closes the subject, opens it again and compares what it has kept.
func (w *world) reopen() error { return w.restartAndCheck("reopen", w.subject.Reopen) }

func (w *world) restartAndCheck(what string, hook func() (widecol.Store, error)) error {
	if hook == nil {
		return nil
	}
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
		w.closeView(i)
	}
}

func (w *world) closeView(slot int) {
	if v := &w.views[slot]; v.subject != nil {
		v.subject.Close()
		v.model.Close()
		*v = heldView{}
	}
}

// view opens a view of both Stores. It holds none when both say that there is
// no such table.
func (w *world) view(table string) (heldView, error) {
	subject, err := w.subject.Store.View(background, table)
	model, wantErr := w.model.View(background, table)
	if err := sameError(err, wantErr); err != nil || wantErr != nil {
		return heldView{}, err
	}
	return heldView{subject, model}, nil
}

// scan asks both views the same and compares their answers, as far as chunks
// of the subject's go.
func (v heldView) scan(q *widecol.Query, chunks int) error {
	if v.subject == nil {
		return nil
	}
	got, err := ask(background, v.subject, q, chunks)
	want, wantErr := ask(background, v.model, q, all)
	if err := sameError(err, wantErr); err != nil {
		return err
	}
	if !got.whole {
		want.versions = want.versions[:min(len(got.versions), len(want.versions))]
	}
	return diff(got.versions, want.versions)
}

// check compares everything that is in the two Stores.
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
		v, err := w.view(t.Name)
		if err != nil {
			return err
		}
		q := widecol.NewQuery()
		err = v.scan(&q, all)
		v.subject.Close()
		v.model.Close()
		if err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	return nil
}

// outline tells what is the same in all Stores about tables.
func outline(tables []widecol.Table) string {
	s := ""
	for _, t := range tables {
		s += fmt.Sprintf("%q%+v ", t.Name, t.Families)
	}
	return s
}
