package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// faulty makes changes while the subject has a fault, then crashes it.
type faulty struct{ changes []change }

func (o *faulty) run(w *world) error {
	if w.subject.Fault == nil || w.subject.Crash == nil {
		return nil
	}
	w.subject.Fault()
	worlds := possible{{model: w.model, last: w.last}}
	for i, c := range o.changes {
		next, err := worlds.after(w, c, uint(i))
		if err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
		worlds = next
		if w.subject.Step != nil {
			w.subject.Step() // it may fail now
		}
	}
	worlds = worlds.late()
	shown := worlds.found(w)
	if len(shown) == 0 {
		return fmt.Errorf("after the fault: %w", w.check())
	}
	w.work.Crashes++
	if err := w.restart("crash", w.subject.Crash); err != nil {
		return err
	}
	kept := worlds.late().found(w)
	if len(kept) == 0 {
		return fmt.Errorf("after the crash there is something else than what was acknowledged, "+
			"with each of the changes whose outcome is unknown whole or absent: %w", w.check())
	}
	kept = kept.follow(shown)
	if len(kept) == 0 {
		return errors.New("a change that was read before the crash is not there after it")
	}
	for _, c := range o.changes {
		if again := repeated(c); again != nil {
			got, err := again.apply(w.subject.Store, w.grouping, widecol.CommitTime)
			if kept, err = kept.acknowledged(w, again, got, err); err != nil {
				return fmt.Errorf("after the crash: %s: %w", again, err)
			}
		}
	}
	return kept.adopt(w)
}

// repeated returns the change with its key, to be sent again, nil if it has no key. A change of
// unknown outcome is then applied once, and the remaining states agree on it.
func repeated(c change) change {
	switch o := c.(type) {
	case sender:
		if key, _ := o.sent(); key != "" {
			return o.repeat()
		}
	case *deleteRow:
		if o.key != "" {
			again := *o
			again.again = true
			return &again
		}
	}
	return nil
}

// possible is the set of states that a Store may be in after changes with an unknown outcome. The
// last state has all of these changes.
type possible []state

// state is a model with some of the changes.
type state struct {
	model   *memstore.Store
	applied uint
	last    int64     // commit time
	pending []pending // in the order of the changes
}

// pending is a change with an unknown outcome that is not applied yet. It may still be applied,
// until the crash.
type pending struct {
	change
	commit int64
	number uint
}

// after makes change number i in the subject and returns the states that are possible afterwards.
func (p possible) after(w *world, c change, i uint) (possible, error) {
	got, err := c.apply(w.subject.Store, w.grouping, widecol.CommitTime)
	p = p.late()
	switch {
	case err == nil:
		return p.acknowledged(w, c, got, nil)
	case widecol.KindOf(err) == widecol.Unknown:
		w.work.Unknown++
		if got.time <= 0 {
			got.time = max(w.clock.Now(), w.last+1)
		}
		return p.unknown(pending{c, got.time, i}), nil
	}
	return p, nil
}

// acknowledged returns the states after a change that the subject has made or refused. It drops
// states in which the model's result differs.
func (p possible) acknowledged(w *world, c change, got result, gotErr error) (next possible, err error) {
	for _, s := range p {
		model := s.model.Clone()
		want, wantErr := c.apply(model, nil, got.time)
		if different := sameResult(got, want, gotErr, wantErr); different != nil {
			err = different
			continue
		}
		s.model = model
		next = append(next, s)
	}
	if len(next) == 0 {
		return nil, err
	}
	if gotErr != nil {
		return next, nil
	}
	return next, w.committed(c, got.time)
}

// unknown returns the states after a change with an unknown outcome, with the change and without.
func (p possible) unknown(c pending) (next possible) {
	for _, s := range p {
		later := s
		later.pending = append(slices.Clip(s.pending), c)
		next = append(next, later, s.with(c))
	}
	return next
}

// with returns the state with a change. Changes that were pending before it are then lost.
func (s state) with(c pending) state {
	s.model = s.model.Clone()
	r, err := c.apply(s.model, nil, c.commit)
	if _, ok := c.change.(sender); ok && err == nil {
		s.last = max(s.last, r.time) // a deletion has none
	}
	s.applied |= 1 << c.number
	s.pending = slices.DeleteFunc(slices.Clone(s.pending), func(d pending) bool { return d.number <= c.number })
	return s
}

// late returns the states, and those in which some of their pending changes are applied late.
func (p possible) late() (all possible) {
	for _, s := range p {
		all = append(all, s)
		var later possible
		for _, c := range s.pending {
			later = append(later, s.with(c))
		}
		all = append(all, later.late()...)
	}
	return all
}

// found returns the states that the subject shows.
func (p possible) found(w *world) (shown possible) {
	before := w.model
	defer func() { w.model = before }()
	for _, s := range p {
		w.model = s.model
		if w.check() == nil {
			shown = append(shown, s)
		}
	}
	return shown
}

// follow returns the states with all changes of a state that was shown before the crash: a change
// that was read is durable.
func (p possible) follow(shown possible) possible {
	return slices.DeleteFunc(p, func(after state) bool {
		return !slices.ContainsFunc(shown, func(before state) bool { return before.applied&^after.applied == 0 })
	})
}

// adopt makes one of the states the model. The remaining states may differ in garbage, which reads
// cannot tell apart, so adopt deletes the columns of these versions.
func (p possible) adopt(w *world) error {
	w.model = p[0].model
	last := p[0].last
	for _, s := range p[1:] {
		last = min(last, s.last)
	}
	w.last = max(w.last, last)
	tables, err := w.model.Tables(background)
	if err != nil {
		return err
	}
	for _, t := range tables {
		have := stored(w.model, t.Name)
		for _, s := range p[1:] {
			other := stored(s.model, t.Name)
			if err := w.deleteColumns(t.Name, append(minus(have, other), minus(other, have)...)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *faulty) String() string {
	lines := []string{"with a fault, then a crash:"}
	for _, c := range o.changes {
		lines = append(lines, strings.ReplaceAll(c.String(), "\n", "\n  "))
	}
	return strings.Join(lines, "\n  ")
}

func (o *faulty) reduced() (ops []op) {
	for _, cs := range without(o.changes) {
		ops = append(ops, &faulty{cs})
	}
	for i, c := range o.changes {
		for _, simpler := range reductions(c) {
			cs := append([]change(nil), o.changes...)
			cs[i] = simpler.(change)
			ops = append(ops, &faulty{cs})
		}
	}
	return ops
}
