package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func testWriter(size int64) (*Writer, *memFile) {
	f := newFile(size)
	return NewWriter(f, Header{Store: testStore, Number: 7, Size: size}), f
}

func TestNothingIsWrittenBeforeSync(t *testing.T) {
	w, f := testWriter(1 << 16)
	w.Append(1, []byte("a"))
	w.Append(2, []byte("b"))
	if f.off != 0 {
		t.Errorf("got %d bytes written before Sync, want 0", f.off)
	}
	must(t, w.Sync())
	if got, want := len(f.writes), 1; got != want {
		t.Errorf("got %d writes for a group, want %d", got, want)
	}
	if !slices.Equal(f.synced, []int{int(w.Size())}) {
		t.Errorf("got syncs at %v, want one at %d", f.synced, w.Size())
	}
	must(t, w.Sync())
	if len(f.synced) != 1 {
		t.Errorf("got %d syncs, want none when there is nothing to sync", len(f.synced))
	}
}

func TestSyncedIsWhatTheLastSyncCovered(t *testing.T) {
	w, f := testWriter(1 << 16)
	var at, want []int64
	add := func(seq uint64, synced int64) {
		at, want = append(at, w.Size()), append(want, synced)
		w.Append(seq, []byte("x"))
	}
	add(1, 0)
	add(2, 0)
	must(t, w.Sync())
	first := w.Size()
	add(3, first)
	add(4, first)
	must(t, w.Sync())
	add(5, w.Size())
	must(t, w.Sync())
	for i := range at {
		if h := decodeHead(f.data[at[i]:]); h.synced != uint64(want[i]) {
			t.Errorf("record %d: got synced %d, want %d", i, h.synced, want[i])
		}
	}
}

func TestRoomIsExact(t *testing.T) {
	const payload = 100
	w, f := testWriter(MinSegment(payload))
	if got := w.Room(); got != payload {
		t.Fatalf("got room for %d bytes, want %d", got, payload)
	}
	want := []batch{{1, bytes.Repeat([]byte{9}, payload)}}
	w.Append(1, want[0].payload)
	if got := w.Room(); got >= 0 {
		t.Errorf("got room for %d bytes in a full segment, want none", got)
	}
	must(t, w.Seal())
	must(t, w.Finish())
	if err := w.Finish(); err == nil || f.closed != 1 {
		t.Errorf("got %v from a second Finish, and %d closes", err, f.closed)
	}
	if f.off > len(f.data) {
		t.Errorf("got %d bytes written to a file of %d", f.off, len(f.data))
	}
	got, end, err := readAll(f.data)
	must(t, err)
	if err := samePrefix(got, want, 1); err != nil || end.Kind != Finished {
		t.Errorf("got %v, end %v", err, end.Kind)
	}
}

func TestRoomAfterSeals(t *testing.T) {
	w, f := testWriter(4096)
	var want []batch
	for w.Room() >= 10 {
		b := batch{uint64(len(want) + 1), []byte("0123456789")}
		want = append(want, b)
		w.Append(b.seq, b.payload)
		must(t, w.Seal())
	}
	must(t, w.Finish())
	got, end, err := readAll(f.data)
	must(t, err)
	if err := samePrefix(got, want, len(want)); err != nil || end.Kind != Finished {
		t.Errorf("got %v, end %v", err, end.Kind)
	}
}

func TestSealOnlyOnce(t *testing.T) {
	w, f := testWriter(4096)
	must(t, w.Seal())
	if f.off != 0 {
		t.Errorf("got %d bytes for a seal of nothing, want 0", f.off)
	}
	w.Append(1, []byte("a"))
	must(t, w.Seal())
	size := w.Size()
	must(t, w.Seal())
	if w.Size() != size {
		t.Errorf("got %d bytes after a second seal, want %d", w.Size(), size)
	}
	got, end, err := readAll(f.data)
	must(t, err)
	if len(got) != 1 || end != (End{Sealed, size}) {
		t.Errorf("got %d batches, end %v, want 1 and sealed at %d", len(got), end, size)
	}
	// The group and its seal are synced apart, or the seal would prove nothing.
	if len(f.synced) != 2 {
		t.Errorf("got %d syncs, want 2", len(f.synced))
	}
}

