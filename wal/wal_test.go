package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
)

var testStore = [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}

// memFile is the file of a segment in memory: present content, overwritten
// from the front.
type memFile struct {
	data   []byte
	off    int
	synced []int // off at each Sync
	writes []int // off after each Write
	closed int

	// onOp, if set, is asked before each operation.
	onOp func(op string) error
	// short makes the next Write take one byte less and report no error.
	short bool
}

func newFile(size int64) *memFile { return &memFile{data: make([]byte, size)} }

func (f *memFile) op(name string) error {
	if f.onOp == nil {
		return nil
	}
	return f.onOp(name)
}

func (f *memFile) Write(b []byte) (int, error) {
	if err := f.op("write"); err != nil {
		return 0, err
	}
	if f.short {
		f.short = false
		b = b[:len(b)-1]
	}
	if f.off+len(b) > len(f.data) {
		return 0, fmt.Errorf("write of %d bytes at %d grows the file of %d", len(b), f.off, len(f.data))
	}
	copy(f.data[f.off:], b)
	f.off += len(b)
	f.writes = append(f.writes, f.off)
	return len(b), nil
}

func (f *memFile) Sync() error {
	if err := f.op("sync"); err != nil {
		return err
	}
	f.synced = append(f.synced, f.off)
	return nil
}

func (f *memFile) Close() error {
	f.closed++
	return f.op("close")
}

// batch is what one record holds.
type batch struct {
	seq     uint64
	payload []byte
}

// readAll reads a segment of number 7 to its end.
func readAll(data []byte) ([]batch, End, error) {
	return readSegment(data, 7)
}

func readSegment(data []byte, number uint64) ([]batch, End, error) {
	r, err := NewReader(bytes.NewReader(data), int64(len(data)), testStore, number)
	if err != nil {
		return nil, End{}, err
	}
	var got []batch
	for {
		seq, payload, err := r.Next()
		if err == io.EOF {
			return got, r.End(), nil
		}
		if err != nil {
			return got, r.End(), err
		}
		got = append(got, batch{seq, bytes.Clone(payload)})
	}
}

// samePrefix reports whether got is a prefix of want, of at least n batches.
func samePrefix(got, want []batch, n int) error {
	if len(got) < n || len(got) > len(want) {
		return fmt.Errorf("got %d batches, want %d to %d", len(got), n, len(want))
	}
	for i := range got {
		if got[i].seq != want[i].seq || !bytes.Equal(got[i].payload, want[i].payload) {
			return fmt.Errorf("batch %d: got seq %d and %d bytes, want seq %d and %d bytes, or other bytes",
				i, got[i].seq, len(got[i].payload), want[i].seq, len(want[i].payload))
		}
	}
	return nil
}

func isCorrupt(err error) bool {
	var c *CorruptError
	return errors.As(err, &c)
}

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRoundTrip(t *testing.T) {
	f := newFile(8 << 20)
	w := NewWriter(f, Header{Store: testStore, Number: 7, Size: 8 << 20})
	var want []batch
	seq := uint64(0)
	for _, n := range []int{1, 0, 1<<16 - 1, 1 << 16, 1<<16 + 1, 2 << 20, 5, 1 << 20, 700} {
		seq += 3
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(i*i + n)
		}
		w.Append(seq, p)
		want = append(want, batch{seq, p})
		if n%2 == 0 {
			must(t, w.Sync())
		}
	}
	must(t, w.Finish())
	got, end, err := readAll(f.data)
	must(t, err)
	if err := samePrefix(got, want, len(want)); err != nil {
		t.Error(err)
	}
	if end != (End{Finished, w.Size()}) {
		t.Errorf("got end %v, want finished at %d", end, w.Size())
	}
}
