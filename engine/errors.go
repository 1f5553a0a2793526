package engine

import (
	"errors"
	"fmt"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/sstable"
	"github.com/colonnade-db/colonnade/wal"
)

var (
	// ErrClosed is returned by reads and writes after Close.
	ErrClosed = errors.New("store is closed")
	// ErrNoPartition is returned for a partition that was dropped or never existed.
	ErrNoPartition = errors.New("no such partition")
	// ErrOverloaded is returned by a Commit that has waited for flush or compaction for
	// Options.StallTimeout. Nothing was written.
	ErrOverloaded = errors.New("flush and compaction do not keep up with writes")
	// ErrDiskFull is returned by a Commit that found no room on the disk. Nothing was written. It
	// can be retried.
	ErrDiskFull = errors.New("disk is full")
	// ErrSlowDisk is returned by a Commit while the log has been waiting for the disk for longer
	// than Options.SyncTimeout. Nothing was written. It can be retried.
	ErrSlowDisk = errors.New("the disk does not answer")
	// ErrSnapshots is returned by NewSnapshot when Options.Snapshots are open. It can be retried
	// after one was closed.
	ErrSnapshots = errors.New("too many snapshots are open")
	// ErrPartitions is returned by CreatePartitions when there would be more than MaxPartitions.
	ErrPartitions = errors.New("too many partitions")
	// ErrTooLarge is returned by a Commit of a batch over MaxBatch bytes, or with more than some ten
	// thousand range tombstones.
	ErrTooLarge = errors.New("batch is too large")
)

// ReadOnlyError is returned by every write after the log or the manifest could not be written or synced.
// What is on disk is not known then, so nothing is written until the store is opened again. Reads go on.
type ReadOnlyError struct {
	Cause error // the first failure
}

func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("store is read-only until it is restarted: %v", e.Cause)
}

func (e *ReadOnlyError) Unwrap() error { return e.Cause }

// UnknownError is returned by a Commit whose record was being written or synced when that failed, or when
// the time was up (ErrSlowDisk or the context's error). The batch is applied as a whole, perhaps later,
// or not at all.
type UnknownError struct {
	Cause error
	group *group // whose outcome will be known; nil if only a restart tells
}

// Wait waits for an outcome that is late. It returns nil once the batch is durable and visible, otherwise
// the error that Commit would have returned.
func (e *UnknownError) Wait() error {
	if e.group == nil {
		return e
	}
	<-e.group.done
	return e.group.err
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("outcome of the write is not known: %v", e.Cause)
}

func (e *UnknownError) Unwrap() error { return e.Cause }

// CorruptError reports damage on disk.
type CorruptError struct {
	Partition string // name of the partition, empty for the log and the manifest
	File      string // path of the file
	Offset    int64  // where in the file, -1 for the whole
	Reason    string
}

func (e *CorruptError) Error() string {
	where := "file " + e.File
	if e.Offset >= 0 {
		where += fmt.Sprintf(", offset %d", e.Offset)
	}
	if e.Partition != "" {
		where += ", partition " + e.Partition
	}
	return fmt.Sprintf("corruption in %s: %s", where, e.Reason)
}

// VersionError says that a store has a format that this program does not know. Nothing of it was changed.
type VersionError = manifest.VersionError

// inTable adds the partition and file to an error from reading a sorted file, and records damage.
func (p *partition) inTable(err error) error {
	err = p.named(err)
	var damage *CorruptError
	if errors.As(err, &damage) {
		p.readDamage.Store(damage)
	}
	return err
}

// named adds the partition and file to an error from reading a sorted file.
func (p *partition) named(err error) error {
	var own *CorruptError
	if errors.As(err, &own) {
		return own
	}
	var c *sstable.CorruptError
	if errors.As(err, &c) {
		return &CorruptError{Partition: p.name, File: p.tablePath(c.File), Offset: c.Offset, Reason: c.Reason}
	}
	var v *sstable.VersionError
	if errors.As(err, &v) {
		return fmt.Errorf("read file %s, partition %s: %w", p.tablePath(v.File), p.name, err)
	}
	return err
}

// quarantine quarantines a partition whose files contradict each other: reads of them cannot be trusted.
// Until the store is opened again or the partition is dropped, its reads and writes fail with the
// returned error, and its files stay as they are.
func (p *partition) quarantine(format string, args ...any) error {
	err := p.inconsistent(format, args...)
	p.quarantined.Store(err)
	return err
}

// inconsistent returns the error for files that contradict each other though each of them is sound.
func (p *partition) inconsistent(format string, args ...any) *CorruptError {
	return &CorruptError{Partition: p.name, File: p.dir, Offset: -1, Reason: fmt.Sprintf(format, args...)}
}

// inSegment adds the file to an error from reading a log segment.
func inSegment(err error, file string) error {
	var c *wal.CorruptError
	if errors.As(err, &c) {
		return &CorruptError{File: file, Offset: c.Offset, Reason: c.Reason}
	}
	return fmt.Errorf("read log segment %s: %w", file, err)
}
