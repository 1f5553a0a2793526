package engine

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/wal"
)

// TestSealOfFullSegment: an idle log is sealed, also if its segment has no room for the seal.
func TestSealOfFullSegment(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpenIdle(t, fs)
	id := mustCreate(t, db, "a")[0]
	mustPut(t, db, id, "row", "q", "first")
	db.mu.Lock()
	s := db.log.current
	db.mu.Unlock()
	const left = wal.SealSize / 2
	value := int(s.room) - 2*wal.SealSize
	for fits := true; fits; value++ {
		var b Batch
		r, c := set("row", "q", strings.Repeat("v", value))
		b.Add(id, r, c)
		fits = recordSize(len(b.buf)) <= s.room-left
	}
	mustPut(t, db, id, "row", "q", strings.Repeat("v", value-2))
	if s.room < 0 || s.room >= wal.SealSize {
		t.Fatalf("segment has room for %d bytes, the test is about less than %d", s.room, wal.SealSize)
	}
	db.sealIdle() // finds that there was a write since the seal was armed
	db.sealIdle()
	f, err := fs.Open(db.segmentPath(s.number))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := wal.NewReader(f, s.size, db.store, s.number)
	for batches := 0; err == nil; batches++ {
		if _, _, err = in.Next(); err == io.EOF && (in.End().Kind != wal.Sealed || batches != 2) {
			t.Errorf("after %d batches the log is %v, want it sealed after 2", batches, in.End().Kind)
		}
	}
	if err != io.EOF {
		t.Fatal(err)
	}
	mustPut(t, db, id, "row", "q", "last")
	mustClose(t, db)
	db = mustOpen(t, fs)
	defer mustClose(t, db)
	if got, err := read(db, id, nil); err != nil || fmt.Sprint(got) != "[row q=last row q="+strings.Repeat("v", value-2)+" row q=first]" {
		t.Errorf("after a reopen got %d cells, %v", len(got), err)
	}
}
