package wal

import (
	"encoding/binary"
	"fmt"
	"io"
)

// magic is the start of a header record's payload.
const magic = "colo.wal"

// version is the format that this package writes, and the newest that it reads.
const version = 1

// flagCopy is the bit of a header's flags for Header.Copy.
const flagCopy = 1 << 0

// headerPayload is the length of the payload of a header record of version 1,
// and headerSize that of the whole record.
const (
	headerPayload = 40
	headerSize    = frameSize + headerPayload
)

// SealSize is the largest room that a seal takes: the seal, and one before it that fills the sector.
const SealSize = sectorSize + 2*frameSize

// sealSpace is reserved after the batches, for an idle seal and the final seal.
const sealSpace = 2 * SealSize

// Header describes a segment. It is stored in the segment's first record.
type Header struct {
	Store  [16]byte // id of the store that the segment belongs to
	Number uint64   // from 1; a store never gives a number twice
	Size   int64    // of the file, filled before the first record is written
	Copy   bool     // written by a recovery: valid only once the manifest points at it
}

// MinSegment returns the size of the smallest segment that can take one batch
// of payload bytes.
func MinSegment(payload int) int64 {
	return headerSize + int64(payload) + Overhead(payload) + sealSpace
}

// Fill writes size zeros to w, the content of a new segment's file before a Writer overwrites it. The
// caller syncs the file.
func Fill(w io.Writer, size int64) error {
	zeros := make([]byte, min(size, 1<<20))
	for done := int64(0); done < size; done += int64(len(zeros)) {
		zeros = zeros[:min(size-done, int64(len(zeros)))]
		n, err := w.Write(zeros)
		if err == nil && n < len(zeros) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return fmt.Errorf("fill log segment at offset %d: %w", done, err)
		}
	}
	return nil
}

// appendPayload appends the payload of the header record of h to b.
func (h *Header) appendPayload(b []byte) []byte {
	var flags uint32
	if h.Copy {
		flags |= flagCopy
	}
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint32(b, version)
	b = binary.LittleEndian.AppendUint32(b, flags)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.Size))
	return append(b, h.Store[:]...)
}

// decodeHeader decodes the payload of the header record of segment number. It
// fails with a *VersionError or a *CorruptError.
func decodeHeader(b []byte, number uint64) (Header, error) {
	corrupt := func(format string, args ...any) (Header, error) {
		return Header{}, &CorruptError{Segment: number, Reason: fmt.Sprintf(format, args...)}
	}
	if len(b) < len(magic)+4 || string(b[:len(magic)]) != magic {
		return corrupt("header does not begin with %q", magic)
	}
	b = b[len(magic):]
	v := binary.LittleEndian.Uint32(b)
	if v > version {
		return Header{}, &VersionError{Segment: number, Version: v}
	}
	if v != version || len(magic)+len(b) != headerPayload {
		return corrupt("header of version %d has %d bytes", v, len(magic)+len(b))
	}
	flags := binary.LittleEndian.Uint32(b[4:])
	if flags&^flagCopy != 0 {
		return corrupt("unknown flags %#x in header", flags)
	}
	h := Header{
		Number: number,
		Size:   int64(binary.LittleEndian.Uint64(b[8:])),
		Copy:   flags&flagCopy != 0,
	}
	copy(h.Store[:], b[16:])
	return h, nil
}
