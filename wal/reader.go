package wal

import (
	"fmt"
	"hash/crc32"
	"io"
)

// chunkSize is the size of a read, in bytes.
const chunkSize = 256 << 10

// EndKind says how the log of a segment ends.
type EndKind uint8

const (
	// Unwritten: the segment has no header. It holds what was there before its
	// first use, or was torn in its first moments. Nothing in it was durable.
	Unwritten EndKind = iota
	// Empty: the log ends behind the header. A clean shutdown leaves such a
	// segment, and so does a crash before the first batch is whole.
	Empty
	// Torn: the log ends behind a batch. What follows was never written, or not
	// whole.
	Torn
	// Sealed: the log ends behind an idle seal. A batch may have been torn
	// behind it.
	Sealed
	// Finished: the log ends with the final seal.
	Finished
)

func (k EndKind) String() string {
	return [...]string{"unwritten", "empty", "torn", "sealed", "finished"}[k]
}

// End is the end of the log in a segment. All records before Offset are good.
type End struct {
	Kind   EndKind
	Offset int64
}

// Reader reads the batches of one segment, in order. It is not safe for concurrent use. It does not
// close the file.
//
// Its errors are of three kinds. io.EOF is the end of the log, as the package comment defines it;
// End tells which kind of end. A *CorruptError, or from NewReader a *VersionError, is about the
// content of the segment. Any other error is a failure to read the file, and says nothing about the
// log. After an error every call returns the same one.
//
// A Reader has a buffer of chunkSize bytes, or of the longest record if that is longer. It trusts a
// length only after a checksum agrees.
type Reader struct {
	src       source
	header    Header
	scrambler *scrambler
	buf       []byte // the bytes of the file from base on
	base      int64
	off       int64  // of the next record
	seq       uint64 // of the last batch
	end       End
	err       error

	partial bool
}

// NewReader returns a Reader of the segment with the given number of a store, in a file of size
// bytes. It reads the header. A segment that was never written has none: Next returns io.EOF at once.
func NewReader(f io.ReaderAt, size int64, store [16]byte, number uint64) (*Reader, error) {
	if number == 0 || size < 0 {
		return nil, fmt.Errorf("log segment %d cannot have %d bytes", number, size)
	}
	r := &Reader{src: source{file: f, size: size, number: number}, scrambler: newScrambler(store, number)}
	h, payload, err := r.record()
	if err == nil {
		err = r.open(&h, payload, store)
	}
	if err == io.EOF {
		r.err = io.EOF
		err = r.src.checkUnwritten()
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Header returns the segment's header. It is the zero Header if the segment was never written.
func (r *Reader) Header() Header { return r.header }

// End returns where and how the log ends. It is valid after io.EOF.
func (r *Reader) End() End { return r.end }

// PartialRecord reports whether a record that a crash has torn may follow the end. It is valid after
// io.EOF.
func (r *Reader) PartialRecord() bool { return r.partial }

// Next returns the next batch. The payload is valid until the next call.
func (r *Reader) Next() (seq uint64, payload []byte, err error) {
	for r.err == nil {
		h, payload, err := r.record()
		if err == nil {
			err = r.accept(&h)
		}
		switch {
		case err != nil:
			r.err = err
		case h.typ == typeBatch:
			r.scrambler.apply(payload, r.off-footSize-int64(len(payload)))
			return h.seq, payload, nil
		case h.typ == typeFinal:
			r.err = io.EOF
		}
	}
	return 0, nil, r.err
}

// open takes the header from h, the good record at the front of the file.
func (r *Reader) open(h *head, payload []byte, store [16]byte) error {
	header, err := decodeHeader(payload, h.number)
	switch {
	case err != nil:
		return err
	case header.Store != store:
		return r.src.corrupt(0, "segment belongs to store %x", header.Store)
	case header.Number != r.src.number:
		return r.classifyEnd() // what an older segment left
	case header.Size != r.src.size:
		return r.src.corrupt(min(header.Size, r.src.size),
			"file has %d bytes instead of %d", r.src.size, header.Size)
	}
	r.header = header
	return r.accept(h)
}

// accept moves past the good record h, if it belongs where it is.
func (r *Reader) accept(h *head) error {
	ordered := h.seq == r.seq
	if h.typ == typeBatch {
		ordered = h.seq > r.seq
	}
	switch {
	case h.typ < typeHeader || h.typ > typeFinal || (h.typ == typeHeader) != (r.off == 0):
		return r.src.corrupt(r.off, "record of type %d", h.typ)
	case h.typ >= typeSeal && h.length >= sectorSize:
		return r.src.corrupt(r.off, "seal of %d bytes", h.length)
	case !ordered:
		return r.src.corrupt(r.off, "sequence number %d follows %d", h.seq, r.seq)
	case h.synced > uint64(r.off):
		return r.src.corrupt(r.off, "record knows of %d synced bytes", h.synced)
	}
	r.off += frameSize + int64(h.length)
	r.seq = h.seq
	r.end = End{Torn, r.off}
	switch h.typ {
	case typeHeader:
		r.end.Kind = Empty
	case typeSeal:
		r.end.Kind = Sealed
	case typeFinal:
		r.end.Kind = Finished
	}
	return nil
}

// record returns the record at r.off if it is good. Otherwise the error says what the bytes there
// mean. The payload is valid until the next call.
func (r *Reader) record() (h head, payload []byte, err error) {
	if r.src.size-r.off < frameSize {
		return h, nil, io.EOF
	}
	b, err := r.peek(headSize)
	if err != nil {
		return h, nil, err
	}
	h = decodeHead(b)
	if !h.fits(r.src.number, r.off, r.src.size) {
		return h, nil, r.classifyEnd()
	}
	n := frameSize + int(h.length)
	if n <= chunkSize {
		if b, err = r.peek(n); err != nil {
			return h, nil, err
		}
		body := b[atLength : n-footSize]
		if crc32.Checksum(body, castagnoli) == h.sum {
			return h, b[headSize : n-footSize], nil
		}
	}
	// Longer records are checked before a buffer is allocated for them. Others get here only to have
	// their second checksum checked.
	s, foot, err := r.src.recordSums(r.off, n, noFlip)
	if err != nil {
		return h, nil, err
	}
	if s.head != h.sum && s.foot != foot {
		return h, nil, r.classifyEnd()
	}
	if b, err = r.peek(n); err != nil {
		return h, nil, err
	}
	return h, b[headSize : n-footSize], nil
}

// classifyEnd says why there is no good record at r.off: io.EOF at the end of the log, or damage.
func (r *Reader) classifyEnd() error {
	t := tail{src: r.src, off: r.off}
	err := t.classify()
	r.partial = t.partial
	return err
}

// peek returns the n bytes at r.off, which the file must hold. They are valid until the next call.
func (r *Reader) peek(n int) ([]byte, error) {
	i := int(r.off - r.base)
	if i+n <= len(r.buf) {
		return r.buf[i : i+n], nil
	}
	held := r.buf[min(i, len(r.buf)):]
	want := max(n, int(min(chunkSize, r.src.size-r.off)))
	buf := r.buf[:0]
	if cap(buf) < want {
		buf = make([]byte, 0, want)
	}
	buf = append(buf, held...)[:want]
	r.base, r.buf = r.off, buf[:0]
	if err := r.src.read(buf[len(held):], r.off+int64(len(held))); err != nil {
		return nil, err
	}
	r.buf = buf
	return buf[:n], nil
}
