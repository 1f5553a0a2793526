// Package meta runs the same random operations on the store, under several
// configurations of the engine and of locality groups, and on the model. Every
// answer has to be that of the model, and so the same under every configuration.
//
// The operations, and what may differ, are those of storetest.Random; the
// configurations, the crashes and the failures of the disk are those of package
// lsmtest. Memtables, blocks, files and log segments go from a size that every write
// fills to one that is never reached; a reopen takes another configuration than the
// open before; flushes and compactions go on meanwhile, as they like.
package meta

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/colonnade-db/colonnade/reliability/report"
	"github.com/colonnade-db/colonnade/widecol/lsmstore/lsmtest"
	"github.com/colonnade-db/colonnade/widecol/storetest"
)

const (
	// seeds is how many lists of operations a round makes, of length operations.
	seeds  = 160
	length = 500

	// workers are more than there are cores: a store spends much of its time
	// waiting for a slow disk.
	workers = 8
)

// Part is the part of the harness.
var Part = report.Part{
	Name:  "meta",
	About: "random operations under random configurations, against the model",
	Minimum: report.Least(map[string]int64{
		"seeds": 150, "operations": 300_000, "configurations": storetest.Configurations * 150,
		"crashes": 2_000, "reopens": 1_000, "snapshots_read": 10_000, "scans": 50_000,
		"flushes": 5_000, "compactions": 2_000, "unknown_outcomes": 300, "writes_at_once": 5_000,
	}),
	Limit: 20 * time.Minute,
	Run:   run,
}

func run(ctx context.Context, env report.Env, s *report.Section) error {
	r := round{open: lsmtest.Open, env: env, section: s}
	r.run(ctx, uint64(env.Share(seeds)))
	return nil
}

// round is one round over a number of seeds.
type round struct {
	open    storetest.Open
	env     report.Env
	section *report.Section
	next    atomic.Uint64

	mu       sync.Mutex
	failures []*storetest.Failure
}

// run tries seeds that no round with another Env.Seed tries, then looks for short
// lists of operations that lead to the failures.
func (r *round) run(ctx context.Context, count uint64) {
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for n := r.next.Add(1) - 1; n < count && ctx.Err() == nil && !(r.env.First && r.failed()); n = r.next.Add(1) - 1 {
				r.try(uint64(uint32(r.env.Seed*seeds + n)))
			}
		})
	}
	working.Wait()
	for i, f := range r.failures {
		text := f.Error()
		if i < shrunk && ctx.Err() == nil {
			text = f.Shrunk()
		}
		r.section.Fail(r.env.Repeat("meta")+" -first", "%s", text)
	}
}

// shrunk is how many failures are shrunk, the first ones.
const shrunk = 2

func (r *round) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

// try runs the operations of one seed.
func (r *round) try(seed uint64) {
	work, f := storetest.Try(r.open, seed, length)
	if f != nil {
		r.mu.Lock()
		r.failures = append(r.failures, f)
		r.mu.Unlock()
	}
	for name, n := range map[string]int64{
		"seeds": 1, "configurations": work.Runs, "operations": work.Operations,
		"writes": work.Writes, "writes_at_once": work.Together, "sent_again": work.Again, "unknown_outcomes": work.Unknown,
		"scans": work.Scans, "snapshots": work.Views, "snapshots_read": work.ViewReads,
		"flushes": work.Flushes, "compactions": work.Compacts, "checks": work.Verified,
		"reopens": work.Reopens, "crashes": work.Crashes, "gc_taken_back": work.Doubts,
	} {
		r.section.Add(name, n)
	}
}
