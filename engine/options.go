package engine

import (
	"crypto/rand"
	"io"
	"log/slog"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/vfs"
)

// Options configures a DB. FS and Clock are required. The zero value of any other field means a
// default.
type Options struct {
	FS    vfs.FS
	Clock clock.Clock
	// Rand is read once, for the identity of a new store. Default: crypto/rand.
	Rand io.Reader
	Log  *slog.Logger // default: none

	// MemtableBytes bounds all memtables, including those being flushed. Default 128 MiB, at most
	// 8 GiB: one memtable gets up to half of it, and more than 7 GiB may not fit into one.
	// Memtables and cache are on the Go heap. A program should call debug.SetMemoryLimit with both
	// budgets plus 64 MiB or more; otherwise garbage can double them.
	MemtableBytes int64
	// CacheBytes bounds the block cache. Default 256 MiB.
	CacheBytes int64
	// LogBytes bounds the log's segments. From half of it on, the partitions that pin the oldest
	// segment are flushed; at the bound, Commits wait for that. Files of up to half of LogBytes
	// more are kept for reuse. Default: twice MemtableBytes, at least 8 segments.
	LogBytes int64
	// SegmentBytes is the size up to which log segments grow. Default 16 MiB.
	SegmentBytes int64
	// FileBytes is the size at which a compaction starts a new file. Rows are not split, so a file
	// can be larger by one row. Default 32 MiB.
	FileBytes int64
	// OpenFiles bounds how many sorted files are open for reading, at least 1. The store opens about
	// ten more, plus one per CPU that compactions run on: files being written, the log, directories.
	// Default 512.
	OpenFiles int
	// BlockBytes is the size of a data block before compression. Default: that of package sstable.
	BlockBytes int
	// Workers is the number of CPUs that compactions use beside reads and writes. Default 1. While
	// writers are slowed down, or no read or write has come for 100 ms, compactions use all CPUs, at
	// most four.
	Workers int
	// Snapshots bounds how many are open at once. Each keeps the memtables and files of its moment.
	// Default 10,000.
	Snapshots int
	// ScrubBytesPerSecond bounds what the scrubber reads to find damage early. Default 1 MiB, which
	// is 600 GB in a week; negative for no scrubber.
	ScrubBytesPerSecond int64
	// StallTimeout bounds how long a Commit waits for flush and compaction before it fails with
	// ErrOverloaded. The delay by the write rate limit, at most a quarter of a second, is not
	// counted. Default 10 s.
	StallTimeout time.Duration
	// SyncTimeout bounds how long a Commit waits for its batch to be durable before it returns an
	// *UnknownError. Close waits three times as long. Default 10 s.
	SyncTimeout time.Duration
	// ReserveBytes of the disk are kept for flushes, compactions and the next open. While less is
	// free, Commit fails with ErrDiskFull. Default: twice MemtableBytes, at least 256 MiB; negative
	// for none.
	ReserveBytes int64
	// ArchiveLog keeps each segment of the log until it is released: see NextLogSegment. While it is off, none is
	// kept.
	ArchiveLog bool
	// LogSynced, if it is not nil, is called after each group of batches that was written to the log and synced. It is
	// called by one goroutine at a time, which all Commits wait for, so it must be quick.
	LogSynced func(LogSync)
	// Trace, if it is not nil, is told of commits, flushes and compactions.
	Trace Tracer
}

const maxMemtables = 8 << 30

// MaxBatch is the largest encoded batch in bytes.
const MaxBatch = 128 << 20

// WithDefaults returns the options with a default for each that is zero.
func (o Options) WithDefaults() Options {
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
