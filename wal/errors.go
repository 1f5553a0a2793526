package wal

import "fmt"

// CorruptError says that a segment is damaged: it holds, or held, durable
// records that cannot be read any more, from Offset on.
type CorruptError struct {
	Segment uint64
	Offset  int64
	Reason  string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("log segment %d is corrupt at offset %d: %s", e.Segment, e.Offset, e.Reason)
}

// VersionError says that a segment has a format that this program does not
// know yet.
type VersionError struct {
	Segment uint64
	Version uint32
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("log segment %d has format version %d, and this program reads none above %d",
		e.Segment, e.Version, version)
}
