package engine

import (
	"bytes"
	"errors"
	iofs "io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// TestBrokenInvariantOfTheLog: a bug ends writes. It causes no panic, no false acknowledgement and
// no lost segment.
func TestBrokenInvariantOfTheLog(t *testing.T) {
	for name, breakIt := range map[string]func(db *DB){
		"order":    func(db *DB) { db.log.written = 1 << 40 },
		"durable":  func(db *DB) { db.lastSeq, db.log.written = 0, 0; db.visible.Store(1 << 40) },
		"segments": func(db *DB) { db.log.segments[0].room, db.log.spares[0].number = 0, 99 },
	} {
		opt := testOptions(vfs.NewMem())
		opt.Clock = clock.NewManual(1)
		db, err := Open("store", opt)
		if err != nil {
			t.Fatal(err)
		}
		id := mustCreate(t, db, "a")[0]
		eventually(db, func() bool { return len(db.log.spares) > 0 })
		db.mu.Lock()
		breakIt(db)
		db.mu.Unlock()
		if err := tryPut(db, id); !errors.As(err, new(*UnknownError)) {
			t.Errorf("%s: Commit returned %v, want a *UnknownError", name, err)
		}
		if err := db.Health(); !errors.As(err, new(*ReadOnlyError)) {
			t.Errorf("%s: Health is %v, want a *ReadOnlyError", name, err)
		}
		db.Close()
	}
}

// TestSegmentThatIsNeededStays: a segment that a memtable needs stays, whatever the manifest says.
func TestSegmentThatIsNeededStays(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	ids := mustCreate(t, db, "a", "b")
	mustPut(t, db, ids[0], "row", "q", "v")
	first := db.log.current.number
	for db.log.current.number == first {
		mustPut(t, db, ids[1], "row", "q", strings.Repeat("v", 10<<10))
	}
	db.mu.Lock()
	wrong := *db.manifest
	wrong.LogStart = first + 1
	db.manifest = &wrong
	db.retireSegmentsLocked()
	db.mu.Unlock()
	if err := db.Health(); !errors.As(err, new(*ReadOnlyError)) {
		t.Errorf("Health is %v, want a *ReadOnlyError", err)
	}
	db.Close()
	if _, err := fs.Stat("store/wal/" + manifest.SegmentFile(first)); err != nil {
		t.Errorf("the segment has gone: %v", err)
	}
}

// TestSegmentUnderWritingStays: the current segment stays, although no memtable needs it.
func TestSegmentUnderWritingStays(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	flushed(t, db, id, 1)
	db.mu.Lock()
	current := db.log.current
	wrong := *db.manifest
	wrong.LogStart = current.number + 1
	db.manifest = &wrong
	db.retireSegmentsLocked()
	kept := slices.Contains(db.log.segments, current)
	db.mu.Unlock()
	var readOnly *ReadOnlyError
	if err := db.Health(); !kept || !errors.As(err, &readOnly) || !strings.Contains(err.Error(), "while it is written") {
		t.Errorf("the segment is kept: %t, Health is %v", kept, err)
	}
	db.Close()
	db = mustOpen(t, fs)
	defer mustClose(t, db)
	if got := contents(t, db, id); len(got) != 2 {
		t.Errorf("after a restart got %q, want 2 cells", got)
	}
}

// TestEditThatTakesBackIsNotWritten: an edit that moves counters back is not written, and the store
// accepts no more edits.
func TestEditThatTakesBackIsNotWritten(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	mustPut(t, db, id, "row", "q", "v")
	before := db.manifest
	err := db.install(nil, func(m *manifest.Manifest) error { m.NextPartition--; return nil }, func() { t.Error("the edit was applied") })
	if !errors.As(err, new(*ReadOnlyError)) || !strings.Contains(err.Error(), "takes back") {
		t.Errorf("got %v, want a *ReadOnlyError with the reason", err)
	}
	if got := db.Health(); got != err || db.manifest != before {
		t.Errorf("Health is %v, the manifest edit %d", got, db.manifest.Edit)
	}
	if _, err := fs.Stat("store/" + manifest.FileName(before.Edit+1)); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("the next manifest: %v, want none", err)
	}
	db.Close()
	db = mustOpen(t, fs)
	defer mustClose(t, db)
	if got := contents(t, db, id); len(got) != 1 {
		t.Errorf("after a restart got %q, want one row", got)
	}
}

func TestManifestFollows(t *testing.T) {
	old := &manifest.Manifest{Edit: 7, NextFile: 5, NextPartition: 3, LogStart: 4, Copied: 2, LastSeq: 9, LastTime: 9,
		Partitions: map[PartitionID]*manifest.Partition{1: {ID: 1, Flushed: 5}}}
	for name, c := range map[string]struct {
		edit func(m *manifest.Manifest)
		ok   bool
	}{
		"next":              {func(m *manifest.Manifest) {}, true},
		"flush":             {func(m *manifest.Manifest) { m.Partitions[1] = &manifest.Partition{ID: 1, Flushed: 6} }, true},
		"create":            {func(m *manifest.Manifest) { m.NextPartition, m.Partitions[3] = 4, &manifest.Partition{ID: 3} }, true},
		"drop":              {func(m *manifest.Manifest) { delete(m.Partitions, 1) }, true},
		"edit twice":        {func(m *manifest.Manifest) { m.Edit = 7 }, false},
		"edit left out":     {func(m *manifest.Manifest) { m.Edit = 9 }, false},
		"other store":       {func(m *manifest.Manifest) { m.Store[3] = 1 }, false},
		"file number":       {func(m *manifest.Manifest) { m.NextFile-- }, false},
		"partition number":  {func(m *manifest.Manifest) { m.NextPartition-- }, false},
		"log":               {func(m *manifest.Manifest) { m.LogStart-- }, false},
		"copies":            {func(m *manifest.Manifest) { m.Copied-- }, false},
		"sequence":          {func(m *manifest.Manifest) { m.LastSeq-- }, false},
		"time":              {func(m *manifest.Manifest) { m.LastTime-- }, false},
		"flushed":           {func(m *manifest.Manifest) { m.Partitions[1] = &manifest.Partition{ID: 1, Flushed: 4} }, false},
		"partition is back": {func(m *manifest.Manifest) { m.Partitions[2] = &manifest.Partition{ID: 2} }, false},
	} {
		next := old.Next()
		c.edit(next)
		if err := next.Follows(old); (err == nil) != c.ok {
			t.Errorf("%s: got %v, want ok %v", name, err, c.ok)
		}
	}
}

