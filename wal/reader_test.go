package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// appendRecord appends a good record, whatever its head says.
func appendRecord(b []byte, h head, payload []byte) []byte {
	start := len(b)
	h.length = uint32(len(payload))
	b = append(h.append(b), payload...)
	s := sums{}.update(b[start+atLength:])
	binary.LittleEndian.PutUint32(b[start:], s.head)
	return binary.LittleEndian.AppendUint32(b, s.foot)
}

// craft returns a segment of 4 KiB with the given header payload, if any, and
// records.
func craft(payload []byte, heads ...head) []byte {
	if payload == nil {
		h := Header{Store: testStore, Number: 7, Size: 4096}
		payload = h.appendPayload(nil)
	}
	b := appendRecord(nil, head{typ: typeHeader, number: 7}, payload)
	for _, h := range heads {
		var p []byte
		if h.length > 0 {
			p = make([]byte, h.length)
		}
		b = appendRecord(b, h, p)
	}
	return append(b, make([]byte, 4096-len(b))...)
}

func TestHeaderIsRead(t *testing.T) {
	for _, want := range []Header{
		{Store: testStore, Number: 1, Size: 4096},
		{Store: testStore, Number: 1 << 63, Size: 5001, Copy: true},
		{Number: 256, Size: MinSegment(0)},
	} {
		f := newFile(want.Size)
		must(t, NewWriter(f, want).Finish())
		r, err := NewReader(bytes.NewReader(f.data), want.Size, want.Store, want.Number)
		must(t, err)
		if got := r.Header(); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if _, _, err := r.Next(); err != io.EOF || r.End().Kind != Finished {
			t.Errorf("got %v and end %v, want a finished segment", err, r.End())
		}
	}
}

func TestNewerVersionIsRefused(t *testing.T) {
	h := Header{Store: testStore, Number: 7, Size: 4096}
	payload := h.appendPayload(nil)
	binary.LittleEndian.PutUint32(payload[8:], 3)
	payload = append(payload, "and more, that only version 3 knows"...)
	_, _, err := readAll(craft(payload))
	var v *VersionError
	if !errors.As(err, &v) || v.Version != 3 || !strings.Contains(err.Error(), "version 3") {
		t.Errorf("got %v, want an error that names version 3", err)
	}
}

func TestBadHeaders(t *testing.T) {
	good := Header{Store: testStore, Number: 7, Size: 4096}
	change := func(f func(b []byte) []byte) []byte { return craft(f(good.appendPayload(nil))) }
	for name, data := range map[string][]byte{
		"magic":   change(func(b []byte) []byte { b[0] = 'x'; return b }),
		"version": change(func(b []byte) []byte { b[8] = 0; return b }),
		"flags":   change(func(b []byte) []byte { b[12] = 6; return b }),
		"size":    change(func(b []byte) []byte { b[17] = 0xff; return b }),
		"store":   change(func(b []byte) []byte { b[24] = 0xff; return b }),
		"short":   change(func(b []byte) []byte { return b[:39] }),
		"long":    change(func(b []byte) []byte { return append(b, 0) }),
		"empty":   change(func(b []byte) []byte { return b[:0] }),
	} {
		if _, _, err := readAll(data); !isCorrupt(err) {
			t.Errorf("%s: got %v, want corruption", name, err)
		}
	}
	// A segment of another store is never an empty one of ours.
	if _, _, err := readSegment(change(func(b []byte) []byte { b[24] = 0xff; return b }), 8); !isCorrupt(err) {
		t.Errorf("store and number: got %v, want corruption", err)
	}
}

