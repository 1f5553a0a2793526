package sstable

import (
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
)

// writeSize is about how many bytes each write has.
const writeSize = 128 << 10

// maxKeptBuffer is the largest buffer kept for reuse; larger ones come from single
// large values.
const maxKeptBuffer = 512 << 10

// An output is the file that a Writer writes: blocks with their trailers, one after
// another.
type output struct {
	w      io.Writer
	sum    checksums
	digest xxhash.Digest // of all bytes written

	offset  uint64 // of the next block
	raw     uint64 // size of all blocks, not encoded, not compressed
	pending []byte // blocks not yet written
	encoded []byte // the cell block being added

	shortLived            bool
	skipCells, skipValues compressionSkip // used if shortLived
}

// A compressionSkip counts down the blocks of one kind that are stored without
// trying to compress them, after one of them has saved less than 1/minSavedPart.
type compressionSkip int

const (
	minSavedPart  = 4
	skippedBlocks = 16 // 17 is odd: patterns of two or four blocks do not always try the same one
)

// addBlock compresses a block and adds it. skip is nil for a block that is always
// compressed.
func (t *output) addBlock(raw []byte, c Compression, skip *compressionSkip) (handle, error) {
	t.raw += uint64(len(raw))
	return t.add(raw, c, false, skip)
}

// addCells adds the cell block in b, encoded if it is to be compressed.
func (t *output) addCells(b *cellBuilder, c Compression, skip *compressionSkip) (handle, error) {
	if c == None {
		t.encoded = b.appendPlain(t.encoded[:0])
		return t.addBlock(t.encoded, c, skip)
	}
	t.raw += uint64(b.size())
	t.encoded = b.appendEncoded(t.encoded[:0])
	return t.add(t.encoded, c, true, skip)
}

func (t *output) add(raw []byte, c Compression, encoded bool, skip *compressionSkip) (handle, error) {
	from := len(t.pending)
	c = t.compress(c, raw, skip)
	h := handle{t.offset, uint32(len(t.pending) - from)}
	t.pending = t.sum.appendTrailer(t.pending, from, t.offset, trailer{c, encoded, uint32(len(raw))})
	t.offset += uint64(len(t.pending) - from)
	if len(t.pending) < writeSize && cap(t.pending) <= 2*maxKeptBuffer { // a large value keeps its memory even if it compresses well
		return h, nil
	}
	return h, t.flush()
}

// compress appends a block to pending and returns the compression used.
func (t *output) compress(c Compression, raw []byte, skip *compressionSkip) Compression {
	from, try := len(t.pending), t.shortLived && skip != nil && c != None
	if try && *skip > 0 {
		*skip--
		c, try = None, false
	}
	t.pending, c = compress(c, t.pending, raw)
	if try && len(t.pending)-from > len(raw)-len(raw)/minSavedPart {
		*skip = skippedBlocks
	}
	return c
}

// end appends the last bytes of the file and writes all that is pending.
func (t *output) end(p []byte) error {
	t.pending = append(t.pending, p...)
	t.offset += uint64(len(p))
	return t.flush()
}

func (t *output) flush() error {
	n, err := t.w.Write(t.pending)
	if err == nil && n < len(t.pending) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("write sstable: %w", err)
	}
	t.digest.Write(t.pending)
	t.pending = t.pending[:0]
	if cap(t.pending) > 2*maxKeptBuffer {
		t.pending = nil
	}
	return nil
}
