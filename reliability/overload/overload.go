// Package overload asks more of a server than it can do, and checks that modest clients are still served:
//
//   - load at four times the capacity: accepted requests are served about as fast and as often as at the capacity,
//     and the rest is refused soon;
//   - clients that send a byte a second, keep idle connections, or do not read their responses: others do not
//     notice;
//   - requests with a million cells, more data than the memory limit, and a hundred clients that read everything:
//     the memory of the process stays bounded;
//   - few file handles, a full disk, a disk that does not respond: reads go on, acknowledged writes stay, and writes
//     resume by themselves;
//   - a bug in the server, or a signal to stop under load.
//
// Times are compared within a run, and the bounds are wide: the machine may do other things. The figures show the
// times.
package overload

import (
	"context"
	"maps"
	"time"

	"github.com/colonnade-db/colonnade/reliability/report"
)

// Part runs all trials.
var Part = report.Part{
	Name:    "overload",
	About:   "more is asked of the server than it can do, by good clients and bad ones",
	Minimum: minimum,
	Limit:   5 * time.Minute,
	Run:     round,
}

// trial is one kind of trouble. Its error says what the server did wrong.
type trial struct {
	name  string
	run   func(ctx context.Context, r *run) error
	least figures
}

// figures are the least of a trial.
type figures map[string]int64

// The quick ones come first. A short round has every eighth.
var trials = []trial{
	{"a bug", bug, figures{"panics": 7}},
	{"a disk that does not answer", slowDisk, figures{"hung_writes_unknown": 1}},
	{"a full disk", fullDisk, figures{"disk_full_writes_refused": 1}},
	{"a signal under load", drain, figures{"drained_acked_rows": 100}},
	{"few file handles", fewHandles, figures{"handles_acked_rows": 100}},
	{"large requests", large, figures{"large_requests": 2}},
	{"bad connections", badConnections, figures{"slow_heads": 4_000, "newcomers": 20, "idle_connections": 4_000}},
	{"scans of everything", scans, figures{"scan_clients": 100}},
	{"four times the capacity", saturation, figures{"peak_writes": 500, "refused": 100}},
	{"more data than memory", memory, figures{"large_batches_mib": 1_900}},
}

// minimum returns the least figures of a round: those of its trials.
func minimum(env report.Env) map[string]int64 {
	least := map[string]int64{"trials": 0}
	for i, t := range trials {
		if env.Chosen(i) {
			least["trials"]++
			maps.Copy(least, t.least)
		}
	}
	return least
}

// run is what all trials of a round share.
type run struct {
	report.Env
	*report.Section
}

func round(ctx context.Context, env report.Env, s *report.Section) error {
	r := &run{env, s}
	for i, t := range trials {
		if !env.Chosen(i) {
			continue
		}
		if err := t.run(ctx, r); err != nil {
			s.Fail(env.Repeat("overload"), "%s: %v", t.name, err)
			if env.First {
				return nil
			}
		}
		s.Add("trials", 1)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
