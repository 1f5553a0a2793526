package storetest

import (
	"slices"
	"testing"

	"github.com/colonnade-db/colonnade/widecol"
)

// Run checks each sentence of the contract that the Store's Capabilities promise in a subtest with a new Store. It
// repeats all of them for each hook of the Subject: with the hook called after every change, every result must be
// the same. With -short, it repeats each subtest for one of the hooks, in turn.
func Run(t *testing.T, open Open) {
	env, _ := newEnv(0)
	probe := mustOpen(t, open, env)
	promised := promisedBy(probe.Store.Capabilities())
	if err := probe.Store.Close(); err != nil {
		t.Fatalf("Close of an empty store: %v", err)
	}
	possible := slices.DeleteFunc(slices.Clone(modes), func(m mode) bool { return !m.possible(probe) })
	for i, m := range possible {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for j, c := range promised {
				if m.moves && c.places() || testing.Short() && i > 0 && j%(len(possible)-1) != i-1 {
					continue
				}
				t.Run(c.name, func(t *testing.T) { c.run(t, open, m) })
			}
		})
	}
}

// promisedBy returns the cases of what a Store promises.
func promisedBy(c widecol.Capabilities) []testCase {
	if c.TableSnapshot {
		return slices.Concat(cases, viewCases)
	}
	return cases
}

// mustOpen opens a Store or ends the test.
func mustOpen(t testing.TB, open Open, env *Env) *Subject {
	t.Helper()
	s, err := open(env)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}

// mode is an action after every change.
type mode struct {
	name     string
	possible func(s *Subject) bool
	settle   func(s *Subject) error
	restarts bool // settle needs all views closed
	moves    bool // settle moves families, so cases about where these are make no sense
}

// places reports whether the case is about where families are.
func (c *testCase) places() bool {
	return slices.ContainsFunc(placeCases, func(p testCase) bool { return p.name == c.name })
}

var modes = []mode{
	{
		name:     "plain",
		possible: func(*Subject) bool { return true },
		settle:   func(*Subject) error { return nil },
	},
	{
		name:     "flush",
		possible: func(s *Subject) bool { return s.Flush != nil },
		settle:   func(s *Subject) error { return s.Flush() },
	},
	{
		name:     "compact",
		possible: func(s *Subject) bool { return s.Compact != nil },
		settle: func(s *Subject) error {
			if err := optional(s.Flush); err != nil {
				return err
			}
			return s.Compact()
		},
	},
	{
		name:     "move",
		possible: func(s *Subject) bool { return s.Step != nil },
		settle:   moveAll,
		moves:    true,
	},
	{
		name:     "reopen",
		possible: func(s *Subject) bool { return s.Reopen != nil },
		settle:   func(s *Subject) (err error) { s.Store, err = s.Reopen(); return err },
		restarts: true,
	},
	{
		name:     "crash",
		possible: func(s *Subject) bool { return s.Crash != nil },
		settle:   func(s *Subject) (err error) { s.Store, err = s.Crash(); return err },
		restarts: true,
	},
}

// testCase is one sentence of the contract.
type testCase struct {
	name  string
	check func(f *fixture)
}

var (
	cases = slices.Concat(tableCases, explainCases, familyCases, settingCases, groupCases, moveCases, compactCases, adviceCases, writeCases, selectCases, limitCases, reverseCases, pageCases, filterCases, aggregateCases, deleteCases, updateCases, mergeCases, keyCases, gcCases, divideCases, statsCases)
	// placeCases are about where families are.
	placeCases = slices.Concat(groupCases, moveCases, adviceCases, statsCases)
)

// moveAll has every family move somewhere else, or back, and a little of them arrive.
func moveAll(s *Subject) error {
	tables, err := s.Store.Tables(background)
	if err != nil {
		return nil // the case has closed the Store
	}
	for _, t := range tables {
		for _, f := range t.Families {
			err := place(s.Store, t, f.Name, len(t.Groups)+len(t.Moves))
			if err != nil && widecol.KindOf(err) != widecol.Conflict { // it moves already
				return err
			}
		}
	}
	_, err = s.Step()
	return err
}

// run checks the case on a new Store.
func (c *testCase) run(t testing.TB, open Open, m mode) {
	env, clock := newEnv(0)
	f := &fixture{TB: t, subject: mustOpen(t, open, env), clock: clock, mode: m}
	c.check(f)
	if err := f.store().Close(); err != nil && !f.closed {
		t.Errorf("Close: %v", err)
	}
}
