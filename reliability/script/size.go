package script

import (
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
)

// Size is how large the files of a store get: so small that a short workload
// rotates, flushes and compacts.
type Size struct {
	Memtable, Log, Segment int64
	Clock                  clock.Clock
	Patience               time.Duration // of a call that waits for room or for the disk
}

func (s Size) options(fs vfs.FS) engine.Options {
	return engine.Options{
		FS: fs, Clock: s.Clock,
		MemtableBytes: s.Memtable, LogBytes: s.Log, SegmentBytes: s.Segment,
		CacheBytes: 16 << 10, FileBytes: 4 << 10, BlockBytes: 512,
		StallTimeout: s.Patience, SyncTimeout: s.Patience, ReserveBytes: -1,
	}
}
