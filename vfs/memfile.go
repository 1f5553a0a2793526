package vfs

import (
	"bytes"
	"io"
	"io/fs"
	"math"
	"slices"
	"syscall"
)

// file is the content of a file of a Mem, apart from its names. Mem.mu guards it.
type file struct {
	id      uint64 // the same in every crash image
	path    string // last known name, for reports
	links   int    // names in the live directories
	handles int
	locked  bool

	live    fileData // for readers
	durable fileData // survives every crash
	pending []write  // the writes between them, in the order of issue
}

// write is one write. A crash may keep any part of it.
type write struct {
	seq  uint64
	off  int64
	data []byte
	lost bool // covered by a failed sync: later ones leave it out
}

func (w *write) end() int64 { return w.off + int64(len(w.data)) }

// allBytes is more than any commit can reach.
const allBytes = math.MaxInt64

// write appends p to the pending writes.
func (f *file) write(seq uint64, p []byte, off int64) {
	f.live.write(p, off)
	f.pending = append(f.pending, write{seq: seq, off: off, data: bytes.Clone(p)})
}

// commit is a sync that reaches the first n dirty bytes. The rest counts as clean from then on although
// it is not durable, as after a failed fsync.
func (f *file) commit(n int64) {
	if n == allBytes && !slices.ContainsFunc(f.pending, func(w write) bool { return w.lost }) {
		f.durable, f.pending = f.live.share(), nil
		return
	}
	var kept []write
	for _, w := range f.pending {
		if !w.lost && n > 0 {
			k := min(n, int64(len(w.data)))
			f.durable.write(w.data[:k], w.off)
			kept = cut(kept, w.off, w.off+k)
			w.off, w.data = w.off+k, w.data[k:]
			n -= k
		}
		if len(w.data) > 0 {
			w.lost = true
			kept = append(kept, w)
		}
	}
	f.pending = kept
}

// dirty returns the number of bytes that a sync would make durable.
func (f *file) dirty() (n int64) {
	for _, w := range f.pending {
		if !w.lost {
			n += int64(len(w.data))
		}
	}
	return n
}

// cut removes the bytes from lo up to hi, which something newer has replaced on disk, from the writes.
func cut(writes []write, lo, hi int64) []write {
	var kept []write
	for _, w := range writes {
		if w.end() <= lo || hi <= w.off {
			kept = append(kept, w)
			continue
		}
		if w.off < lo {
			left := w
			left.data = w.data[:lo-w.off]
			kept = append(kept, left)
		}
		if hi < w.end() {
			right := w
			right.off, right.data = hi, w.data[hi-w.off:]
			kept = append(kept, right)
		}
	}
	return kept
}

// memFile is an open file of a Mem.
type memFile struct {
	m          *Mem
	f          *file
	name       string
	writes     bool
	padsWrites bool  // writes are padded, as Reuse allows
	off        int64 // of the next write; Mem.mu guards it and closed
	closed     bool
}

func (h *memFile) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: h.name, Err: err}
}

// check returns an error if the handle cannot be used so.
func (h *memFile) check(op string, writes bool) error {
	switch {
	case h.closed:
		return h.fail(op, fs.ErrClosed)
	case h.writes != writes:
		return h.fail(op, syscall.EBADF)
	}
	return nil
}

func (h *memFile) ReadAt(p []byte, off int64) (int, error) {
	h.m.mu.RLock()
	defer h.m.mu.RUnlock()
	if err := h.check("read", false); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, h.fail("read", fs.ErrInvalid)
	}
	n := h.f.live.readAt(p, off)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (h *memFile) Write(p []byte) (n int, err error) {
	h.m.mu.RLock()
	op := Op{Kind: OpWrite, Name: h.name, Offset: h.off, Len: len(p)}
	h.m.mu.RUnlock()
	h.m.change(op, func() error {
		n, err = h.write(p)
		return err
	})
	return n, err
}

// write writes as much of p as there is room for.
func (h *memFile) write(p []byte) (int, error) {
	if err := h.check("write", true); err != nil {
		return 0, err
	}
	m, f := h.m, h.f
	room := max(f.live.size-h.off, 0) + m.free()
	n := int(min(int64(len(p)), room))
	if n > 0 {
		before := f.live.size
		f.write(m.nextSeq(), h.padded(p[:n]), h.off)
		m.used += f.live.size - before
		h.off += int64(n)
	}
	if n < len(p) {
		return n, h.fail("write", syscall.ENOSPC)
	}
	return n, nil
}

// padded returns p with all the zeros that Reuse allows after it, or none.
func (h *memFile) padded(p []byte) []byte {
	end := h.off + int64(len(p))
	bound := blockEnd(end)
	if !h.padsWrites || bound > h.f.live.size {
		return p
	}
	return append(bytes.Clone(p), make([]byte, bound-end)...)
}

func (h *memFile) Sync() error { return h.sync(Full) }

func (h *memFile) sync(effect Effect) error {
	return h.m.change(Op{Kind: OpSync, Name: h.name}, func() error {
		if h.closed {
			return h.fail("sync", fs.ErrClosed)
		}
		switch effect {
		case None:
			h.f.commit(0)
		case Half:
			h.f.commit(h.f.dirty() / 2)
		case Full:
			h.f.commit(allBytes)
		}
		return nil
	})
}

func (h *memFile) Size() (int64, error) {
	h.m.mu.RLock()
	defer h.m.mu.RUnlock()
	if h.closed {
		return 0, h.fail("stat", fs.ErrClosed)
	}
	return h.f.live.size, nil
}

func (h *memFile) Close() error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return h.close()
}

func (h *memFile) close() error {
	if h.closed {
		return h.fail("close", fs.ErrClosed)
	}
	h.closed = true
	h.f.handles--
	h.m.release(h.f)
	return nil
}
