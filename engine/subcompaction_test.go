package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// backlog is a store with a number of files in level 0 of a partition, up to slowdownFiles, all
// over the same rows, and their compaction, which the test runs. The clock stands still, so with
// more files commits would wait for ever.
type backlog struct {
	db *DB
	p  *partition
	c  *compactionJob
}

func newBacklog(t *testing.T, fs vfs.FS, files int) *backlog {
	t.Helper()
	before := runtime.GOMAXPROCS(4)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
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
	b.p.compactionStopped = false
	db.background.compactable[b.p] = true
	b.c = db.nextCompactionLocked()
	b.p.compactionStopped = true
	db.mu.Unlock()
	if b.c == nil {
		t.Fatal("there is nothing to compact")
	}
	return b
}

// halt stops background compactions of the partition, or allows them.
func (b *backlog) halt(on bool) {
	b.db.mu.Lock()
	defer b.db.mu.Unlock()
	b.p.compactionStopped = on
}

func (b *backlog) compact() error {
	err := b.db.compact(b.c)
	b.db.mu.Lock()
	defer b.db.mu.Unlock()
	b.db.endCompactionLocked(b.c)
	return err
}

// TestSubcompactions: afterwards one level has the whole content. The ranges of the subcompactions
// adjoin.
func TestSubcompactions(t *testing.T) {
	fs := vfs.NewMem()
	b := newBacklog(t, fs, slowdownFiles)
	want := contents(t, b.db, b.p.id)
	subs := b.db.newSubcompactions(b.c)
	if len(subs) < 2 || len(subs) > compaction.MaxSubcompactions {
		t.Fatalf("got %d subcompactions, want 2 to %d", len(subs), compaction.MaxSubcompactions)
	}
	var end []byte
	for i, sub := range subs {
		if !bytes.Equal(sub.rows.start, end) || i > 0 && bytes.Compare(sub.rows.start, subs[i-1].rows.start) <= 0 {
			t.Errorf("subcompaction %d goes from %q to %q, the one before to %q", i, sub.rows.start, sub.rows.end, end)
		}
		end = sub.rows.end
	}
	if end != nil {
		t.Errorf("the last subcompaction goes to %q, want to the end", end)
	}
	if err := b.compact(); err != nil {
		t.Fatalf("compact: %v", err)
	}
	if n := len(b.p.version.Levels[0]); n != 0 {
		t.Errorf("%d files are left in level 0", n)
	}
	for _, bound := range subs[1:] { // each subcompaction begins a file
		files := b.p.version.Levels[b.c.choice.Output]
		if !slices.ContainsFunc(files, func(f *manifest.File) bool { return bytes.Compare(f.Smallest, bound.rows.start) >= 0 }) ||
			slices.ContainsFunc(files, func(f *manifest.File) bool {
				return bytes.Compare(f.Smallest, bound.rows.start) < 0 && bytes.Compare(f.Largest, bound.rows.start) >= 0
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

// TestOneSubcompaction: while no writer is slowed down, reads and writes need the other CPUs.
func TestOneSubcompaction(t *testing.T) {
	b := newBacklog(t, vfs.NewMem(), slowdownFiles-1)
	defer mustClose(t, b.db)
	if subs := b.db.newSubcompactions(b.c); len(subs) != 1 || subs[0].rows.start != nil || subs[0].rows.end != nil {
		t.Errorf("got %d subcompactions, want one of all rows", len(subs))
	}
	if err := b.compact(); err != nil {
		t.Errorf("compact: %v", err)
	}
}

// faults applies rule to the files of a divided compaction. It records which were created and not
// closed.
type faults struct {
	mu      sync.Mutex
	on      bool
	created int
	open    map[string]bool
	rule    func(op vfs.Op, created int) vfs.Fault // of operations on files of the compaction
}

func (f *faults) fault(op vfs.Op) vfs.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.on || !strings.HasSuffix(op.Name, manifest.TableSuffix) {
		return vfs.Fault{}
	}
	switch op.Kind {
	case vfs.OpCreate:
		f.created++
		f.open[op.Name] = true
	case vfs.OpClose:
		delete(f.open, op.Name)
	}
	if f.rule == nil {
		return vfs.Fault{}
	}
	fault := f.rule(op, f.created)
	if fault.Err != nil && op.Kind == vfs.OpCreate {
		delete(f.open, op.Name)
	}
	return fault
}

// arm starts the count and the faults.
func (f *faults) arm(rule func(op vfs.Op, created int) vfs.Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on, f.created, f.open, f.rule = true, 0, make(map[string]bool), rule
}

// stillOpen returns the files that were created and not closed, except those refused.
func (f *faults) stillOpen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.open))
}

