package engine

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"colonnade/cell"
	"colonnade/vfs"
)

// goodBatch is the encoding of a batch with two entries.
func goodBatch(id PartitionID) []byte {
	var b Batch
	r, c := set("row", "q", "v")
	b.Add(id, r, c)
	b.Add(id, r, c)
	return b.buf
}

// badBatches are no batches that Commit writes, by what is said of them.
func badBatches() map[string][]byte {
	version, kind, cut := goodBatch(1), goodBatch(1), goodBatch(1)
	version[0] = batchVersion + 1
	kind[batchHeader] |= flagKind
	row := append(goodBatch(1)[:batchHeader], byte(cell.DeleteRow), 1, 0, 0)
	return map[string][]byte{
		"batch of 0 bytes has no header":                nil,
		"batch of 8 bytes has no header":                version[:batchHeader-1],
		"batch has version 2, this program reads 1":     version,
		"batch has an entry without a row key":          row,
		"kind 7":                                        kind,
		"batch has a bad length 0 bytes before its end": cut[:len(cut)-1],
	}
}

func TestCheckBatch(t *testing.T) {
	if err := checkBatch(goodBatch(1)); err != nil {
		t.Errorf("a good batch: %v", err)
	}
	for want, payload := range badBatches() {
		if err := checkBatch(payload); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%x: got %v, want %q", payload, err, want)
		}
	}
}

// TestBatchThatDoesNotGoIn: a batch that cannot be put into the memtables, by a fault
// of our own, is not acknowledged, nor written, and nothing of it is seen.
func TestBatchThatDoesNotGoIn(t *testing.T) {
	for want, spoil := range map[string]func(b *Batch){
		"batch has version 2": func(b *Batch) { b.buf[0] = batchVersion + 1 },
		"insert batch 1: ":    func(b *Batch) { b.buf = bytes.Replace(b.buf, []byte{1, 3, 'r'}, []byte{9, 3, 'r'}, 1) },
	} {
		db := mustOpen(t, vfs.NewMem())
		id := mustCreate(t, db, "a")[0]
		var b Batch
		r, c := set("row", "q", "v")
		b.Add(id, r, c)
		spoil(&b)
		_, err := db.Commit(context.Background(), &b)
		if !errors.As(err, new(*ReadOnlyError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("Commit returned %v, want a *ReadOnlyError that says %q", err, want)
		}
		if err := tryPut(db, id); !errors.As(err, new(*ReadOnlyError)) {
			t.Errorf("%s: the next Commit returned %v, want a *ReadOnlyError", want, err)
		}
		if got := contents(t, db, id); len(got) > 0 {
			t.Errorf("%s: got %q, want nothing", want, got)
		}
		db.Close()
	}
}

// TestBatchOfTheLogThatDoesNotGoIn: recovery names the file, and goes no further.
func TestBatchOfTheLogThatDoesNotGoIn(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	r := newRecovery(db)
	r.inserts = newInsertion(db)
	b := <-r.inserts.idle
	b.file, b.batch.seq = "log", 7
	r.inserts.start(b, []byte{batchVersion})
	for name, err := range map[string]error{"wait": r.inserts.wait(), "startFlush": r.startFlush(), "end": r.inserts.end()} {
		var damage *CorruptError
		if !errors.As(err, &damage) || damage.File != "log" || !strings.Contains(damage.Reason, "batch 7: ") {
			t.Errorf("%s returned %v, want that batch 7 of the log is damaged", name, err)
		}
	}
}
