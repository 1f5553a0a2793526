package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/sstable"
	"github.com/colonnade-db/colonnade/vfs"
)

// TestRefusedWriteIsNotUnknown: a write whose sync of the log fails has an unknown outcome. Later
// writes have a known one: nothing was written.
func TestRefusedWriteIsNotUnknown(t *testing.T) {
	var armed atomic.Bool
	fs := vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault {
		if armed.Load() && op.Kind == vfs.OpSync && op.Name == "store/wal/"+manifest.SegmentFile(1) {
			return vfs.Fault{Err: syscall.EIO}
		}
		return vfs.Fault{}
	})
	opt := testOptions(fs)
	opt.Clock = clock.NewManual(1) // no seal comes before the write
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	id := mustCreate(t, db, "a")[0]
	armed.Store(true)
	for i, want := range []string{"unknown", "read-only", "read-only"} {
		err := tryPut(db, id)
		var unknown *UnknownError
		var readOnly *ReadOnlyError
		got := ""
		if errors.As(err, &unknown) {
			got += "unknown"
		}
		if errors.As(err, &readOnly) {
			got += "read-only"
		}
		if got != want || !errors.Is(err, syscall.EIO) {
			t.Errorf("write %d: got %q (%v), want %s for the failure of the sync", i, got, err, want)
		}
	}
}

// TestBadEntriesAreRefused: such an entry in the log would prevent the next open, and in a memtable
// its flush.
func TestBadEntriesAreRefused(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	long := strings.Repeat("x", sstable.MaxKey+1)
	for name, spoil := range map[string]func(row *[]byte, c *cell.Cell){
		"no row key":    func(row *[]byte, c *cell.Cell) { *row = nil },
		"long row key":  func(row *[]byte, c *cell.Cell) { *row = []byte(long) },
		"long column":   func(row *[]byte, c *cell.Cell) { c.Column = append(c.Column, long...) },
		"no family":     func(row *[]byte, c *cell.Cell) { c.Column = []byte("x") },
		"negative time": func(row *[]byte, c *cell.Cell) { c.Time = -2 },
		"unknown kind":  func(row *[]byte, c *cell.Cell) { c.Kind = cell.KindCount },
		"no type":       func(row *[]byte, c *cell.Cell) { c.Type = cell.None },
	} {
		var b Batch
		row, c := set("row", "q", "v")
		b.Add(id, row, c)
		spoil(&row, c)
		b.Add(id, row, c)
		if _, err := db.Commit(context.Background(), &b); err == nil {
			t.Errorf("%s: committed", name)
		}
	}
	if _, err := db.Commit(context.Background(), new(Batch)); err == nil || err.Error() != "batch is empty" {
		t.Errorf("a batch without entries: got %v", err)
	}
	mustPut(t, db, id, "row", "q", "1")
	if err := db.Flush(context.Background()); err != nil {
		t.Error(err)
	}
	mustClose(t, db)
	db = mustOpen(t, fs)
	if got := contents(t, db, id); len(got) != 1 {
		t.Errorf("got %q, want one cell", got)
	}
	mustClose(t, db)
}

// TestGroupThatFails: a failed sync fails all batches that it was for.
func TestGroupThatFails(t *testing.T) {
	d := newSlowDisk(t, logSync)
	d.fault = syscall.EIO
	d.armed.Store(true)
	const writers = 64
	var done []chan error
	for i := range writers {
		_, c := d.begin(context.Background(), fmt.Sprint("row", i))
		done = append(done, c)
		if i == 0 {
			<-d.held // the others form the next group
		}
	}
	eventually(d.db, func() bool { return d.db.group != nil && len(d.db.group.batches) == writers-1 })
	close(d.release)
	d.unknown(<-done[0], syscall.EIO)
	for _, c := range done[1:] {
		if err := <-c; !errors.As(err, new(*ReadOnlyError)) || !errors.Is(err, syscall.EIO) {
			t.Errorf("got %v, want a *ReadOnlyError", err)
		}
	}
	d.has(d.db)
	d.db.Close()
}