func TestMisuseIsSticky(t *testing.T) {
	for name, misuse := range map[string]func(*Writer){
		"repeated sequence":   func(w *Writer) { w.Append(5, nil) },
		"decreasing sequence": func(w *Writer) { w.Append(4, nil) },
		"no room":             func(w *Writer) { w.Append(6, make([]byte, w.Room()+1)) },
		"finished":            func(w *Writer) { w.Finish() },
	} {
		w, f := testWriter(4096)
		w.Append(5, []byte("a"))
		must(t, w.Sync())
		misuse(w)
		off := f.off
		err := w.Sync()
		if err == nil {
			t.Errorf("%s: got no error", name)
		}
		w.Append(7, []byte("b"))
		if again := w.Seal(); again != err || f.off != off {
			t.Errorf("%s: got %v and %d bytes, want %v and %d", name, again, f.off, err, off)
		}
	}
	for _, h := range []Header{{Number: 0, Size: 4096}, {Number: 1, Size: MinSegment(0) - 1}} {
		f := newFile(h.Size)
		w := NewWriter(f, h)
		w.Append(1, nil)
		if w.Sync() == nil || f.off != 0 {
			t.Errorf("header %+v: got no error", h)
		}
		if w.Finish() == nil || f.closed != 1 {
			t.Errorf("header %+v: got no error from Finish, or %d closes", h, f.closed)
		}
	}
}

// TestEveryFailureIsSticky lets every operation on the file fail in turn, and
// requires that nothing reaches the file afterwards, and nothing is promised.
func TestEveryFailureIsSticky(t *testing.T) {
	cause := errors.New("input/output error")
	for n := 0; ; n++ {
		w, f := testWriter(4 << 20)
		count, failed := 0, ""
		f.onOp = func(op string) error {
			if failed != "" && op != "close" {
				t.Errorf("operation %d: %s after a failed %s", count, op, failed)
			}
			count++
			if count-1 == n {
				failed = op
				return cause
			}
			return nil
		}
		call := func(err error) {
			if (failed != "") != errors.Is(err, cause) {
				t.Errorf("operation %d: got %v, with a failed %q", n, err, failed)
			}
		}
		w.Append(1, []byte("first"))
		call(w.Sync())
		w.Append(2, make([]byte, 2<<20)) // written through
		call(w.Sync())
		call(w.Seal())
		w.Append(3, []byte("third"))
		call(w.Finish())
		if f.closed != 1 {
			t.Errorf("operation %d: got %d closes, want 1", n, f.closed)
		}
		if failed == "" {
			if n < 10 {
				t.Errorf("got %d operations, which is too few to mean anything", n)
			}
			return
		}
	}
}

func TestShortWriteFails(t *testing.T) {
	w, f := testWriter(4096)
	f.short = true
	w.Append(1, []byte("a"))
	if err := w.Sync(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v, want %v", err, io.ErrShortWrite)
	}
	if len(f.synced) != 0 {
		t.Error("got a sync after a short write")
	}
}

// TestWriteAgain: what a write did not take is written again, when Again says so,
// and the segment is as if nothing had been amiss. A sync is never repeated.
func TestWriteAgain(t *testing.T) {
	want := func(f *memFile, w *Writer) []byte {
		for seq := range uint64(3) {
			w.Append(seq+1, bytes.Repeat([]byte("batch"), 1000))
			w.Sync()
		}
		w.Finish()
		return f.data
	}
	w, f := testWriter(1 << 16)
	sound := want(f, w)
	w, f = testWriter(1 << 16)
	asked := 0
	w.Retry = func(cause error) bool {
		asked++
		f.short = asked < 3 // twice some of it, then nothing of it
		f.onOp = func(op string) error {
			if op == "write" && asked == 3 {
				asked++
				return syscall.ENOSPC
			}
			return nil
		}
		return true
	}
	f.short = true
	if got := want(f, w); !bytes.Equal(got, sound) || asked < 4 {
		t.Errorf("asked %d times; the segment differs: %v", asked, !bytes.Equal(got, sound))
	}

	w, f = testWriter(1 << 16)
	w.Retry = func(error) bool { return true }
	f.onOp = func(op string) error {
		if op == "sync" {
			return syscall.ENOSPC
		}
		return nil
	}
	w.Append(1, nil)
	if err := w.Sync(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v from a sync that fails, want its error", err)
	}
}

// TestImpossibleWriteFails: a file that claims to have taken less than nothing, or more
// than it was given, is not believed, and what is left to write again is all of it.
func TestImpossibleWriteFails(t *testing.T) {
	for _, claim := range []int{-1, 1 << 20} {
		broken := &boastful{claim: claim}
		w := NewWriter(broken, Header{Store: testStore, Number: 7, Size: 4096})
		w.Retry = func(error) bool { return broken.writes < 3 }
		w.Append(1, []byte("a"))
		err := w.Sync()
		if want := fmt.Sprintf("write of %d bytes wrote %d", w.Size(), claim); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if broken.writes != 3 || w.Durable() != 0 {
			t.Errorf("got %d writes, batch %d durable, want 3 and none", broken.writes, w.Durable())
		}
	}
}

// boastful is a file whose writes claim to have taken a number of bytes.
type boastful struct {
	nopFile
	claim, writes int
}

func (f *boastful) Write([]byte) (int, error) {
	f.writes++
	return f.claim, nil
}

