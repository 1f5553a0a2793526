package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/colonnade-db/colonnade/widecol"
)

// together is concurrent writes, and reads before any of them is acknowledged.
type together struct {
	writes    []*write
	flush     bool // a flush runs at the same time
	step      bool // a family moves on at the same time
	meanwhile []op
	crash     bool // a crash ends the writes
}

// outcome is the subject's result of a write.
type outcome struct {
	write *write
	result
	err error
}

// run holds the writes before they are durable. Reads must not see them until the release.
// Afterwards the model applies them in the order of their commit times.
func (o *together) run(w *world) error {
	if w.subject.Hold == nil {
		for _, c := range o.writes {
			if err := c.run(w); err != nil {
				return err
			}
		}
		return nil
	}
	waiting, release := w.subject.Hold()
	done := make(chan struct{})
	var outcomes []outcome
	var workErr error
	go func(store widecol.Store) {
		defer close(done)
		outcomes, workErr = o.begin(w, store)
	}(w.subject.Store) // a crash replaces it
	select {
	case <-waiting:
	case <-done:
	}
	err := runAll(w, o.meanwhile)
	crash := o.crash && err == nil && w.subject.Crash != nil
	if crash {
		w.work.Crashes++
		err = w.restart("crash", w.subject.Crash)
	}
	release()
	<-done
	switch {
	case err != nil:
		return err
	case crash:
		return w.recovered(outcomes)
	case workErr != nil:
		return workErr
	}
	return w.settle(outcomes)
}

func runAll(w *world, ops []op) error {
	for _, o := range ops {
		if err := o.run(w); err != nil {
			return err
		}
	}
	return nil
}

// begin makes all writes at the same time and returns when they have ended.
func (o *together) begin(w *world, store widecol.Store) ([]outcome, error) {
	var writing sync.WaitGroup
	outcomes := make([]outcome, len(o.writes))
	for i, c := range o.writes {
		writing.Go(func() {
			got, err := c.apply(store, w.grouping, widecol.CommitTime)
			outcomes[i] = outcome{c, got, err}
		})
	}
	var stepErr, flushErr error
	if step := w.subject.Step; o.step && step != nil {
		writing.Go(func() { _, stepErr = step() })
	}
	if o.flush {
		flushErr = w.flush()
	}
	writing.Wait()
	return outcomes, errors.Join(flushErr, stepErr)
}

// settle applies concurrent writes of the subject to the model.
func (w *world) settle(outcomes []outcome) error {
	slices.SortFunc(outcomes, func(a, b outcome) int { return cmp.Compare(a.time, b.time) })
	for _, got := range outcomes {
		want, wantErr := got.write.apply(w.model, nil, got.time)
		if err := w.compare(got.write, got.result, want, got.err, wantErr); err != nil {
			return err
		}
		w.work.Together++
	}
	return nil
}

// recovered compares the state after a crash. Each write that was not acknowledged is there or not.
// The outcomes came after the crash, so only their commit times count.
func (w *world) recovered(outcomes []outcome) error {
	slices.SortFunc(outcomes, func(a, b outcome) int { return cmp.Compare(a.time, b.time) })
	worlds := possible{{model: w.model, last: w.last}}
	for i, got := range outcomes {
		if got.time > 0 {
			worlds = worlds.unknown(pending{got.write, got.time, uint(i)})
		}
	}
	kept := worlds.found(w)
	if len(kept) == 0 {
		return fmt.Errorf("after the crash there is something else than what was acknowledged, "+
			"with each of the writes under way whole or absent: %w", w.check())
	}
	return kept.adopt(w)
}

func (o *together) String() string {
	lines := []string{"at the same time:"}
	for _, c := range o.writes {
		lines = append(lines, c.String())
	}
	if o.flush {
		lines = append(lines, "flush")
	}
	if o.step {
		lines = append(lines, "step")
	}
	for _, r := range o.meanwhile {
		lines = append(lines, "meanwhile: "+r.String())
	}
	if o.crash {
		lines = append(lines, "crash before they are durable")
	}
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(line, "\n", "\n  ")
	}
	return strings.Join(lines, "\n  ")
}

func (o *together) reduced() (ops []op) {
	add := func(change func(r *together)) {
		r := *o
		change(&r)
		ops = append(ops, &r)
	}
	for _, writes := range without(o.writes) {
		add(func(r *together) { r.writes = writes })
	}
	for i := range o.meanwhile {
		add(func(r *together) { r.meanwhile = slices.Delete(slices.Clone(o.meanwhile), i, i+1) })
	}
	if o.flush {
		add(func(r *together) { r.flush = false })
	}
	if o.step {
		add(func(r *together) { r.step = false })
	}
	if o.crash {
		add(func(r *together) { r.crash = false })
	}
	for i, c := range o.writes {
		for _, simpler := range c.reduced() {
			add(func(r *together) {
				r.writes = slices.Clone(o.writes)
				r.writes[i] = simpler.(*write)
			})
		}
	}
	return ops
}