// TestBatchesOfAnySize: batches survive a crash if their size is near that of the log's buffers or
// segments, or larger than a segment.
func TestBatchesOfAnySize(t *testing.T) {
	fs := vfs.NewMem()
	opt := testOptions(fs)
	opt.MemtableBytes = 64 << 20
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	id := mustCreate(t, db, "a")[0]
	var want []string
	for _, size := range []int{0, 1, 1<<16 - 1, 1 << 16, 1<<16 + 1, 1<<18 - 1, 1<<18 + 1, 1<<20 - 40, 1 << 20, 1<<20 + 1, 3 << 20} {
		row := fmt.Sprintf("row%08d", size)
		mustPut(t, db, id, row, "q", strings.Repeat("v", size))
		want = append(want, row+" q="+strings.Repeat("v", size))
	}
	for range 2 {
		opt.FS = fs.Crash(vfs.DropAll, 1)
		db.Close()
		if db, err = Open("store", opt); err != nil {
			t.Fatal(err)
		}
		if got := contents(t, db, id); !slices.Equal(got, want) {
			t.Errorf("%d of %d rows came through", len(got), len(want))
		}
		fs = opt.FS.(*vfs.Mem)
	}
	mustClose(t, db)

	var b Batch
	b.buf, b.count = make([]byte, MaxBatch+1), 1
	if _, err := db.Commit(context.Background(), &b); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a batch over the limit: got %v, want ErrTooLarge", err)
	}
}

// TestClockSteps: a later write is newer, whatever the clock says, also after a restart.
func TestClockSteps(t *testing.T) {
	fs := vfs.NewMem()
	now := clock.NewManual(1_700_000_000_000_000)
	opt := testOptions(fs)
	opt.Clock = now
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	id := mustCreate(t, db, "a")[0]
	var last Commit
	const hour, years = time.Hour, 10 * 365 * 24 * time.Hour
	for i, step := range []time.Duration{0, -hour, hour, years, -years, -hour, 0} {
		now.Advance(step)
		var b Batch
		r, c := set("row", "q", fmt.Sprint(i))
		b.Add(id, r, c)
		commit, err := db.Commit(context.Background(), &b)
		if err != nil {
			t.Fatal(err)
		}
		if commit.Time <= last.Time || commit.Seq <= last.Seq {
			t.Errorf("step %d: %+v follows %+v", i, commit, last)
		}
		last = commit
		if got := contents(t, db, id); got[0] != fmt.Sprintf("row q=%d", i) {
			t.Errorf("step %d: the newest version is %q", i, got[0])
		}
		if i%2 == 1 {
			opt.FS = fs.Crash(vfs.DropAll, 1)
			db.Close()
			fs = opt.FS.(*vfs.Mem)
			if db, err = Open("store", opt); err != nil {
				t.Fatal(err)
			}
		}
	}
	mustClose(t, db)
}

// TestCallersMemory: once Commit has returned, the store uses neither the batch nor the bytes that
// the caller gave to it.
func TestCallersMemory(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	var b Batch
	var want []string
	for i := range 100 {
		b.Reset()
		for k := range 3 {
			name := fmt.Sprintf("row%03d", 3*i+k)
			r, c := set(name, "q", name+" value")
			b.Add(id, r, c)
			want = append(want, name+" q="+name+" value")
			for _, memory := range [][]byte{r, c.Column, c.Value} {
				clear(memory)
			}
		}
		if _, err := db.Commit(context.Background(), &b); err != nil {
			t.Fatal(err)
		}
		for i := range b.buf[:cap(b.buf)] {
			b.buf[:cap(b.buf)][i] = 0xAA
		}
	}
	check := func(db *DB) {
		t.Helper()
		if got := contents(t, db, id); !slices.Equal(got, want) {
			t.Errorf("got %d rows, want %d; the first is %q", len(got), len(want), got[:1])
		}
	}
	check(db)
	crashed := mustOpen(t, fs.Crash(vfs.DropAll, 1))
	check(crashed)
	mustClose(t, crashed)
	if err := db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	check(db)
	mustClose(t, db)
}
