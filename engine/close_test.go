package engine

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"colonnade/engine/rowmerge"
	"colonnade/vfs"
)

// TestNothingChangesAfterClose: the directory may belong to another process then.
func TestNothingChangesAfterClose(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	ids := mustCreate(t, db, "a")
	mustPut(t, db, ids[0], "row", "q", "1")
	mustClose(t, db)
	before := fs.Ops()
	if _, err := db.CreatePartitions("b"); !errors.Is(err, ErrClosed) {
		t.Errorf("CreatePartitions: got %v, want ErrClosed", err)
	}
	if err := db.DropPartitions(ids...); !errors.Is(err, ErrClosed) {
		t.Errorf("DropPartitions: got %v, want ErrClosed", err)
	}
	if err := tryPut(db, ids[0]); !errors.Is(err, ErrClosed) {
		t.Errorf("Commit: got %v, want ErrClosed", err)
	}
	if err := db.Compact(context.Background(), ids[0]); !errors.Is(err, ErrClosed) {
		t.Errorf("Compact: got %v, want ErrClosed", err)
	}
	if err := db.SetPolicies(ids[0], rowmerge.NoPolicies); !errors.Is(err, ErrClosed) {
		t.Errorf("SetPolicies: got %v, want ErrClosed", err)
	}
	if _, err := db.NewSnapshot(ids...); !errors.Is(err, ErrClosed) {
		t.Errorf("NewSnapshot: got %v, want ErrClosed", err)
	}
	if err := db.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("Close: got %v, want ErrClosed", err)
	}
	if n := fs.Ops() - before; n > 0 {
		t.Errorf("%d operations after Close", n)
	}
}

// TestNoSuchPartition: one that was dropped, and one that never was. Nothing of a
// batch or an edit that has one of them among others is done.
func TestNoSuchPartition(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	ids := mustCreate(t, db, "a", "b")
	if err := db.DropPartitions(ids[1]); err != nil {
		t.Fatal(err)
	}
	for _, id := range []PartitionID{ids[1], 99} {
		var b Batch
		for _, id := range []PartitionID{ids[0], id} {
			r, c := set("row", "q", "v")
			b.Add(id, r, c)
		}
		_, commit := db.Commit(context.Background(), &b)
		_, snapshot := db.NewSnapshot(ids[0], id)
		for what, err := range map[string]error{
			"Commit":         commit,
			"NewSnapshot":    snapshot,
			"DropPartitions": db.DropPartitions(ids[0], id),
			"SetPolicies":    db.SetPolicies(id, rowmerge.NoPolicies),
			"Compact":        db.Compact(context.Background(), id),
		} {
			if !errors.Is(err, ErrNoPartition) {
				t.Errorf("%s of partition %d: got %v, want ErrNoPartition", what, id, err)
			}
		}
	}
	if got := contents(t, db, ids[0]); len(got) > 0 {
		t.Errorf("got %q, want nothing", got)
	}
}

// TestCloseWaitsForSegments: a Commit that finds no room in the log makes a
// segment, and Close must not give the directory away meanwhile.
func TestCloseWaitsForSegments(t *testing.T) {
	fs := vfs.NewMem()
	var armed atomic.Bool
	held, hold := make(chan struct{}, 8), make(chan struct{})
	db := mustOpen(t, vfs.Inject(fs, func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpReuse && armed.Load() {
			held <- struct{}{}
			return vfs.Fault{Hold: hold}
		}
		return vfs.Fault{}
	}))
	id := mustCreate(t, db, "a")[0]
	for spares := 0; spares == 0; runtime.Gosched() { // so that it is the Commit that makes one
		db.mu.Lock()
		spares = len(db.log.spares)
		db.mu.Unlock()
	}
	armed.Store(true)
	committed, closed := make(chan error, 1), make(chan int64, 1)
	go func() {
		var b Batch
		r, c := set("row", "q", strings.Repeat("v", 2*int(db.opt.SegmentBytes)))
		b.Add(id, r, c)
		_, err := db.Commit(context.Background(), &b)
		committed <- err
	}()
	<-held
	go func() {
		db.Close()
		closed <- fs.Ops()
	}()
	select { // a Close that does not wait has this long to show it
	case n := <-closed:
		closed <- n
	case <-time.After(20 * time.Millisecond):
	}
	close(hold)
	if err := <-committed; !errors.Is(err, ErrClosed) {
		t.Errorf("Commit: got %v, want ErrClosed", err)
	}
	if n := fs.Ops() - <-closed; n > 0 {
		t.Errorf("%d operations after Close", n)
	}
}

// TestIdleLeaderEnds: the goroutine that has led waits for the next group as long as
// the store is open.
func TestIdleLeaderEnds(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	id := mustCreate(t, db, "a")[0]
	mustPut(t, db, id, "row", "q", "v")
	for idle := false; !idle; runtime.Gosched() {
		select {
		case db.leaders <- struct{}{}: // it finds no group
			idle = true
		default:
		}
	}
	mustPut(t, db, id, "row", "q", "w")
	mustClose(t, db)
	for range 100 {
		select {
		case db.leaders <- struct{}{}:
			t.Fatal("a leader of a closed store waits for the next group")
		default:
			runtime.Gosched()
		}
	}
}
