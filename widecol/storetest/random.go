package storetest

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"testing"
)

// Configurations is how often Random runs the same operations, each time with other locality groups
// and another Env.Seed.
const Configurations = 4

// Random runs n random operations on a Store and on the model, and fails t at the first difference.
// The seed determines the operations. They run Configurations times with different locality groups,
// which must not change a result.
//
// Operations are writes of one and many rows, one at a time or concurrent; deletes; gets and scans
// with random filters and limits; views held open, and results read chunk by chunk, while other
// operations run; changes of tables, families and their settings; moves of families, advised ones
// too; steps of the clock, forward and back; and the hooks of the Subject.
//
// Random allows for what cell.GC leaves open: whether garbage is visible again when it is no longer
// garbage. After wider settings or a step of the clock, such versions may be visible or not. Random
// then deletes their columns in both Stores.
//
// The Store must have all Capabilities.
//
// A failure reports the seed and a short list of operations that reproduces it.
func Random(t testing.TB, open Open, seed uint64, n int) {
	t.Helper()
	if _, f := Try(open, seed, n); f != nil {
		t.Fatal(f.Shrunk())
	}
}

// Try is Random without a test. It returns the work done and the first difference, nil for none.
func Try(open Open, seed uint64, n int) (Work, *Failure) {
	var work Work
	ops := generate(seed, n)
	for i := range Configurations {
		r := &runner{open: open, seed: seed + uint64(i)<<32, plain: i == 0, grouping: groupingOf(seed, i)}
		f := r.try(ops)
		work.Add(r.work)
		if f != nil {
			f.title = fmt.Sprintf("storetest with seed %d, %d operations, grouping %v", seed, n, r.grouping)
			return work, f
		}
	}
	return work, nil
}

// groupingOf returns the i-th grouping for a seed: no groups, a group for each family, then random
// ones.
func groupingOf(seed uint64, i int) grouping {
	if i == 0 {
		return nil
	}
	rnd := rand.New(rand.NewPCG(seed, uint64(1+i)))
	g := make(grouping)
	for n, name := range familyNames {
		g[name] = n + 1
		if i > 1 {
			g[name] = rnd.IntN(3)
		}
	}
	return g
}

// runner runs lists of operations in new worlds of one configuration.
type runner struct {
	open     Open
	seed     uint64
	plain    bool
	grouping grouping
	work     Work // of the first run
}

// Failure is a difference between a Store and the model.
type Failure struct {
	runner *runner
	title  string
	ops    []op // up to the one that failed
	last   string
	err    error
}

// Error describes the difference and the operation that showed it.
func (f *Failure) Error() string {
	return fmt.Sprintf("%s:\noperation %d: %s\n%v", f.title, len(f.ops)-1, f.last, f.err)
}

// Shrunk is Error with a short list of operations that reproduces the failure. It runs them many
// times, which takes a while.
func (f *Failure) Shrunk() string {
	short := shrink(f.ops, func(ops []op) bool { _, err := f.runner.run(ops, new(Work)); return err != nil })
	_, err := f.runner.run(short, new(Work))
	if err == nil {
		return f.Error() + "\nIt did not happen again with the same operations."
	}
	return fmt.Sprintf("%v\nshrunk from %d to %d operations:\n%s\n%v", f, len(f.ops), len(short), list(short), err)
}

// try runs the operations and returns their failure, nil if there is none.
func (r *runner) try(ops []op) *Failure {
	at, err := r.run(ops, &r.work)
	switch {
	case err == nil:
		return nil
	case at < len(ops):
		return &Failure{runner: r, ops: ops[:at+1], last: ops[at].String(), err: err}
	}
	return &Failure{runner: r, ops: ops, last: "when all was done", err: err}
}

// list formats operations, one per line.
func list(ops []op) string {
	const most = 200
	var b strings.Builder
	for i, o := range ops {
		if i == most {
			fmt.Fprintf(&b, "  … and %d more\n", len(ops)-most)
			break
		}
		fmt.Fprintf(&b, "  %3d %s\n", i, strings.ReplaceAll(o.String(), "\n", "\n      "))
	}
	return b.String()
}

// run runs the operations in a new world. It returns the index of the one that failed and the
// error. The index is len(ops) if the check at the end failed.
func (r *runner) run(ops []op, work *Work) (at int, err error) {
	env, clock := newEnv(r.seed)
	env.Plain = r.plain
	subject, err := r.open(env)
	if err != nil {
		return 0, fmt.Errorf("open an empty store: %w", err)
	}
	w := newWorld(subject, env, clock, r.grouping)
	w.work.Runs++
	defer func() {
		work.Add(w.work)
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			return // locks may be held: leave the Store alone
		}
		w.closeViews()
		if closeErr := w.subject.Store.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("close: %w", closeErr)
		}
	}()
	for at = range ops { // the named result, so that it is set if an operation panics
		w.work.Operations++
		if err := ops[at].run(w); err != nil {
			return at, err
		}
	}
	return len(ops), w.checkAll()
}