// TestSubcompactionFails: the error of one subcompaction ends all and is returned. No file of any
// remains.
func TestSubcompactionFails(t *testing.T) {
	fs, disk := vfs.NewMem(), new(faults)
	b := newBacklog(t, vfs.Inject(fs, disk.fault), slowdownFiles)
	defer mustClose(t, b.db)
	want, inputs := contents(t, b.db, b.p.id), tables(t, fs)
	disk.arm(func(op vfs.Op, created int) vfs.Fault {
		if op.Kind == vfs.OpCreate && created == 2 {
			return vfs.Fault{Err: syscall.EIO}
		}
		return vfs.Fault{}
	})
	if err := b.db.compact(b.c); !errors.Is(err, syscall.EIO) {
		t.Errorf("compact returned %v, want EIO", err)
	}
	b.db.removeObsolete()
	if got := tables(t, fs); !slices.Equal(got, inputs) {
		t.Errorf("files: got %q, want the inputs %q", got, inputs)
	}
	if open := disk.stillOpen(); len(open) > 0 {
		t.Errorf("%q are still open", open)
	}
	disk.arm(nil)
	if err := b.compact(); err != nil {
		t.Errorf("compact, with the disk well again: %v", err)
	}
	if got := contents(t, b.db, b.p.id); !slices.Equal(got, want) {
		t.Errorf("got %d cells, want the %d that were there", len(got), len(want))
	}
}

// TestSubcompactionsAreAbandoned: after one has failed, the others write no more rows.
func TestSubcompactionsAreAbandoned(t *testing.T) {
	disk := new(faults)
	b := newBacklog(t, vfs.Inject(vfs.NewMem(), disk.fault), slowdownFiles)
	defer mustClose(t, b.db)
	subs := b.db.newSubcompactions(b.c)
	disk.arm(func(op vfs.Op, created int) vfs.Fault {
		if op.Kind == vfs.OpCreate && created == 1 {
			return vfs.Fault{Err: syscall.EIO}
		}
		return vfs.Fault{}
	})
	if err := b.db.merge(b.c, subs); !errors.Is(err, syscall.EIO) {
		t.Errorf("merge returned %v, want EIO", err)
	}
	for i, sub := range subs {
		if err := sub.out.unneeded(); err != errAbandoned {
			t.Errorf("subcompaction %d: got %v, want %v", i, err, errAbandoned)
		}
	}
	subs.discard()
}

// TestDamageWinsOverOtherFailures: the disk is full for one subcompaction. Another only has to
// verify its file, and is about to find it wrong. The damage must be reported: a retry would leave
// another such file each time. The evidence stays, and nothing else.
func TestDamageWinsOverOtherFailures(t *testing.T) {
	fs, disk := vfs.NewMem(), new(faults)
	var wrong atomic.Value
	wrong.Store("")
	lies := &lying{vfs.Inject(fs, disk.fault), func(name string) bool { return name == wrong.Load() }}
	b := newBacklog(t, lies, slowdownFiles)
	defer mustClose(t, b.db)
	inputs := tables(t, fs)
	subs := b.db.newSubcompactions(b.c)
	written, failed := make(chan struct{}), make(chan struct{})
	disk.arm(func(op vfs.Op, created int) vfs.Fault {
		switch {
		case op.Kind == vfs.OpCreate && created == 1:
			wrong.Store(op.Name)
		case op.Kind == vfs.OpCreate && created == 2:
			return vfs.Fault{Err: syscall.ENOSPC, Hold: written}
		case op.Kind == vfs.OpSync && op.Name == wrong.Load():
			close(written)
			return vfs.Fault{Hold: failed}
		}
		return vfs.Fault{}
	})
	go func() {
		for !subs[0].out.abandoned.Load() {
			runtime.Gosched()
		}
		close(failed)
	}()
	err := b.db.merge(b.c, subs)
	if damage := new(CorruptError); !errors.As(err, &damage) || damage.File != wrong.Load() {
		t.Errorf("merge returned %v, want a *CorruptError for %s", err, wrong.Load())
	}
	subs.discard()
	b.db.removeObsolete()
	want := append(slices.Clone(inputs), path.Base(wrong.Load().(string)))
	if got := tables(t, fs); !slices.Equal(got, want) {
		t.Errorf("files: got %q, want %q", got, want)
	}
	if open := disk.stillOpen(); len(open) > 0 {
		t.Errorf("%q are still open", open)
	}
}

// TestSubcompactionsAreCounted: entries between two ranges would be lost.
func TestSubcompactionsAreCounted(t *testing.T) {
	b := newBacklog(t, vfs.NewMem(), slowdownFiles)
	defer mustClose(t, b.db)
	subs := b.db.newSubcompactions(b.c)
	subs[1].rows.start = append(slices.Clone(subs[1].rows.start), '~')
	if damage := new(CorruptError); !errors.As(b.db.merge(b.c, subs), &damage) || b.p.quarantined.Load() == nil {
		t.Error("entries are missing, and nobody says so")
	}
	subs.discard()
}
