package lsmtest

import (
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
)

const (
	// patience bounds a call: after it, the call counts as stuck.
	patience = time.Minute
	// failingPatience takes its place while the disk fails, because a write may then wait in vain.
	failingPatience = 50 * time.Millisecond
)

// options returns the options of the next open. In a plain environment they are the engine's
// defaults, except for a log small enough to be created in memory thousands of times. Otherwise
// every size is random: at the low end each write, row or cell fills it alone, at the high end
// nothing does.
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

// moveBytes returns a bound of the steps of a move: one cell, a few, some rows, all. In a plain environment it is
// one cell, so that families are seen on their way.
func (s *subject) moveBytes() int {
	if s.env.Plain {
		return 1
	}
	return []int{1, 64, 300, 1 << 20}[s.rnd.IntN(4)]
}

// testClock has the time of the environment. Its timers are real.
type testClock struct {
	now  func() int64
	disk *disk
}

func (c testClock) Now() int64 { return c.now() }

func (c testClock) Elapsed() time.Duration { return clock.System.Elapsed() }

func (c testClock) AfterFunc(d time.Duration, f func()) func() bool {
	if d == patience && c.disk.failing() {
		d = failingPatience
	}
	return clock.System.AfterFunc(d, f)
}
