package wal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// source is the file of a segment, as its Reader sees it.
type source struct {
	file   io.ReaderAt
	size   int64
	number uint64
}

// bitFlip is one bit of a file to be read inverted.
type bitFlip struct {
	off  int64
	mask byte
}

// noFlip leaves the file as it is.
var noFlip = bitFlip{off: -1}

// read fills b from offset off. All of b must lie inside the file, so the end of the file is an
// error here, never io.EOF.
func (s *source) read(b []byte, off int64) error {
	n, err := s.file.ReadAt(b, off)
	if n == len(b) && (err == nil || err == io.EOF) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read log segment %d at offset %d: %w", s.number, off+int64(n), err)
}

// recordSums returns the checksums of the record of n bytes at off with one bit flipped, and the
// second checksum that is stored with it. It uses little memory, however long the record.
func (s *source) recordSums(off int64, n int, f bitFlip) (got sums, foot uint32, err error) {
	end := off + int64(n) - footSize
	buf := make([]byte, min(n, 64<<10))
	for at := off + atLength; at < end; {
		b := buf[:min(end-at, int64(len(buf)))]
		if err := s.read(b, at); err != nil {
			return sums{}, 0, err
		}
		if i := f.off - at; i >= 0 && i < int64(len(b)) {
			b[i] ^= f.mask
		}
		got = got.update(b)
		at += int64(len(b))
	}
	if err := s.read(buf[:footSize], end); err != nil {
		return sums{}, 0, err
	}
	return got, binary.LittleEndian.Uint32(buf), nil
}

// checkUnwritten returns an error if a segment without a header cannot be an unwritten one: a file
// too short for any segment must hold only zeros.
func (s *source) checkUnwritten() error {
	if s.size >= MinSegment(0) {
		return nil
	}
	b := make([]byte, s.size)
	if err := s.read(b, 0); err != nil {
		return err
	}
	if bytes.Count(b, []byte{0}) < len(b) {
		return s.corrupt(s.size, "file has %d bytes, too few for any segment", s.size)
	}
	return nil
}

// corrupt returns a *CorruptError.
func (s *source) corrupt(off int64, format string, args ...any) error {
	return &CorruptError{Segment: s.number, Offset: off, Reason: fmt.Sprintf(format, args...)}
}
