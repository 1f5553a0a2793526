// Package crash simulates losses of power. It runs workloads on a file system in memory and stops before
// and after every operation that changes something. There it takes every image that a loss of power could
// leave, opens each, and compares it with what the store had acknowledged or shown. Then it writes on,
// crashes again in the middle and compares again. For some images it also crashes the recovery, at every
// operation.
package crash

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/reliability/report"
	"github.com/colonnade-db/colonnade/reliability/script"
)

// least are the minimums of a full round. A round goes on until it has reached its own.
var least = report.Least(map[string]int64{"crash_points": 12_000, "images": 60_000, "nested_images": 3_000, "second_crashes": 60_000, "move_steps": 800})

// Part is this part of the harness.
var Part = report.Part{
	Name:    "crash",
	About:   "loss of power at every operation, and again during and after recovery",
	Minimum: least,
	Limit:   15 * time.Minute,
	Run:     run,
}

// workload is a script and the way to run it.
type workload struct {
	name  string
	level script.Level
	mix   script.Mix
	size  script.Size
	steps int // of each writer in one life of the store
	lives int // how often the store is opened, each time but the last closed
}

// small is a log of few small segments. Each takes a handful of writes.
var small = script.Size{Memtable: 48 << 10, Log: 32 << 10, Segment: 4 << 10, Clock: clock.System, Patience: time.Hour}

// workloads have one aim each. Those that find most mistakes soon come first.
var workloads = []workload{
	{name: "groups of several writers", level: script.Engine, steps: 24, lives: 1, size: small,
		mix: script.Mix{Writers: 4, Rows: 6, Batch: 2, Values: []int{8, 40, 200}, Deletes: 10}},
	{name: "tables", level: script.Tables, steps: 46, lives: 1, size: small,
		mix: script.Mix{Writers: 2, Rows: 6, Batch: 2, Values: []int{8, 40, 300}, Deletes: 25, Flushes: 5, Remakes: 25}},
	{name: "families that move", level: script.Moving, steps: 7, lives: 2, size: small,
		mix: script.Mix{Writers: 2, Rows: 6, Batch: 3, Values: []int{8, 40, 300}, Deletes: 15, Flushes: 5, Compacts: 3, Remakes: 5, Moves: 45}},
	{name: "spaces made and dropped", level: script.Engine, steps: 50, lives: 1, size: small,
		mix: script.Mix{Writers: 2, Rows: 4, Batch: 2, Values: []int{8, 100}, Flushes: 10, Remakes: 35}},
	{name: "large records", level: script.Engine, steps: 6, lives: 1, size: small,
		mix: script.Mix{Writers: 2, Rows: 3, Batch: 1, Values: []int{1, 40, 1<<16 - 1, 8, 100, 1 << 16, 1, 9000, 1<<16 + 1}}},
	{name: "flush and reuse of segments", level: script.Engine, steps: 16, lives: 1, size: small,
		mix: script.Mix{Writers: 2, Rows: 8, Batch: 3, Values: []int{40, 300, 600}, Deletes: 5, Flushes: 10}},
	{name: "compaction", level: script.Engine, steps: 28, lives: 1, size: small,
		mix: script.Mix{Writers: 1, Rows: 12, Batch: 4, Values: []int{20, 300}, Deletes: 20, Flushes: 40, Compacts: 6}},
	{name: "close and open", level: script.Engine, steps: 6, lives: 4, size: small,
		mix: script.Mix{Writers: 2, Rows: 5, Batch: 2, Values: []int{8, 300}, Deletes: 10, Flushes: 10}},
	{name: "close and open tables", level: script.Tables, steps: 5, lives: 4, size: small,
		mix: script.Mix{Writers: 2, Rows: 5, Batch: 2, Values: []int{8, 300}, Deletes: 15, Flushes: 10, Remakes: 20}},
}

// turns is how often a round runs each workload, each time with other steps. The number of images depends
// on the scheduling of the writers. Where there are too few, a round has more turns, up to maxTurns. Too
// few after that is no accident.
const turns, maxTurns = 2, 4

func run(ctx context.Context, env report.Env, s *report.Section) error {
	// Every image has its own stack, and a memory profile would keep them all.
	runtime.MemProfileRate = 0
	exploreAll(ctx, env, s, 0, turns)
	for turn := turns; wanting(turn, env, s); turn++ {
		exploreAll(ctx, env, s, turn, turn+1)
	}
	return ctx.Err()
}

// wanting reports whether a round needs another turn.
func wanting(turn int, env report.Env, s *report.Section) bool {
	return turn < maxTurns && !s.Failed() && len(s.Missing(least(env))) > 0
}

// exploreAll runs all workloads for the given turns.
func exploreAll(ctx context.Context, env report.Env, s *report.Section, from, to int) {
	var next atomic.Int64
	next.Store(int64(from * len(workloads)))
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= to*len(workloads) || ctx.Err() != nil || env.First && s.Failed() {
					return
				}
				explore(ctx, &workloads[i%len(workloads)], env, uint64(i), s)
			}
		})
	}
	workers.Wait()
}
