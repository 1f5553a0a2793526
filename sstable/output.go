package sstable

import (
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
)

// outputPiece is how much is written at a time.
const writeSize = 128 << 10

// keepBuffer is the largest buffer that is kept for another use; larger ones come
// from single large values.
const maxKeptBuffer = 512 << 10

// An output is the file that a Writer writes: blocks in their envelopes, one
// after the other.
type output struct {
	w      io.Writer
	sum    checksums
	digest xxhash.Digest // of all that was written

	offset  uint64 // where the next block begins
	raw     uint64 // bytes of the blocks so far, neither folded nor compressed
	pending []byte // blocks not yet written
	encoded []byte // the cell block that is being added

	shortLived            bool
	skipCells, skipValues compressionSkip // of a file that is short-lived
}

// untried counts down the blocks of a kind that are stored without being tried, since compression has saved
// less than a part in goodPart of one of them.
type compressionSkip int

const (
	minSavedPart  = 4
	skippedBlocks = 16 // so every 17th is tried: blocks that take turns in twos and fours do not always send the same one
)

// block compresses a block and adds it in its envelope. kind is nil for one that is always tried.
func (t *output) addBlock(raw []byte, c Compression, kind *compressionSkip) (handle, error) {
	t.raw += uint64(len(raw))
	return t.add(raw, c, false, kind)
}

// cells is block for the cell block that b holds, which it folds if it is to be compressed.
func (t *output) addCells(b *cellBuilder, c Compression, kind *compressionSkip) (handle, error) {
	if c == None {
		t.encoded = b.appendPlain(t.encoded[:0])
		return t.addBlock(t.encoded, c, kind)
	}
	t.raw += uint64(b.size())
	t.encoded = b.appendEncoded(t.encoded[:0])
	return t.add(t.encoded, c, true, kind)
}

func (t *output) add(raw []byte, c Compression, encoded bool, kind *compressionSkip) (handle, error) {
	from := len(t.pending)
	c = t.compress(c, raw, kind)
	h := handle{t.offset, uint32(len(t.pending) - from)}
	t.pending = t.sum.appendTrailer(t.pending, from, t.offset, trailer{c, encoded, uint32(len(raw))})
	t.offset += uint64(len(t.pending) - from)
	if len(t.pending) < writeSize && cap(t.pending) <= 2*maxKeptBuffer { // a large value takes room, however short it is compressed
		return h, nil
	}
	return h, t.flush()
}

// compress appends a block to pending, and returns how it is compressed.
func (t *output) compress(c Compression, raw []byte, kind *compressionSkip) Compression {
	from, try := len(t.pending), t.shortLived && kind != nil && c != None
	if try && *kind > 0 {
		*kind--
		c, try = None, false
	}
	t.pending, c = compress(c, t.pending, raw)
	if try && len(t.pending)-from > len(raw)-len(raw)/minSavedPart {
		*kind = skippedBlocks
	}
	return c
}

// end adds the last bytes of the file and writes what is left.
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
