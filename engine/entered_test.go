package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
)

// TestEnteredBatches: AwaitRows has batches that wait for the disk in the memtables, those before it and those
// that come while it waits. TakeEntered sees them, NewSnapshot does not, and AwaitEntered waits for them.
func TestEnteredBatches(t *testing.T) {
	d := newSlowDisk(t, logSync)
	d.armed.Store(true)
	_, first := d.begin(t.Context(), "row0")
	<-d.held // the others form the next group
	var inserted atomic.Int32
	var done []chan error
	for i := range 40 {
		b := new(Batch)
		r, c := set(fmt.Sprintf("row%02d", i+1), "q", "v")
		b.Add(d.id, r, c)
		b.Inserted = func() { inserted.Add(1) }
		b.InsertNow = i == 7
		result := make(chan error, 1)
		done = append(done, result)
		go func() {
			_, err := d.db.Commit(context.Background(), b)
			result <- err
		}()
	}
	eventually(d.db, func() bool { return d.db.group != nil && len(d.db.group.batches) == 40 && inserted.Load() == 1 })
	eventually(d.db, func() bool { return d.db.inFlight[0].missing.Load() == 1 }) // the first is inserted
	late, more := new(Batch), make(chan error, 1)
	r, c := set("row41", "q", "v")
	late.Add(d.id, r, c)
	atOnce := make(chan struct{})
	late.Inserted = func() { inserted.Add(1); close(atOnce) }
	d.db.AwaitRows(func() {
		if n := inserted.Load(); n != 40 {
			t.Errorf("%d of 40 batches are inserted", n)
		}
		go func() {
			_, err := d.db.Commit(context.Background(), late)
			more <- err
		}()
		<-atOnce
	})
	done = append(done, more)
	snap, err := d.db.TakeEntered(d.id)
	if err != nil {
		t.Fatal(err)
	}
	if lines, err := readAt(snap, d.id); len(lines) != 42 || err != nil {
		t.Errorf("TakeEntered sees %q, %v, want all 42 rows", lines, err)
	}
	snap.Close()
	if lines := contents(t, d.db, d.id); len(lines) != 0 {
		t.Errorf("NewSnapshot sees %q before it is durable", lines)
	}
	soon, leave := context.WithCancel(t.Context())
	leave()
	if err := d.db.AwaitEntered(soon); !errors.Is(err, context.Canceled) {
		t.Errorf("AwaitEntered while the disk does not answer: got %v", err)
	}
	d.armed.Store(false)
	close(d.release)
	if err := d.db.AwaitEntered(t.Context()); err != nil {
		t.Errorf("AwaitEntered: %v", err)
	}
	if lines := contents(t, d.db, d.id); len(lines) != 42 {
		t.Errorf("%d rows are visible after AwaitEntered, want 42", len(lines))
	}
	for _, result := range slices.Concat([]chan error{first}, done) {
		if err := <-result; err != nil {
			t.Error(err)
		}
	}
	if n := inserted.Load(); n != 41 {
		t.Errorf("Inserted was called %d times for 41 batches", n)
	}
	mustClose(t, d.db)
}

// TestInsertedOfRefused: Inserted is called for a batch that is refused, and AwaitEntered tells that the store
// is read-only.
func TestInsertedOfRefused(t *testing.T) {
	d := newSlowDisk(t, logSync)
	d.fault = syscall.EIO
	d.armed.Store(true)
	_, failing := d.begin(t.Context(), "row0")
	<-d.held
	close(d.release)
	<-failing
	calls := 0
	b := &Batch{Inserted: func() { calls++ }}
	for _, refused := range []string{"empty", "read-only"} {
		if _, err := d.db.Commit(t.Context(), b); err == nil {
			t.Errorf("%s: committed", refused)
		}
		r, c := set("row", "q", "v")
		b.Add(d.id, r, c)
	}
	if calls != 2 {
		t.Errorf("Inserted was called %d times for two refusals", calls)
	}
	if err := d.db.AwaitEntered(t.Context()); !errors.As(err, new(*ReadOnlyError)) {
		t.Errorf("AwaitEntered: got %v, want a *ReadOnlyError", err)
	}
	d.db.Close()
}

// TestAwaitEnteredOfFailed: the log fails while somebody waits for what has entered.
func TestAwaitEnteredOfFailed(t *testing.T) {
	d := newSlowDisk(t, logSync)
	d.fault = syscall.EIO
	d.armed.Store(true)
	_, failing := d.begin(t.Context(), "row")
	<-d.held
	awaited := make(chan error, 1)
	go func() { awaited <- d.db.AwaitEntered(context.Background()) }()
	d.db.mu.Lock()
	g := d.db.inFlight[0]
	d.db.mu.Unlock()
	eventually(d.db, func() bool { return g.writers.waiting.Load() == 3 }) // the group, its batch, and the other
	close(d.release)
	<-failing
	if err := <-awaited; !errors.As(err, new(*ReadOnlyError)) {
		t.Errorf("got %v, want a *ReadOnlyError", err)
	}
	d.db.Close()
}

// TestCommitAfter: a commit has a later time than its batch demands, whatever the clock says.
func TestCommitAfter(t *testing.T) {
	d := newSlowDisk(t, logSync)
	b := &Batch{After: 1_000_000}
	for _, want := range []int64{1_000_001, 1_000_002} {
		r, c := set("row", "q", "v")
		b.Add(d.id, r, c)
		if c, err := d.db.Commit(t.Context(), b); c.Time != want || err != nil {
			t.Errorf("got time %d, %v, want %d", c.Time, err, want)
		}
		b.Reset()
	}
	mustClose(t, d.db)
}
