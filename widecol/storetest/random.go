package storetest

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"testing"
)

// Configurations is how many times Random carries out the same operations, each
// time with the families in other locality groups and another Env.Seed.
const Configurations = 4

// Random carries out n random operations on a Store and on the model, and fails
// t at the first difference. The operations follow from the seed alone. They
// are run several times with different locality groups, which must not show.
//
// Operations are writes of one and many rows, one after the other or several at
// once, deletes, gets and scans with random filters and limits, views held open
// and answers read piece by piece while other things happen, changes of tables,
// families and their settings, steps of the clock, forward and back, and what the
// Subject has hooks for.
//
// Random allows for what cell.GC leaves open: whether versions that have gone
// show again when what made them go is taken back. Where wider settings or a step
// of the clock bring up such versions, they may be there or not; both Stores then
// delete their columns.
//
// A failure tells the seed and a short list of operations that leads to it.
func Random(t testing.TB, open Open, seed uint64, n int) {
	t.Helper()
	if _, f := Try(open, seed, n); f != nil {
		t.Fatal(f.Shrunk())
	}
}

// Try is Random without a test: it returns what was done, and the first
// difference, nil for none.
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

// groupingOf returns the i-th grouping for a seed: no groups, a group for each
// family, then random ones.
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

// runner runs lists of operations in new worlds that are all alike.
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

// Error tells what should have been, and after which operation.
func (f *Failure) Error() string {
	return fmt.Sprintf("%s:\noperation %d: %s\n%v", f.title, len(f.ops)-1, f.last, f.err)
}

// Shrunk is Error with a short list of operations that leads to the same. It runs
// them many times and takes a while.
func (f *Failure) Shrunk() string {
	short := shrink(f.ops, func(ops []op) bool { _, err := f.runner.run(ops, new(Work)); return err != nil })
	_, err := f.runner.run(short, new(Work))
	if err == nil {
		return f.Error() + "\nIt did not happen again with the same operations."
	}
	return fmt.Sprintf("%v\nshrunk from %d to %d operations:\n%s\n%v", f, len(f.ops), len(short), list(short), err)
}

// try runs the operations and returns how they fail, nil if they do not.
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

// list shows operations, one per line.
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

// run runs the operations in a new world. It returns the index of the one that
// failed and how, len(ops) for the look at everything in the end.
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
	for at = range ops { // the result, for the sake of a panic
		w.work.Operations++
		if err := ops[at].run(w); err != nil {
			return at, err
		}
	}
	return len(ops), w.checkAll()
}
