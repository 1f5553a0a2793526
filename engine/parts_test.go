package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"colonnade/cell"
	"colonnade/clock"
	"colonnade/vfs"
)

// backlog is a store with so many files in level 0 of a partition, all over the same rows,
// and the compaction of them, which is for the test to carry out.
type backlog struct {
	db *DB
	p  *partition
	c  *compaction
}

func newBacklog(t *testing.T, fs vfs.FS, files int) *backlog {
	t.Helper()
	runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0))) // until the test is over
	opt := testOptions(fs)
	opt.FileBytes, opt.Clock = 4<<10, clock.NewManual(1)
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	b := &backlog{db: db, p: db.partitions[mustCreate(t, db, "a")[0]]}
	b.halt(true)
	r := rand.New(rand.NewPCG(1, 0))
	for range files {
		var batch Batch
		for range 200 {
			row := fmt.Sprintf("row%03d", r.IntN(500))
			if r.IntN(10) == 0 {
				batch.Add(b.p.id, []byte(row), &cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime})
				continue
			}
			_, c := set(row, fmt.Sprint("q", r.IntN(3)), strings.Repeat(fmt.Sprint(r.Uint64()), 3))
			batch.Add(b.p.id, []byte(row), c)
		}
		if _, err := db.Commit(context.Background(), &batch); err != nil {
			t.Fatal(err)
		}
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	db.mu.Lock()
	b.p.halted = false
	db.background.compactable[b.p] = true
	b.c = db.nextCompactionLocked()
	b.p.halted = true
	db.mu.Unlock()
	if b.c == nil {
		t.Fatal("there is nothing to compact")
	}
	return b
}

// halt keeps the background from compacting.
func (b *backlog) halt(on bool) {
	b.db.mu.Lock()
	defer b.db.mu.Unlock()
	b.p.halted = on
}

func (b *backlog) compact() error {
	err := b.db.compact(b.c)
	b.db.mu.Lock()
	defer b.db.mu.Unlock()
	b.db.doneLocked(b.c)
	return err
}

// TestCompactionInParts: all that was there is there afterwards, in one level, in parts that
// adjoin.
func TestCompactionInParts(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	fs := vfs.NewMem()
	b := newBacklog(t, fs, slowFiles)
	want := contents(t, b.db, b.p.id)
	parts := b.db.divide(b.c)
	if len(parts) < 2 || len(parts) > mostParts {
		t.Fatalf("got %d parts, want 2 to %d", len(parts), mostParts)
	}
	var end []byte
	for i, part := range parts {
		if !bytes.Equal(part.rows.start, end) || i > 0 && bytes.Compare(part.rows.start, parts[i-1].rows.start) <= 0 {
			t.Errorf("part %d goes from %q to %q, the one before to %q", i, part.rows.start, part.rows.end, end)
		}
		end = part.rows.end
	}
	if end != nil {
		t.Errorf("the last part goes to %q, want to the end", end)
	}
	if err := b.compact(); err != nil {
		t.Fatalf("compact: %v", err)
	}
	if n := len(b.p.version.levels[0]); n != 0 {
		t.Errorf("%d files are left in level 0", n)
	}
	for _, bound := range parts[1:] { // each part begins a file
		files := b.p.version.levels[b.c.choice.output]
		if !slices.ContainsFunc(files, func(f *file) bool { return bytes.Compare(f.smallest, bound.rows.start) >= 0 }) ||
			slices.ContainsFunc(files, func(f *file) bool {
				return bytes.Compare(f.smallest, bound.rows.start) < 0 && bytes.Compare(f.largest, bound.rows.start) >= 0
			}) {
			t.Errorf("a file goes over the bound %q", bound.rows.start)
		}
	}
	if got := contents(t, b.db, b.p.id); !slices.Equal(got, want) {
		t.Errorf("got %d cells, want the %d that were there", len(got), len(want))
	}
	mustClose(t, b.db)
	db := mustOpen(t, fs)
	defer mustClose(t, db)
	if got := contents(t, db, b.p.id); !slices.Equal(got, want) {
		t.Errorf("opened again: got %d cells, want the %d that were there", len(got), len(want))
	}
}

// TestCompactionInOnePart: as long as nobody is held up, others need the processors.
func TestCompactionInOnePart(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	b := newBacklog(t, vfs.NewMem(), slowFiles-1)
	defer mustClose(t, b.db)
	if parts := b.db.divide(b.c); len(parts) != 1 || parts[0].rows.start != nil || parts[0].rows.end != nil {
		t.Errorf("got %d parts, want one of all rows", len(parts))
	}
	if err := b.compact(); err != nil {
		t.Errorf("compact: %v", err)
	}
}

// TestPartFails: one part ends all, for its own reason, and nothing of any stays.
func TestPartFails(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	fs := vfs.NewMem()
	var armed atomic.Bool
	var created atomic.Int32
	failed := make(chan struct{})
	b := newBacklog(t, vfs.Inject(fs, func(op vfs.Op) vfs.Fault {
		if !armed.Load() || op.Kind != vfs.OpCreate || !strings.HasSuffix(op.Name, tableSuffix) {
			return vfs.Fault{}
		}
		if created.Add(1) == 2 {
			return vfs.Fault{Err: syscall.EIO}
		}
		return vfs.Fault{Hold: failed} // so the others have written next to nothing by then
	}), slowFiles)
	defer mustClose(t, b.db)
	want, inputs := contents(t, b.db, b.p.id), tables(t, fs)
	armed.Store(true)
	parts := b.db.divide(b.c)
	go func() {
		for !parts[0].out.lost.Load() {
			runtime.Gosched()
		}
		close(failed)
	}()
	if err := b.db.merge(b.c, parts); !errors.Is(err, syscall.EIO) {
		t.Errorf("merge returned %v, want EIO", err)
	}
	if n := len(parts.files()); n != 0 {
		t.Errorf("%d files were completed after the failure", n)
	}
	parts.discard()
	b.db.removeTrash()
	if got := tables(t, fs); !slices.Equal(got, inputs) {
		t.Errorf("files: got %q, want the inputs %q", got, inputs)
	}
	armed.Store(false)
	if err := b.compact(); err != nil {
		t.Errorf("compact, with the disk well again: %v", err)
	}
	if got := contents(t, b.db, b.p.id); !slices.Equal(got, want) {
		t.Errorf("got %d cells, want the %d that were there", len(got), len(want))
	}
}