func TestRecordsOutOfPlace(t *testing.T) {
	const first = headerSize
	one := head{typ: typeBatch, number: 7, seq: 5}
	for name, bad := range map[string]head{
		"repeated sequence":  {typ: typeBatch, number: 7, seq: 5},
		"decreased sequence": {typ: typeBatch, number: 7, seq: 4},
		"seal before":        {typ: typeSeal, number: 7, seq: 4},
		"seal after":         {typ: typeFinal, number: 7, seq: 6},
		"seal too long":      {typ: typeSeal, number: 7, seq: 5, length: 512},
		"header":             {typ: typeHeader, number: 7, seq: 5},
		"no type":            {typ: 0, number: 7, seq: 6},
		"unknown type":       {typ: 5, number: 7, seq: 6},
		"synced":             {typ: typeBatch, number: 7, seq: 6, synced: first + frameSize + 1},
	} {
		got, _, err := readAll(craft(nil, one, bad))
		var c *CorruptError
		if !errors.As(err, &c) || len(got) != 1 || c.Offset != first+frameSize || c.Segment != 7 {
			t.Errorf("%s: got %d batches and %v, want 1 and corruption at %d", name, len(got), err, first+frameSize)
		}
	}
	// A good record of an older segment, exactly where the next one belongs.
	got, end, err := readAll(craft(nil, one, head{typ: typeBatch, number: 6, seq: 6}))
	if err != nil || len(got) != 1 || end != (End{Torn, first + frameSize}) {
		t.Errorf("older record: got %d batches, end %v, %v, want the end of the log", len(got), end, err)
	}
}

func TestEveryTruncation(t *testing.T) {
	s := script{size: 2048, number: 7, fill: contents["random"], groups: [][]int{{100}, {200, 300}}}
	g := s.run(t, nil)
	if g.data[0] == 0 {
		t.Fatal("the segment begins with a zero: take another seed")
	}
	for n := 1; n < len(g.data); n++ {
		if _, _, err := readAll(g.data[:n]); !isCorrupt(err) {
			t.Errorf("%d of %d bytes: got %v, want corruption", n, len(g.data), err)
		}
	}
	if _, _, err := readAll(append(g.data, 0)); !isCorrupt(err) {
		t.Errorf("a byte more: got %v, want corruption", err)
	}
	// A crash while a segment is filled leaves a short one, of zeros.
	for _, n := range []int{0, 1, 40, 500} {
		if got, end, err := readAll(make([]byte, n)); err != nil || len(got) != 0 || end.Kind != Unwritten {
			t.Errorf("%d zeros: got %d batches, end %v, %v", n, len(got), end, err)
		}
	}
}

func TestNothingCountsAfterTheFinalSeal(t *testing.T) {
	w, f := testWriter(4096)
	w.Append(1, []byte("a"))
	must(t, w.Finish())
	rest := f.data[f.off:]
	// Not even a record that would be the next, or that proves something.
	copy(rest, appendRecord(nil, head{typ: typeBatch, number: 7, seq: 2, synced: uint64(f.off)}, []byte("b")))
	got, end, err := readAll(f.data)
	if err != nil || len(got) != 1 || end != (End{Finished, w.Size()}) {
		t.Errorf("got %d batches, end %v, %v", len(got), end, err)
	}
}

// failReader fails the n-th read, after half of it.
type failReader struct {
	r     io.ReaderAt
	n     int
	cause error
}

func (f *failReader) ReadAt(b []byte, off int64) (int, error) {
	f.n--
	if f.n == -1 {
		n, _ := f.r.ReadAt(b[:len(b)/2], off)
		return n, f.cause
	}
	return f.r.ReadAt(b, off)
}

// TestReadErrorIsNotTheEnd fails every read in turn, of a segment whose tail
// needs all the ways to judge it.
func TestReadErrorIsNotTheEnd(t *testing.T) {
	s := script{size: 1 << 20, number: 7, fill: contents["digits"],
		groups: [][]int{{100, 300_000, 1000, 100_000, 200_000}, {3000}}}
	g := s.run(t, nil)
	g.data[g.ends[1]-100] ^= 3
	failEveryRead(t, g.data, g.counts[0])
	failEveryRead(t, crowded(4000), 1)
	failEveryRead(t, make([]byte, 100), 0)
}

