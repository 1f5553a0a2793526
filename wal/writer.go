package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// bufferSize bounds the memory of a Writer. A larger group of records is written in parts, all before
// the next Sync.
const bufferSize = 1 << 20

// File is the file of a Writer. It has the segment's size already, unless the Writer is a
// single-sync one, and Write overwrites it from the front.
type File interface {
	io.Writer
	Sync() error // returns when all that was written is durable
	Close() error
}

// errFinished is the error of calls after Finish.
var errFinished = errors.New("log segment is finished")

// Writer writes one segment. It is not safe for concurrent use.
//
// Errors are sticky: after the first one the content of the file after the last successful Sync is
// unknown. Every later call returns the same error and leaves the file alone, but Finish still closes
// it.
type Writer struct {
	// Retry, if not nil, is called when a write has failed, and may block. If it returns true, the
	// Writer writes the rest again.
	Retry func(cause error) bool

	f          File
	singleSync bool // nobody reads the segment before it is finished
	header     Header
	scrambler  *scrambler
	buf        []byte // encoded, not yet written; at most bufferSize
	size       int64  // of all records, written or not
	synced     int64  // known to be durable
	seq        uint64 // of the last batch
	durableSeq uint64 // of the last batch that is known to be durable
	sealed     bool   // nothing was appended since the last seal
	closed     bool
	err        error
}

// NewWriter returns a Writer of the segment h in the file f, and takes ownership of f. The first Sync
// writes the header.
func NewWriter(f File, h Header) *Writer {
	w := &Writer{f: f, header: h, scrambler: newScrambler(h.Store, h.Number), sealed: true}
	if h.Number == 0 || h.Size < MinSegment(0) {
		w.fail(fmt.Errorf("log segment %d cannot have %d bytes", h.Number, h.Size))
		return w
	}
	w.put(typeHeader, h.appendPayload(nil))
	return w
}

// NewSingleSyncWriter returns a Writer of a segment that counts only after Finish has returned without
// an error: the caller then gives it its name. So the file starts empty, and Finish fills it up to
// the segment's size and syncs it, once.
func NewSingleSyncWriter(f File, h Header) *Writer {
	w := NewWriter(f, h)
	w.singleSync = true
	return w
}

// Size returns the length of all records appended so far.
func (w *Writer) Size() int64 { return w.size }

// Room returns the length of the largest payload that Append can still take.
// It is negative if there is room for none.
func (w *Writer) Room() int64 {
	return min(w.header.Size-w.size-sealSpace-frameSize, math.MaxUint32)
}

// Durable returns the sequence number of the last batch that is known to be
// durable, 0 for none.
func (w *Writer) Durable() uint64 { return w.durableSeq }

// Append adds a batch to those that the next Sync makes durable. Its sequence number must be above
// that of the batch before it, and the payload no longer than Room. Append does not keep the payload.
func (w *Writer) Append(seq uint64, payload []byte) {
	switch {
	case w.err != nil:
		return
	case seq <= w.seq:
		w.fail(fmt.Errorf("log segment %d: sequence number %d follows %d", w.header.Number, seq, w.seq))
		return
	case int64(len(payload)) > w.Room():
		w.fail(fmt.Errorf("log segment %d: no room for a batch of %d bytes", w.header.Number, len(payload)))
		return
	}
	w.seq = seq
	w.sealed = false
	w.put(typeBatch, payload)
}

// Sync writes the appended batches and returns when they are durable.
func (w *Writer) Sync() error {
	if w.err != nil || w.synced == w.size {
		return w.err
	}
	w.flush()
	if w.err != nil {
		return w.err
	}
	if err := w.f.Sync(); err != nil {
		w.fail(fmt.Errorf("sync log segment %d: %w", w.header.Number, err))
		return w.err
	}
	w.synced, w.durableSeq = w.size, w.seq
	return nil
}

// Seal syncs, and then writes and syncs a record that proves the sync, so that damage to earlier
// batches is never taken for the end of the log. It does nothing if no batch was appended since the
// last seal. More batches may follow.
func (w *Writer) Seal() error {
	if w.sealed {
		return w.err
	}
	return w.seal(typeSeal)
}

