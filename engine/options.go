package engine

import (
	"crypto/rand"
	"io"
	"log/slog"
	"time"

	"colonnade/clock"
	"colonnade/vfs"
)

// Options configures a DB. The zero value of every field but FS and Clock
// stands for a default.
type Options struct {
	FS    vfs.FS
	Clock clock.Clock
	// Rand is read once, for the identity of a new store. Default: the
	// system's source of secure randomness.
	Rand io.Reader
	Log  *slog.Logger // default: none

	// MemtableBytes bounds what all memtables hold, those being flushed
	// included. Default 128 MiB, at most 8 GiB: a partition's memtable gets half of
	// it, and more than 7 GiB might not fit into one. They lie on the Go heap, like the
	// cache: a program that does not set debug.SetMemoryLimit, to both budgets and
	// 64 MiB or more, lets garbage double them.
	MemtableBytes int64
	// CacheBytes bounds the block cache. Default 256 MiB.
	CacheBytes int64
	// LogBytes bounds the log's segments. Past it, the partition that keeps the
	// oldest one is flushed, before that if it is no trouble. Beside them, files of up
	// to half of it are kept for reuse. Default: twice MemtableBytes, at least 8
	// segments.
	LogBytes int64
	// SegmentBytes is the size of a log segment. Default 16 MiB.
	SegmentBytes int64
	// FileBytes is the size at which a compaction starts a new file. A row is
	// never split, so that a file can be larger by one row. Default 32 MiB.
	FileBytes int64
	// OpenFiles bounds how many sorted files are open at once, 1 at least. The
	// store opens about ten more, and one for each processor that compactions run on:
	// those that it writes, the log, directories. Default 512.
	OpenFiles int
	// BlockBytes is the size of a data block before compression. Default: that
	// of package sstable.
	BlockBytes int
	// Workers is on how many processors compactions run beside whoever reads and writes.
	// Default 1. While these leave more unused, since writers are slowed down or nobody has
	// come for 100 ms, compactions run on all there are, four at most.
	Workers int
	// Snapshots bounds how many are open at once: each keeps the memtables and files
	// that there were when it was opened. Default 10,000.
	Snapshots int
	// ScrubBytesPerSecond bounds what the scrubber reads, to find damage before it is
	// needed. Default 1 MiB, which is 600 GB in a week; negative for none.
	ScrubBytesPerSecond int64
	// StallTimeout bounds how long a Commit waits for flush and compaction before it
	// fails with ErrOverloaded. Not counted is the pause that slows writers down, a
	// quarter of a second at most. Default 10 s.
	StallTimeout time.Duration
	// SyncTimeout bounds how long a Commit waits for its batch to be durable, before
	// it returns a *UnknownError. Close waits three times as long. Default 10 s.
	SyncTimeout time.Duration
	// ReserveBytes of the disk are kept for flushes, compactions and the next open:
	// while less is free, Commit fails with ErrDiskFull. Default: twice
	// MemtableBytes, at least 256 MiB; negative for none.
	ReserveBytes int64
}

const maxMemtables = 8 << 30

// MaxBatch is the largest encoded batch in bytes.
const MaxBatch = 128 << 20

func (o Options) withDefaults() Options {
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	// A random load writes tables 1.12, 0.66, 0.42 and 0.30 times with 32, 64, 128 and 256 MiB.
	setDefault(&o.MemtableBytes, 128<<20)
	o.MemtableBytes = min(o.MemtableBytes, maxMemtables)
	setDefault(&o.CacheBytes, 256<<20)
	setDefault(&o.SegmentBytes, 16<<20) // commits are as fast with 1 to 256 MiB
	setDefault(&o.LogBytes, max(2*o.MemtableBytes, 8*o.SegmentBytes))
	setDefault(&o.FileBytes, 32<<20) // loads are as fast with 8 and 128 MiB
	setDefault(&o.Workers, 1)
	setDefault(&o.OpenFiles, 512)
	setDefault(&o.Snapshots, 10_000)
	setDefault(&o.ScrubBytesPerSecond, 1<<20)
	setDefault(&o.StallTimeout, 10*time.Second)
	setDefault(&o.SyncTimeout, 10*time.Second)
	setDefault(&o.ReserveBytes, max(2*o.MemtableBytes, 256<<20))
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
