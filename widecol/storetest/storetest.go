// Package storetest checks that a widecol.Store keeps the contract of package
// widecol. It has two parts. Run is a suite with a case for each sentence of the
// contract. Random carries out random operations on a Store and on
// widecol/memstore, and compares all that they answer.
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
// Try is Random for a program that is no test, and Replay is Random with the
// operations taken from a fuzzer's input.
//
// All ask for the letter of the contract and no more. The cost of a query, ids
// of locality groups and commit times are the Store's own affair, within the
// bounds that the contract sets them.
package storetest

import (
	"sync/atomic"

	"colonnade/widecol"
)

// Open opens a new, empty Store in env. The Store is closed by the one who asked
// for it.
//
// Random opens a great many Stores while it shrinks a failure: what should go when
// a Store is closed, its hooks should let go of.
type Open func(env *Env) (*Subject, error)

// Env is what a Store under test runs in.
type Env struct {
	// Now is the clock, in microseconds since the Unix epoch, safe for
	// concurrent use. It moves when the test says so, forward and back.
	Now func() int64
	// MaxValue is the largest value that the Store should take, in bytes.
	MaxValue int
	// Seed is for options that the contract does not fix (sizes of buffers,
	// blocks, files) and that a harness may want to vary. It is 0 in Run and
	// the same when Random repeats a run.
	Seed uint64
	// Plain asks for the options that the Store has of itself, at every open. It
	// is true in Run, and in the first of the runs of Random, the one without
	// locality groups.
	Plain bool
}

// Subject is a Store under test, with what can be done to it from outside.
//
// Every func may be nil, where there is nothing of the kind. Flush, Compact and
// Verify may be called at any time, the others between two calls of the Store and
// never during one. An error fails the test.
type Subject struct {
	Store widecol.Store

	// Flush moves what is in memory to where it stays, and Compact rewrites
	// that; both must not change any answer. Views may be open.
	Flush, Compact func() error

	// Verify looks for damage in what the Store keeps, in its own way.
	Verify func() error

	// Reopen closes the Store and opens another one on the same data, in the
	// same Env. No View is open.
	Reopen func() (widecol.Store, error)

	// Crash ends the Store without a close and opens another one on what a
	// crash at this point has left. No View is open.
	Crash func() (widecol.Store, error)

	// Fault makes some write or sync fail that the Store does from now on,
	// until the next Crash, which must be there too. A change that fails then
	// with the kind Unknown may have happened, whole, or not; Write should
	// return its commit time with the error where it knows it. One that fails
	// with another kind must not have happened.
	Fault func()

	// Hold makes the next writes wait before they are durable, until release is
	// called. The channel is closed when one of them waits. A Crash may come before
	// the release; it lets the writes go, with any outcome, but what they do then
	// is lost.
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

	// start is where clocks begin: late enough to have a past of some size.
	start int64 = 1_000_000 * second

	// maxValue is large enough to be cut from other values by any Store, and
	// small enough to pass it in a test.
	maxValue = 1 << 20
)

// newEnv returns a plain Env and its clock.
func newEnv(seed uint64) (*Env, *clock) {
	c := new(clock)
	c.Set(start)
	return &Env{Now: c.Now, MaxValue: maxValue, Seed: seed, Plain: true}, c
}
