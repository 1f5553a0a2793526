package engine

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/wal"
)

// handmade is a store with one partition, whose log is written by the test.
type handmade struct {
	t     *testing.T
	fs    *vfs.Mem
	first uint64 // first segment of the log
	id    PartitionID
}

func newHandmade(t *testing.T) *handmade {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	h := &handmade{t: t, fs: fs, first: db.log.current.number, id: mustCreate(t, db, "a")[0]}
	closeWithLog(t, db)
	return h
}

// segment returns the path of a segment, counted from the first.
func (h *handmade) segment(i uint64) string { return "store/wal/" + manifest.SegmentFile(h.first+i) }

// record is one batch in the log.
type record struct {
	seq     uint64
	payload []byte
}

// put writes a segment of the log, finished or not, copied or not.
func (h *handmade) put(i uint64, finished, copied bool, records ...record) {
	h.t.Helper()
	const size = 4 << 10
	var content buffer
	w := wal.NewWriter(&content, wal.Header{Number: h.first + i, Size: size, Copy: copied})
	for _, r := range records {
		w.Append(r.seq, r.payload)
	}
	err := w.Sync()
	if finished {
		err = w.Finish()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.fs.Remove(h.segment(i))
	write(h.t, h.fs, h.segment(i), append(content.Bytes(), make([]byte, size-content.Len())...))
}

// buffer is a segment in memory.
type buffer struct{ bytes.Buffer }

func (*buffer) Sync() error  { return nil }
func (*buffer) Close() error { return nil }

// damaged checks that Open and Check report the segment as damaged for the given reason.
func (h *handmade) damaged(i uint64, reason string) {
	h.t.Helper()
	var found []*CorruptError
	if _, err := Check(h.fs, "store", func(e *CorruptError) { found = append(found, e) }); err != nil || len(found) != 1 || found[0].File != h.segment(i) {
		h.t.Errorf("Check found %v, %v, want damage in %s", found, err, h.segment(i))
	}
	var damage *CorruptError
	if err := openAndClose(h.fs); !errors.As(err, &damage) || damage.File != h.segment(i) || !strings.Contains(damage.Reason, reason) {
		h.t.Errorf("Open returned %v, want that %s is damaged: %s", err, h.segment(i), reason)
	}
}

// TestHandmadeLog: a log that follows the rules is read.
func TestHandmadeLog(t *testing.T) {
	h := newHandmade(t)
	h.put(0, true, false, record{1, goodBatch(h.id)}, record{2, goodBatch(h.id)})
	h.put(1, false, false, record{3, goodBatch(h.id)})
	db := mustOpen(t, h.fs)
	defer mustClose(t, db)
	if got := contents(t, db, h.id); fmt.Sprint(got) != "[row q=v]" || db.LastSeq() != 3 {
		t.Errorf("got %q after batch %d, want one row after batch 3", got, db.LastSeq())
	}
}

// TestBadRecords: a record that no store writes is damage, although its checksums are valid.
func TestBadRecords(t *testing.T) {
	for reason, payload := range badBatches() {
		h := newHandmade(t)
		h.put(0, false, false, record{1, goodBatch(h.id)}, record{2, payload})
		h.damaged(0, "batch 2: ")
		h.damaged(0, reason)
	}
	h := newHandmade(t)
	h.put(0, false, false, record{1, goodBatch(h.id + 1)})
	h.damaged(0, "batch 1: partition 2 was never created")
}

// TestBadSegments: each segment is valid, but together they form no log.
func TestBadSegments(t *testing.T) {
	h := newHandmade(t)
	h.put(0, true, false, record{1, goodBatch(h.id)}, record{5, goodBatch(h.id)})
	h.put(1, false, false, record{5, goodBatch(h.id)})
	h.damaged(1, "batch 5 follows batch 5")

	h = newHandmade(t)
	h.put(0, true, false, record{1, goodBatch(h.id)})
	h.put(1, false, true, record{2, goodBatch(h.id)})
	h.damaged(1, "a copy stands where the log should go on")

	h = newHandmade(t)
	h.put(0, false, false, record{1, goodBatch(h.id)})
	h.put(1, false, false, record{2, goodBatch(h.id)})
	h.damaged(0, fmt.Sprintf("segment was not finished, but segment %d has batches", h.first+1))

	h = newHandmade(t)
	h.put(0, true, false, record{1, goodBatch(h.id)})
	h.fs.Remove(h.segment(1))
	h.damaged(1, "log segment is missing")
}
