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
	if _, err := Try(open, seed, n); err != nil {
		t.Fatal(err)
	}
}

// Try is Random without a test: it returns what was done, and what would fail the
// test as an error.
func Try(open Open, seed uint64, n int) (Work, error) {
	var work Work
	ops := generate(seed, n)
	for i := range Configurations {
		r := &runner{open: open, seed: seed + uint64(i)<<32, plain: i == 0, grouping: groupingOf(seed, i)}
		report := r.check(ops)
		work.Add(r.work)
		if report != "" {
			return work, fmt.Errorf("storetest with seed %d, %d operations, grouping %v:\n%s", seed, n, r.grouping, report)
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

// check runs the operations and returns a report if they fail.
func (r *runner) check(ops []op) string {
	at, err := r.run(ops, &r.work)
	if err == nil {
		return ""
	}
	last := "when all was done"
	if at < len(ops) {
		last = ops[at].String()
		ops = ops[:at+1]
	}
	report := fmt.Sprintf("operation %d: %s\n%v\n", at, last, err)
	short := shrink(ops, func(ops []op) bool { _, err := r.run(ops, new(Work)); return err != nil })
	if _, again := r.run(short, new(Work)); again == nil {
		return report + "It did not happen again with the same operations."
	} else {
		err = again
	}
	return report + fmt.Sprintf("shrunk from %d to %d operations:\n%s\n%v", len(ops), len(short), list(short), err)
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
