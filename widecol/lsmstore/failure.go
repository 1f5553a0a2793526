package lsmstore

import (
	"context"
	"errors"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol"
)

var errClosed = widecol.Errorf(widecol.Closed, "closed", "the store is shutting down")

// failure turns an error of the engine into one of the data model.
func failure(err error) error {
	if err == nil { // before the variables below are allocated
		return nil
	}
	var own *widecol.Error
	var unknown *engine.UnknownError
	switch {
	case errors.As(err, &own):
		return err
	case errors.As(err, &unknown): // even if the context ended the wait
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	e := describeFailure(err)
	e.Cause = err
	return e
}

func describeFailure(err error) *widecol.Error {
	var (
		unknown  *engine.UnknownError
		readOnly *engine.ReadOnlyError
		corrupt  *engine.CorruptError
	)
	switch {
	case errors.As(err, &unknown): // first: its cause may be any of the others
		return widecol.Errorf(widecol.Unknown, "outcome_unknown", "the write failed or took too long while it was made durable: it is applied as a whole, perhaps later, or not at all")
	case errors.As(err, &readOnly):
		return widecol.Errorf(widecol.ReadOnly, "read_only", "the store takes no writes until it is restarted")
	case errors.As(err, &corrupt):
		return widecol.Errorf(widecol.Corrupt, "corruption", "stored data of partition %s is damaged", corrupt.Partition)
	case errors.Is(err, engine.ErrDiskFull):
		return widecol.Errorf(widecol.DiskFull, "disk_full", "there is not enough free space on the disk")
	case errors.Is(err, engine.ErrOverloaded):
		return widecol.Errorf(widecol.Overloaded, "overloaded", "the store cannot keep up with writes, try again later")
	case errors.Is(err, engine.ErrSnapshots):
		return widecol.Errorf(widecol.Overloaded, "overloaded", "too many reads are under way, try again later")
	case errors.Is(err, engine.ErrSlowDisk):
		return widecol.Errorf(widecol.Overloaded, "slow_disk", "the disk does not answer, try again later")
	case errors.Is(err, engine.ErrPartitions):
		return widecol.Errorf(widecol.Conflict, "too_many_tables", "there are %d partitions at most: a table has two, and one for each locality group. Drop a table first", engine.MaxPartitions)
	case errors.Is(err, engine.ErrTooLarge):
		return widecol.Errorf(widecol.TooLarge, "request_too_large", "a write takes at most %d bytes", engine.MaxBatch)
	case errors.Is(err, engine.ErrClosed):
		return widecol.Errorf(widecol.Closed, "closed", "the store is shutting down")
	}
	return widecol.Errorf(widecol.Internal, "internal", "the store failed")
}
