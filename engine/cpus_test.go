package engine

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/vfs"
)

// TestIdle: a store is idle when no write or read has begun for a while.
func TestIdle(t *testing.T) {
	db := mustOpenIdle(t, vfs.NewMem())
	defer mustClose(t, db)
	manual := db.opt.Clock.(*clock.Manual)
	id := mustCreate(t, db, "a")[0]
	check := func(when string, want bool) {
		t.Helper()
		db.mu.Lock()
		defer db.mu.Unlock()
		if got := db.idleLocked(); got != want {
			t.Errorf("%s: idle is %v", when, got)
		}
	}
	const long = (idleAfter + 1) * time.Microsecond
	write := func() {
		t.Helper()
		var b Batch
		row, c := set("row", "q", "v")
		b.Add(id, row, c)
		if _, err := db.Commit(context.Background(), &b); err != nil {
			t.Fatal(err)
		}
	}
	manual.Advance(long)
	check("opened long ago", true)
	write()
	check("just written", false)
	manual.Advance(idleAfter * time.Microsecond)
	check("written a while ago", false)
	manual.Advance(time.Microsecond)
	check("written long ago", true)
	contents(t, db, id)
	check("just read", false)
	manual.Advance(long)
	check("read long ago", true)
	manual.Advance(-2 * long)
	check("the clock has stepped back", false)

	db.mu.Lock() // otherwise the background may call idleLocked before the time has passed
	defer db.mu.Unlock()
	db.reads.set()
	manual.Advance(4 * long)
	if db.idleLocked() {
		t.Error("idle, though read since the last call, which may be just now")
	}
}

// TestCompactionCPUs: compactions run on one CPU while there are writers. They run on all CPUs
// while writers are slowed down or the store is idle. No other compaction uses the CPUs of a
// divided one.
func TestCompactionCPUs(t *testing.T) {
	before := runtime.GOMAXPROCS(3)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	const small, large = 1, 1 << 30 // size of the files that a compaction writes
	for _, test := range []struct {
		name      string
		files     int // in level 0 of each of four partitions
		fileBytes int64
		idle      bool
		want      []int // subcompactions of each compaction that begins
	}{
		{"busy", compaction.Level0Files, small, false, []int{1}},
		{"slowed down", slowdownFiles, small, false, []int{3}},
		{"slowed down, little to merge", slowdownFiles, large, false, []int{1, 1, 1}},
		{"idle", compaction.Level0Files, small, true, []int{3}},
		{"idle, little to merge", compaction.Level0Files, large, true, []int{1, 1, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			db := mustOpenIdle(t, vfs.NewMem())
			defer mustClose(t, db)
			parts := fillLevel0(t, db, test.files, "a", "b", "c", "d")
			db.mu.Lock()
			defer db.mu.Unlock()
			db.opt.FileBytes = test.fileBytes
			last := db.lastTime
			if test.idle {
				db.lastTime, db.lastRead = -2*idleAfter, -2*idleAfter
			}
			for _, p := range parts {
				p.compactionStopped = false
				db.background.compactable[p] = true
			}
			var got []int
			var begun []*compactionJob
			for c := db.nextCompactionLocked(); c != nil; c = db.nextCompactionLocked() {
				got, begun = append(got, c.subcompactions), append(begun, c)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("compactions of %d subcompactions have begun, want %d", got, test.want)
			}
			for _, c := range begun {
				db.endCompactionLocked(c)
			}
			if n := db.background.compactionCPUs; n != 0 {
				t.Errorf("%d CPUs are taken at the end", n)
			}
			for _, p := range parts {
				p.compactionStopped = true
			}
			db.lastTime = last // times never go back, and Close makes edits
		})
	}
}

// TestSlowed: slowedPartitions counts partitions whose writers are slowed down, until they are
// dropped.
func TestSlowed(t *testing.T) {
	db := mustOpenIdle(t, vfs.NewMem())
	defer mustClose(t, db)
	parts := fillLevel0(t, db, slowdownFiles-1, "a", "b")
	check := func(want int32) {
		t.Helper()
		if got := db.slowedPartitions.Load(); got != want {
			t.Errorf("%d are slowed down, want %d", got, want)
		}
	}
	check(0)
	flushed(t, db, parts[0].id, 1)
	check(1)
	if err := db.DropPartitions(parts[0].id); err != nil {
		t.Fatal(err)
	}
	check(0)
}

// fillLevel0 creates partitions with the given number of files in level 0, and stops their
// compaction.
func fillLevel0(t *testing.T, db *DB, files int, names ...string) (parts []*partition) {
	t.Helper()
	for _, id := range mustCreate(t, db, names...) {
		db.mu.Lock()
		parts = append(parts, db.partitions[id])
		db.partitions[id].compactionStopped = true
		db.mu.Unlock()
	}
	for range files {
		var b Batch
		for _, p := range parts {
			row, c := set("row", "q", "v")
			b.Add(p.id, row, c)
		}
		if _, err := db.Commit(context.Background(), &b); err != nil {
			t.Fatal(err)
		}
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	return parts
}
