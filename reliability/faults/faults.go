// Package faults makes the disk fail. It runs a workload once for every operation of the file system. That
// operation fails once, or until the fault is healed, with some, all or none of its effect. Errors must be
// documented ones, only durable changes may be acknowledged (a loss of power after every later
// acknowledgement shows that), reads go on, and service resumes.
package faults

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/reliability/report"
	"github.com/colonnade-db/colonnade/reliability/script"
	"github.com/colonnade-db/colonnade/vfs"
)

// Part is this part of the harness.
var Part = report.Part{
	Name:    "faults",
	About:   "an error of the disk at every operation, then a loss of power",
	Minimum: report.Least(map[string]int64{"injections": 3500, "second_fault_images": 50_000, "groups_failed": 9, "move_steps": 1500}),
	Limit:   15 * time.Minute,
	Run:     run,
}

// workload is a script of one writer.
type workload struct {
	name   string
	level  script.Level
	tables bool // errors are those of the data model
	mix    script.Mix
	size   script.Size
	steps  int
	life   int // steps between two openings
}

// fast is a clock whose timers fire early, so that backoffs are short.
type fast struct{ clock.Clock }

const faster = 50

func (f fast) AfterFunc(d time.Duration, do func()) func() bool {
	return f.Clock.AfterFunc(d/faster, do)
}

var small = script.Size{Memtable: 48 << 10, Log: 24 << 10, Segment: 4 << 10, Clock: fast{clock.System}, Patience: 25 * time.Second}

// long makes a log that memtables cannot hold, so that a recovery flushes all of it.
var long = script.Size{Memtable: 8 << 10, Log: 24 << 10, Segment: 4 << 10, Clock: small.Clock, Patience: small.Patience}

var workloads = []workload{
	{name: "engine", level: script.Engine, steps: 14, life: 9, size: small,
		mix: script.Mix{Writers: 1, Rows: 6, Batch: 2, Values: []int{8, 300, 600}, Deletes: 8, Flushes: 20, Compacts: 8, Remakes: 16}},
	{name: "tables", level: script.Tables, tables: true, steps: 9, life: 6, size: small,
		mix: script.Mix{Writers: 1, Rows: 6, Batch: 2, Values: []int{8, 300}, Deletes: 15, Flushes: 20, Compacts: 10, Remakes: 20}},
	{name: "families that move", level: script.Moving, tables: true, steps: 14, life: 10, size: small,
		mix: script.Mix{Writers: 1, Rows: 8, Batch: 8, Values: []int{8, 300}, Plan: "wwwfmswsdfmssw"}},
	{name: "long log", level: script.Engine, steps: 7, life: 6, size: long,
		mix: script.Mix{Writers: 1, Rows: 6, Batch: 2, Values: []int{300, 600}, Deletes: 8}},
}

func run(ctx context.Context, env report.Env, s *report.Section) error {
	runtime.MemProfileRate = 0
	failGroups(env, s)
	for i := range workloads {
		sweep(ctx, &workloads[i], env, s)
	}
	return ctx.Err()
}

// stride is the distance between two operations that fail one after the other. So every part of a workload is
// tried soon, and all of it in the end. A short round takes some of the first.
const stride = 11

// sweep runs a workload with a failure at every operation, until it ends before the failure.
func sweep(ctx context.Context, w *workload, env report.Env, s *report.Section) {
	for first := range int64(stride) {
		if !env.Chosen(int(first)) {
			continue
		}
		var next atomic.Int64
		var passed atomic.Bool // the end of the workload
		var workers sync.WaitGroup
		for range 2 {
			workers.Go(func() {
				for !passed.Load() && ctx.Err() == nil && !(env.First && s.Failed()) {
					if !everyWay(w, first+stride*(next.Add(1)-1), env, s) {
						passed.Store(true)
					}
				}
			})
		}
		workers.Wait()
	}
}

// everyWay makes one operation fail in every way. It reports whether there was one.
func everyWay(w *workload, at int64, env report.Env, s *report.Section) bool {
	hit := false
	for way := range uint64(6) {
		effect := []vfs.Effect{vfs.None, vfs.Half, vfs.Full}[way%3]
		f := newFault(at, effect, way >= 3, env.Seed+uint64(at)+way)
		t := &trial{workload: w, seed: env.Seed, fault: f, disk: vfs.NewMem()}
		if err := t.run(); err != nil {
			s.Fail(env.Repeat("faults"), "%s, operation %d: %v: %v", w.name, at, f, err)
		}
		if e := f.happened(); e != nil {
			hit = true
			s.Add("injections", 1)
			s.Add("errors_returned", f.hits)
			s.Add(fmt.Sprintf("injections_%v", f.op.Kind), 1)
		}
		s.Add("second_fault_images", int64(t.images))
		s.Add("move_steps", int64(t.moved))
	}
	return hit
}
