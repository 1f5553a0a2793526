package lsmtest

import (
	"time"

	"colonnade/clock"
	"colonnade/engine"
	"colonnade/vfs"
)

const (
	// patience is how long a call may take before it counts as stuck.
	patience = time.Minute
	// failingPatience takes its place while the disk fails: a write then waits for
	// what cannot be.
	failingPatience = 50 * time.Millisecond
)

// options are those of the next open: in a plain environment the ones that the
// engine has of itself, but for a log small enough to be made in memory thousands of
// times. Otherwise every size is drawn anew, from so small that each write, row or
// cell has one of its own to so large that it is never reached.
func (s *subject) options() engine.Options {
	o := engine.Options{
		FS: vfs.Inject(s.fs, s.disk.rule), Clock: testClock{s.env.Now, s.disk}, Rand: s.ids,
		SegmentBytes: 64 << 10, StallTimeout: patience, SyncTimeout: patience, ReserveBytes: -1,
	}
	if s.env.Plain {
		return o
	}
	pick := func(n ...int64) int64 { return n[s.rnd.IntN(len(n))] }
	o.MemtableBytes = pick(2<<10, 16<<10, 64<<10, 1<<20, 64<<20)
	o.CacheBytes = pick(1, 64<<10, 1<<20)
	o.SegmentBytes = pick(1<<10, 4<<10, 16<<10, 256<<10)
	o.FileBytes = pick(1, 1<<10, 16<<10, 1<<20)
	o.BlockBytes = int(pick(1, 64, 512, 32<<10, 1<<20))
	o.Workers = int(pick(1, 2, 3))
	s.disk.delay(pick(0, 0, 1, 10))
	return o
}

// testClock tells the time of the environment; its timers are real.
type testClock struct {
	now  func() int64
	disk *disk
}

func (c testClock) Now() int64 { return c.now() }

func (c testClock) AfterFunc(d time.Duration, f func()) func() bool {
	if d == patience && c.disk.failing() {
		d = failingPatience
	}
	return clock.System.AfterFunc(d, f)
}