// Finish writes the final seal and always closes the file. An error of the close counts: some file
// systems report a failed write there.
func (w *Writer) Finish() error {
	if w.closed {
		return w.err
	}
	w.seal(typeFinal)
	return w.close()
}

// close closes the file. Nothing can be appended any more.
func (w *Writer) close() error {
	w.closed = true
	if err := w.f.Close(); err != nil {
		w.fail(fmt.Errorf("close log segment %d: %w", w.header.Number, err))
	}
	err := w.err
	w.fail(errFinished)
	return err
}

// Close seals the segment like Seal and closes the file. It is for a segment that is not finished.
func (w *Writer) Close() error {
	if w.closed {
		return w.err
	}
	w.Seal()
	return w.close()
}

// seal makes all batches durable, and then a seal in a sector of its own: the loss of one sector must
// not take both the last batch and its proof.
func (w *Writer) seal(t recordType) error {
	unsynced := w.singleSync && t == typeFinal && w.err == nil
	if unsynced {
		w.synced = w.size // before the seal can be read
	} else if err := w.Sync(); err != nil {
		return err
	}
	if into := w.size % sectorSize; into > 0 {
		var gap [sectorSize]byte
		w.put(typeSeal, gap[:(2*sectorSize-into-frameSize)%sectorSize])
	}
	w.put(t, nil)
	w.sealed = true
	if unsynced {
		w.flush()
		w.write(make([]byte, w.header.Size-w.size))
	}
	return w.Sync()
}

// put encodes a record into the buffer, and writes the buffer if it is full.
func (w *Writer) put(t recordType, payload []byte) {
	h := head{length: uint32(len(payload)), typ: t, number: w.header.Number, synced: uint64(w.synced)}
	if t != typeHeader {
		h.seq = w.seq
	}
	n := frameSize + len(payload)
	if len(w.buf)+n > bufferSize {
		w.flush()
	}
	if n > bufferSize {
		w.putLarge(&h, payload)
	} else {
		start := len(w.buf)
		w.buf = append(h.append(w.buf), payload...)
		if t != typeHeader {
			w.scrambler.apply(w.buf[start+headSize:], w.size+headSize)
		}
		s := sums{}.update(w.buf[start+atLength:])
		binary.LittleEndian.PutUint32(w.buf[start:], s.head)
		w.buf = binary.LittleEndian.AppendUint32(w.buf, s.foot)
	}
	w.size += int64(n)
}

// putLarge writes all but the last bytes of a batch that is longer than the
// buffer, through the empty buffer. The checksum comes first, so it scrambles
// the payload twice rather than hold a copy of all of it.
func (w *Writer) putLarge(h *head, payload []byte) {
	pieces := func(f func()) {
		off := w.size + headSize
		for p := range slices.Chunk(payload, bufferSize) {
			w.buf = append(w.buf[:0], p...)
			w.scrambler.apply(w.buf, off)
			off += int64(len(p))
			f()
		}
	}
	s := sums{}.update(h.append(w.buf)[atLength:])
	pieces(func() { s = s.update(w.buf) })
	h.sum = s.head
	w.buf = h.append(w.buf[:0])
	w.flush()
	pieces(w.flush)
	w.buf = binary.LittleEndian.AppendUint32(w.buf, s.foot)
}

// flush writes the buffer.
func (w *Writer) flush() {
	w.write(w.buf)
	w.buf = w.buf[:0]
}

// write writes b behind what was written before. A write that fails is repeated
// if Retry says so: unlike a sync it tells what it has not done.
func (w *Writer) write(b []byte) {
	if w.err != nil || len(b) == 0 {
		return
	}
	n, err := w.writeOnce(b)
	for err != nil && w.Retry != nil && w.Retry(err) {
		b = b[n:]
		n, err = w.writeOnce(b)
	}
	if err != nil {
		w.fail(fmt.Errorf("write log segment %d: %w", w.header.Number, err))
	}
}

func (w *Writer) writeOnce(b []byte) (n int, err error) {
	n, err = w.f.Write(b)
	if n < 0 || n > len(b) {
		return 0, fmt.Errorf("write of %d bytes wrote %d", len(b), n)
	}
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return n, err
}

// fail makes err the answer to every later call, unless there is one already.
func (w *Writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}
