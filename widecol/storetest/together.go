package storetest

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"colonnade/widecol"
)

// together is writes that are under way at the same time, and what is read
// before any of them is acknowledged.
type together struct {
	writes    []*write
	flush     bool // a flush is asked for meanwhile as well
	meanwhile []op
}

// outcome is what the subject says about a write.
type outcome struct {
	write *write
	result
	err error
}

// run holds the writes up before they are durable. Nothing of them may be read
// until they are let go. They then count in the order of their commit times.
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
	var flushErr error
	go func() {
		defer close(done)
		outcomes, flushErr = o.begin(w)
	}()
	select {
	case <-waiting:
	case <-done:
	}
	err := runAll(w, o.meanwhile)
	release()
	<-done
	if err != nil {
		return err
	}
	if flushErr != nil {
		return flushErr
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

// begin makes all the writes at the same time and returns when they are done.
func (o *together) begin(w *world) ([]outcome, error) {
	var writing sync.WaitGroup
	outcomes := make([]outcome, len(o.writes))
	for i, c := range o.writes {
		writing.Go(func() {
			got, err := c.apply(w.subject.Store, w.grouping, widecol.CommitTime)
			outcomes[i] = outcome{c, got, err}
		})
	}
	var flushErr error
	if o.flush {
		flushErr = w.flush()
	}
	writing.Wait()
	return outcomes, flushErr
}

// settle makes writes in the model that the subject has made at the same time.
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

func (o *together) String() string {
	lines := []string{"at the same time:"}
	for _, c := range o.writes {
		lines = append(lines, c.String())
	}
	if o.flush {
		lines = append(lines, "flush")
	}
	for _, r := range o.meanwhile {
		lines = append(lines, "meanwhile: "+r.String())
	}
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(line, "\n", "\n  ")
	}
	return strings.Join(lines, "\n  ")
}

func (o *together) reduced() (ops []op) {
	for _, writes := range without(o.writes) {
		ops = append(ops, &together{writes, o.flush, o.meanwhile})
	}
	for i := range o.meanwhile {
		ops = append(ops, &together{o.writes, o.flush, slices.Delete(slices.Clone(o.meanwhile), i, i+1)})
	}
	if o.flush {
		ops = append(ops, &together{o.writes, false, o.meanwhile})
	}
	for i, c := range o.writes {
		for _, simpler := range c.reduced() {
			writes := slices.Clone(o.writes)
			writes[i] = simpler.(*write)
			ops = append(ops, &together{writes, o.flush, o.meanwhile})
		}
	}
	return ops
}