// failEveryRead fails every read of a segment that ends after so many batches.
func failEveryRead(t *testing.T, data []byte, want int) {
	t.Helper()
	for _, cause := range []error{errors.New("input/output error"), io.EOF, nil} {
		for n := 0; ; n++ {
			f := &failReader{r: bytes.NewReader(data), n: n, cause: cause}
			r, err := NewReader(f, int64(len(data)), testStore, 7)
			batches := 0
			for err == nil {
				if _, _, err = r.Next(); err == nil {
					batches++
				}
			}
			if f.n >= 0 {
				if err != io.EOF || batches != want || n < 3 {
					t.Errorf("got %v after %d batches and %d reads", err, batches, n)
				}
				break
			}
			reported := cause
			if cause == io.EOF || cause == nil {
				reported = io.ErrUnexpectedEOF
			}
			if !errors.Is(err, reported) || errors.Is(err, io.EOF) || isCorrupt(err) {
				t.Errorf("read %d fails with %v: got %v", n, cause, err)
			}
			if err != nil && !strings.Contains(err.Error(), "segment 7 at offset") {
				t.Errorf("got %q, want segment and offset", err)
			}
			if r != nil {
				if _, _, again := r.Next(); again != err {
					t.Errorf("got %v and then %v, want the same error", err, again)
				}
			}
		}
	}
}

func TestFileShorterThanItsSize(t *testing.T) {
	g := script{size: 4096, number: 7, fill: contents["random"], groups: [][]int{{100}}}.run(t, nil)
	_, err := NewReader(bytes.NewReader(g.data[:1000]), 4096, testStore, 7)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want %v", err, io.ErrUnexpectedEOF)
	}
}

// zeroReader is a large file of zeros behind some bytes.
type zeroReader struct{ data []byte }

func (z zeroReader) ReadAt(b []byte, off int64) (int, error) {
	clear(b)
	if off < int64(len(z.data)) {
		copy(b, z.data[off:])
	}
	return len(b), nil
}

// TestLengthIsNotBelieved: a torn record may claim to fill the file.
func TestLengthIsNotBelieved(t *testing.T) {
	const size = 64 << 20
	h := Header{Store: testStore, Number: 7, Size: size}
	data := appendRecord(nil, head{typ: typeHeader, number: 7}, h.appendPayload(nil))
	for _, length := range []uint32{1<<32 - 1, 1 << 31, size, size - headerSize - frameSize, 40 << 20} {
		torn := head{typ: typeBatch, number: 7, seq: 1, length: length}
		r, err := NewReader(zeroReader{torn.append(bytes.Clone(data))}, size, testStore, 7)
		must(t, err)
		if _, _, err := r.Next(); err != io.EOF {
			t.Errorf("length %d: got %v, want %v", length, err, io.EOF)
		}
		if cap(r.buf) > chunkSize {
			t.Errorf("length %d: got a buffer of %d bytes, want at most %d", length, cap(r.buf), chunkSize)
		}
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	s := script{size: 4 << 20, number: 7, fill: contents["random"], groups: make([][]int, 100)}
	for i := range s.groups {
		for j := range 100 {
			s.groups[i] = append(s.groups[i], i+j)
		}
	}
	g := s.run(t, nil)
	r, err := NewReader(bytes.NewReader(g.data), s.size, testStore, 7)
	must(t, err)
	n := testing.AllocsPerRun(len(g.batches)/2, func() {
		if _, _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("got %v allocations per batch, want 0", n)
	}
}

func TestNumbersStartAtOne(t *testing.T) {
	if _, err := NewReader(zeroReader{}, 4096, testStore, 0); err == nil {
		t.Error("got no error for segment 0")
	}
}

func ExampleReader() {
	file := newFile(MinSegment(100))
	w := NewWriter(file, Header{Store: testStore, Number: 7, Size: MinSegment(100)})
	w.Append(1, []byte("one batch"))
	w.Append(2, []byte("and another"))
	if err := w.Sync(); err != nil {
		fmt.Println(err)
	}

	r, err := NewReader(bytes.NewReader(file.data), int64(len(file.data)), testStore, 7)
	for err == nil {
		var seq uint64
		var payload []byte
		if seq, payload, err = r.Next(); err == nil {
			fmt.Printf("%d %s\n", seq, payload)
		}
	}
	fmt.Println(err, r.End().Kind)
	// Output:
	// 1 one batch
	// 2 and another
	// EOF torn
}
