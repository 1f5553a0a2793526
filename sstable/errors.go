package sstable

import (
	"errors"
	"fmt"
	"io"
)

// CorruptError reports damage of a file: bytes the Writer did not write.
type CorruptError struct {
	File   uint64 // the number of the file
	Offset int64  // where the damaged block or footer begins
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("sstable %d is corrupt at offset %d: %s", e.File, e.Offset, e.Reason)
}

// VersionError reports a file of an unknown format version.
type VersionError struct {
	File    uint64
	Version uint32
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("sstable %d has format version %d, the latest known is %d", e.File, e.Version, formatVersion)
}

// readFull reads len(p) bytes at offset. A file that ends early is corrupt; other
// errors are those of the device.
func readFull(r io.ReaderAt, file uint64, p []byte, offset int64) error {
	n, err := r.ReadAt(p, offset)
	switch {
	case n == len(p):
		return nil
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return &CorruptError{file, offset, fmt.Sprintf("file ends after %d of %d bytes", n, len(p))}
	}
	return fmt.Errorf("read sstable %d at offset %d: %w", file, offset, err)
}