func TestErrorsNameTheSegment(t *testing.T) {
	w, f := testWriter(4096)
	f.onOp = func(string) error { return errors.New("broken") }
	w.Append(1, nil)
	if err := w.Sync(); !strings.Contains(err.Error(), "segment 7") {
		t.Errorf("got %q, want the number of the segment", err)
	}
}

// TestLargePayloads checks the order of bytes around payloads that are not
// copied, and that the memory stays bounded whatever the group.
func TestLargePayloads(t *testing.T) {
	w, f := testWriter(32 << 20)
	var want []batch
	for i, n := range []int{10, 3 << 20, 10, bufferSize - frameSize, bufferSize - frameSize + 1, 0, 600 << 10, 600 << 10, 20} {
		b := batch{uint64(i + 1), random(uint64(i), n)}
		want = append(want, b)
		p := bytes.Clone(b.payload)
		w.Append(b.seq, p)
		clear(p) // Append must not use it any more
	}
	must(t, w.Sync())
	if got := cap(w.buf); got > 2*bufferSize {
		t.Errorf("got a buffer of %d bytes, want at most %d", got, 2*bufferSize)
	}
	must(t, w.Finish())
	got, _, err := readAll(f.data)
	must(t, err)
	if err := samePrefix(got, want, len(want)); err != nil {
		t.Error(err)
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	w, _ := testWriter(16 << 20)
	w.f = nopFile{}
	payload := make([]byte, 700)
	seq := uint64(0)
	group := func() {
		for range 10 {
			seq++
			w.Append(seq, payload)
		}
		if err := w.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	group()
	if n := testing.AllocsPerRun(100, group); n != 0 {
		t.Errorf("got %v allocations per group, want 0", n)
	}
}

type nopFile struct{}

func (nopFile) Write(b []byte) (int, error) { return len(b), nil }
func (nopFile) Sync() error                 { return nil }
func (nopFile) Close() error                { return nil }

func TestFill(t *testing.T) {
	for _, n := range []int64{0, 1, 1<<20 - 1, 1 << 20, 3<<20 + 5} {
		var b bytes.Buffer
		must(t, Fill(&b, n))
		if int64(b.Len()) != n || bytes.Count(b.Bytes(), []byte{0}) != b.Len() {
			t.Errorf("got %d bytes, want %d zeros", b.Len(), n)
		}
	}
	f := newFile(10)
	f.short = true
	if err := Fill(f, 10); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("short write: got %v, want %v", err, io.ErrShortWrite)
	}
}

// TestWholeSegments: one that counts only once it is finished is written and synced
// once, and then is like any other.
func TestWholeSegments(t *testing.T) {
	const size = 1 << 12
	f := newFile(size)
	w := NewSingleSyncWriter(f, Header{Store: testStore, Number: 7, Size: size})
	for seq := range uint64(9) {
		w.Append(seq+1, bytes.Repeat([]byte("x"), 100))
	}
	end := int(w.Size())
	must(t, w.Finish())
	if f.off != size || !slices.Equal(f.synced, []int{size}) {
		t.Errorf("got a file of %d bytes, synced at %v, want %d and one sync of all of it", f.off, f.synced, size)
	}
	r, err := NewReader(bytes.NewReader(f.data), size, testStore, 7)
	must(t, err)
	for want := uint64(1); want <= 9; want++ {
		if seq, _, err := r.Next(); seq != want || err != nil {
			t.Fatalf("got batch %d, %v, want %d", seq, err, want)
		}
	}
	if _, _, err := r.Next(); err != io.EOF || r.End().Kind != Finished {
		t.Errorf("got %v and an end that is %v, want a finished segment", err, r.End().Kind)
	}
	copy(f.data[end-50:end], make([]byte, 50))
	r, err = NewReader(bytes.NewReader(f.data), size, testStore, 7)
	must(t, err)
	for err == nil {
		_, _, err = r.Next()
	}
	if !errors.As(err, new(*CorruptError)) {
		t.Errorf("the last batch has lost its end: got %v, want damage, which the seal proves", err)
	}
}

func TestWholeSegmentsThatFail(t *testing.T) {
	w := NewSingleSyncWriter(newFile(100), Header{Store: testStore, Number: 7, Size: 100})
	if err := w.Finish(); err == nil {
		t.Error("a segment too small for any batch was finished")
	}
	f := newFile(1 << 12)
	f.onOp = func(op string) error {
		if op == "write" {
			return syscall.EIO
		}
		return nil
	}
	w = NewSingleSyncWriter(f, Header{Store: testStore, Number: 7, Size: 1 << 12})
	w.Append(1, []byte("x"))
	if err := w.Finish(); !errors.Is(err, syscall.EIO) || len(f.synced) > 0 {
		t.Errorf("got %v after %d syncs, want the error of the write, and none", err, len(f.synced))
	}
}
