package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/vfs"
)

// goodBatch is the encoding of a batch with two entries.
func goodBatch(id PartitionID) []byte {
	var b Batch
	r, c := set("row", "q", "v")
	b.Add(id, r, c)
	b.Add(id, r, c)
	return b.buf
}

// badBatches are batches that Commit never writes, by the error they cause.
func badBatches() map[string][]byte {
	version, kind, cut := goodBatch(1), goodBatch(1), goodBatch(1)
	version[0] = rangesVersion + 1
	kind[batchHeader] |= flagKind
	row := append(goodBatch(1)[:batchHeader], byte(cell.DeleteRow), 1, 0, 0)
	former := append(goodBatch(1)[:batchHeader], kindDeleteRange, 1, 1, 'a', 1, 'b')
	ranged := append([]byte{rangesVersion}, former[1:]...)
	empty := append(bytes.Clone(ranged[:batchHeader]), kindDeleteRange, 1, 1, 'b', 1, 'b')
	return map[string][]byte{
		"batch of 0 bytes has no header":                  nil,
		"batch of 8 bytes has no header":                  version[:batchHeader-1],
		"batch has version 3, this program reads 1 and 2": version,
		"batch has an entry without a row key":            row,
		"kind 5":                                          former,
		`row "b" up to "b" is of no rows`:                 empty,
		"batch has a bad number 0 bytes before its end":   ranged[:len(ranged)-2],
		"kind 7": kind,
		"batch has a bad length 0 bytes before its end": cut[:len(cut)-1],
	}
}

func TestCheckBatch(t *testing.T) {
	if err := checkBatch(goodBatch(1), anyPart); err != nil {
		t.Errorf("a good batch: %v", err)
	}
	for want, payload := range badBatches() {
		if err := checkBatch(payload, anyPart); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%x: got %v, want %q", payload, err, want)
		}
	}
}

// TestBatchThatDoesNotGoIn: a batch that an internal error keeps out of the memtables is not
// acknowledged, and no reader sees any of it. Its outcome is unknown: the log is written at the
// same time.
func TestBatchThatDoesNotGoIn(t *testing.T) {
	for want, spoil := range map[string]func(b *Batch){
		"batch has version 3": func(b *Batch) { b.buf[0] = rangesVersion + 1 },
		"insert batch 1: ":    func(b *Batch) { b.buf = bytes.Replace(b.buf, []byte{1, 3, 'r'}, []byte{9, 3, 'r'}, 1) },
	} {
		db := mustOpen(t, vfs.NewMem())
		id := mustCreate(t, db, "a")[0]
		var b Batch
		r, c := set("row", "q", "v")
		b.Add(id, r, c)
		spoil(&b)
		_, err := db.Commit(context.Background(), &b)
		if !errors.As(err, new(*UnknownError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("Commit returned %v, want an *UnknownError that says %q", err, want)
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

// TestBatchOfTheLogThatDoesNotGoIn: recovery names the file and stops.
func TestBatchOfTheLogThatDoesNotGoIn(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	p := db.partitions[mustCreate(t, db, "a")[0]]
	mustClose(t, db) // no other flush
	r := newRecovery(db)
	r.inserter, r.copier = newReplayInserter(db), newLogCopier(db)
	payload := goodBatch(1)
	l := r.inserter.fill("log", len(payload))
	var b batchReader
	b.init(payload)
	b.next()
	l.beginRun(&b, payload, batchHeader, l.addPartition(p, 7))
	l.endRun(len(payload) - 1)
	r.inserter.add(7, payload)
	db.lastSeq = 7
	db.freezeLocked(p)
	r.startFlushLargest()
	if err := r.awaitFlush(); err == nil || r.flushed {
		t.Errorf("flush returned %v, and something is in files: %v", err, r.flushed)
	}
	r.startFlushLargest()
	for name, err := range map[string]error{"flush": r.awaitFlush(), "cut": r.inserter.barrier()(), "end": r.inserter.end()} {
		var damage *CorruptError
		if !errors.As(err, &damage) || damage.File != "log" || !strings.Contains(damage.Reason, "batch 7: ") {
			t.Errorf("%s returned %v, want that batch 7 of the log is damaged", name, err)
		}
	}
}

func anyPart(*batchReader, int) error { return nil }

// TestLoadLeavesOutWhatIsInFiles: recovery does not insert a batch that the partition's files have,
// although the same chunk has a later batch that they lack.
func TestLoadLeavesOutWhatIsInFiles(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	ids := mustCreate(t, db, "a", "b")
	r := newRecovery(db)
	r.inserter = newReplayInserter(db)
	first := db.LastSeq() + 1
	db.partitions[ids[0]].flushed = first
	for seq := first; seq < first+2; seq++ {
		var b Batch
		for _, id := range ids {
			row, c := set(fmt.Sprint("row", seq), "q", "v")
			b.Add(id, row, c)
		}
		if live, err := r.insert(seq, b.buf); !live || err != nil {
			t.Fatalf("batch %d: live %v, %v", seq, live, err)
		}
	}
	if err := r.inserter.end(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 2} {
		if got := db.partitions[ids[i]].active.last().Len(); got != want {
			t.Errorf("partition %d got %d entries, want %d", i, got, want)
		}
	}
}

// TestLoadEndsWithItsMemtable: batches in one chunk go into the memtable of their time, although
// the partition gets a new one between them.
func TestLoadEndsWithItsMemtable(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	r := newRecovery(db)
	r.inserter = newReplayInserter(db)
	r.flush = make(chan error, 1) // a flush is under way
	first := db.LastSeq() + 1
	for seq := first; seq < first+4; seq++ {
		var b Batch
		row, c := set(fmt.Sprint("row", seq), "q", "v")
		b.Add(id, row, c)
		if live, err := r.insert(seq, b.buf); !live || err != nil {
			t.Fatalf("batch %d: live %v, %v", seq, live, err)
		}
		if seq == first+1 { // as if the memtables had filled
			db.memTableBytes.Add(db.opt.MemtableBytes * 3 / 4)
			if err := r.flushIfFull(); err != nil {
				t.Fatal(err)
			}
			db.memTableBytes.Add(-db.opt.MemtableBytes * 3 / 4)
		}
	}
	if err := r.inserter.end(); err != nil {
		t.Fatal(err)
	}
	p := db.partitions[id]
	if len(p.frozen) != 1 || p.frozen[0].last().Len() != 2 || p.active.last().Len() != 2 {
		t.Errorf("%d frozen memtables, the active one has %d entries; want 1 and 2", len(p.frozen), p.active.last().Len())
	}
}