// TestManifestIsReadAgain: a new manifest is read back before it replaces the old one.
func TestManifestIsReadAgain(t *testing.T) {
	var forging atomic.Bool // the log is written in the background all the time
	fs := &lying{vfs.NewMem(), func(name string) bool { return forging.Load() && strings.HasSuffix(name, manifest.TempSuffix) }}
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	mustPut(t, db, id, "row", "q", "v")
	before := readAll(t, fs, "store/"+manifest.FileName(db.manifest.Edit))
	forging.Store(true)
	if _, err := db.CreatePartitions("b"); !errors.As(err, new(*UnknownError)) {
		t.Errorf("CreatePartitions returned %v, want a *UnknownError", err)
	}
	if err := db.Health(); !errors.As(err, new(*ReadOnlyError)) {
		t.Errorf("Health is %v, want a *ReadOnlyError", err)
	}
	if now := readAll(t, fs, "store/"+manifest.FileName(db.manifest.Edit)); !bytes.Equal(now, before) {
		t.Error("the manifest before is gone")
	}
	db.Close()
	forging.Store(false)
	db = mustOpen(t, fs)
	defer mustClose(t, db)
	if got := contents(t, db, id); len(got) != 1 {
		t.Errorf("got %v, want one row", got)
	}
}

// TestFlushOfAllOrNone: if one memtable is not written, or not completely, none of the files of its
// flush counts.
func TestFlushOfAllOrNone(t *testing.T) {
	for name, breakIt := range map[string]func(f *flushJob){
		"is not written":             func(f *flushJob) { f.written = false },
		"grows after it was written": func(f *flushJob) { f.entries-- },
	} {
		fs := vfs.NewMem()
		db := mustOpenIdle(t, fs)
		ids := mustCreate(t, db, "a", "b")
		putBoth(t, db, ids, "row", 1)
		db.mu.Lock()
		var list []flushJob
		for _, id := range ids {
			p := db.partitions[id]
			list = append(list, flushJob{p: p, m: p.active})
			p.frozen, p.active = append(p.frozen, p.active), newMemTable()
		}
		edit := db.manifest.Edit
		db.mu.Unlock()
		if err := db.writeMemTables(list); err != nil {
			t.Fatal(err)
		}
		breakIt(&list[1])
		if err := db.installFlushed(list, db.LastSeq()); !errors.As(err, new(*CorruptError)) {
			t.Errorf("one %s: got %v, want a *CorruptError", name, err)
		}
		if db.manifest.Edit != edit {
			t.Errorf("one %s: the manifest has changed", name)
		}
		crashed := mustOpen(t, fs.Crash(vfs.DropAll, 1))
		for _, id := range ids {
			if got := contents(t, crashed, id); len(got) != 1 {
				t.Errorf("one %s: after a crash got %v, want one row", name, got)
			}
		}
		mustClose(t, crashed)
		db.Close()
	}
}

// TestFlushOfAnotherMemtable: a memtable that changes after it was frozen, or whose file has other
// batches, is not flushed. The log keeps its batches.
func TestFlushOfAnotherMemtable(t *testing.T) {
	for name, breakIt := range map[string]func(m *memTable){
		"grows after it was written": func(m *memTable) {},
		"batches of others":          func(m *memTable) { m.minSeq++; m.maxSeq++ },
	} {
		fs := vfs.NewMem()
		db := mustOpenIdle(t, fs)
		id := mustCreate(t, db, "a")[0]
		mustPut(t, db, id, "row", "q", "v")
		mustPut(t, db, mustCreate(t, db, "b")[0], "row", "q", "v")
		db.mu.Lock()
		p := db.partitions[id]
		m := p.active
		list := []flushJob{{p: p, m: m}}
		p.frozen, p.active = append(p.frozen, m), newMemTable()
		db.mu.Unlock()
		if err := db.writeMemTables(list); err != nil {
			t.Fatal(err)
		}
		breakIt(m)
		if name == "grows after it was written" {
			list[0].entries--
		}
		start := db.manifest.LogStart
		if err := db.installFlushed(list, 0); !errors.As(err, new(*CorruptError)) {
			t.Errorf("%s: got %v, want a *CorruptError", name, err)
		}
		if err := db.install(nil, func(*manifest.Manifest) error { return nil }, func() {}); err != nil {
			t.Error(err)
		}
		if db.manifest.LogStart != start || len(p.version.Levels[0]) > 0 {
			t.Errorf("%s: the log begins with segment %d, level 0 has %d files", name, db.manifest.LogStart, len(p.version.Levels[0]))
		}
		crashed := mustOpen(t, fs.Crash(vfs.DropAll, 1))
		if got := contents(t, crashed, id); len(got) != 1 {
			t.Errorf("%s: after a crash got %v, want one row", name, got)
		}
		mustClose(t, crashed)
		db.Close()
	}
}
