// Package storetest checks that a widecol.Store keeps the contract of package
// widecol. It has two parts. Run is a suite with a case for each sentence of the
// contract. Random runs random operations on a Store and on widecol/memstore, and
// compares all results.
//
//	func open(env *storetest.Env) (*storetest.Subject, error) {
//		s := mystore.New(mystore.Options{Now: env.Now, MaxValue: env.MaxValue})
//		return &storetest.Subject{Store: s, Flush: s.Flush}, nil
//	}
//
//	func TestStore(t *testing.T) { storetest.Run(t, open) }
//
//	func TestStoreRandomly(t *testing.T) {
//		for seed := range uint64(50) {
//			storetest.Random(t, open, seed, 1000)
//		}
//	}
//
// Try is Random for a program that is no test. Replay is Random with operations
// from a fuzzer's input.
//
// They check the contract and no more. A Store may choose the costs of queries, the
// ids of locality groups and commit times, within the bounds of the contract.
package storetest

import (
	"sync/atomic"

	"github.com/colonnade-db/colonnade/widecol"
)

// Open opens a new, empty Store in env. The caller of Open closes it.
//
// Random opens a great many Stores while it shrinks a failure. So the hooks must not keep a closed
// Store in memory.
type Open func(env *Env) (*Subject, error)

// Env is what a Store under test runs in.
type Env struct {
	// Now is the clock, in microseconds since the Unix epoch, safe for concurrent use. The test
	// moves it, forward and back.
	Now func() int64
	// MaxValue is the largest value that the Store must accept, in bytes.
	MaxValue int
	// Seed is for options that the contract does not fix (sizes of buffers, blocks, files) and that
	// a harness may vary. It is 0 in Run. It is the same when Random repeats a run.
	Seed uint64
	// Plain asks for the Store's default options, at every open. It is true in Run, and in the
	// first run of Random, the one without locality groups.
	Plain bool
}

// Subject is a Store under test, with hooks that act on it from outside.
//
// Every hook may be nil. Flush, Compact, Step and Verify may be called at any time, the others between
// two calls of the Store and never during one. An error fails the test.
type Subject struct {
	Store widecol.Store

	// Flush moves the content of memory to disk, and Compact rewrites what is on disk. Neither may
	// change a result. Views may be open.
	Flush, Compact func() error

	// Step does a little of the work that MoveFamily has left, and reports whether there was any. Only Step does it,
	// and Reopen and Crash do not end it. It is nil for a Store that moves families at once.
	Step func() (more bool, err error)

	// Verify checks the Store's data for damage, in its own way.
	Verify func() error

	// Reopen closes the Store and opens another one on the same data, in the same Env. No View is
	// open.
	Reopen func() (widecol.Store, error)

	// Crash ends the Store without a close, and opens another one on what a crash at this point
	// leaves. No View is open.
	Crash func() (widecol.Store, error)

	// Fault makes some later write or sync of the Store fail, until the next Crash, which must not
	// be nil. A change that fails with the kind Unknown may have been applied, whole, or not. Write
	// should return its commit time with the error if it knows the time. A change that fails with
	// another kind must not have been applied.
	Fault func()

	// Hold makes the next writes wait before they are durable, until release is called. The channel
	// is closed when one of them waits. Crash may come before the release. It lets the writes end,
	// with any outcome, but loses their effects.
	Hold func() (waiting <-chan struct{}, release func())
}

// clock is a clock that stands still until it is set.
type clock struct{ now atomic.Int64 }

// Now returns the time, in microseconds since the Unix epoch.
func (c *clock) Now() int64 { return c.now.Load() }

// Set sets the time.
func (c *clock) Set(now int64) { c.now.Store(now) }

const (
	second = 1_000_000 // in microseconds, the unit of the clock

	// start is the start of clocks: late enough for a past of some length.
	start int64 = 1_000_000 * second

	// maxValue is large enough that any Store stores it apart from other values, and small enough
	// for a test.
	maxValue = 1 << 20
)

// newEnv returns a plain Env and its clock.
func newEnv(seed uint64) (*Env, *clock) {
	c := new(clock)
	c.Set(start)
	return &Env{Now: c.Now, MaxValue: maxValue, Seed: seed, Plain: true}, c
}
