package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// slowDisk is a store on a disk where one kind of operation hangs until the test releases it. The
// test moves the clock.
type slowDisk struct {
	t     *testing.T
	mem   *vfs.Mem
	fs    vfs.FS
	clock *clock.Manual
	db    *DB
	id    PartitionID

	match   func(vfs.Op) bool
	armed   atomic.Bool
	fault   error         // result of a held operation
	held    chan struct{} // signals a held operation
	release chan struct{} // closed to end the hold
}

// logSync matches syncs of the current segment.
func logSync(op vfs.Op) bool {
	return op.Kind == vfs.OpSync && op.Name == "store/wal/"+manifest.SegmentFile(1)
}

// logWrite matches writes to it. A write past the page cache waits for the device.
func logWrite(op vfs.Op) bool {
	return op.Kind == vfs.OpWrite && op.Name == "store/wal/"+manifest.SegmentFile(1)
}

func newSlowDisk(t *testing.T, match func(vfs.Op) bool) *slowDisk {
	d := &slowDisk{t: t, mem: vfs.NewMem(), clock: clock.NewManual(1), match: match,
		held: make(chan struct{}, 64), release: make(chan struct{})}
	d.fs = vfs.Inject(d.mem, d.rule)
	opt := testOptions(d.fs)
	opt.Clock = d.clock
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	d.db, d.id = db, mustCreate(t, db, "a")[0]
	eventually(db, func() bool { return len(db.log.spares) > 0 })
	return d
}

func (d *slowDisk) rule(op vfs.Op) vfs.Fault {
	if !d.armed.Load() || !d.match(op) {
		return vfs.Fault{}
	}
	d.held <- struct{}{}
	return vfs.Fault{Hold: d.release, Err: d.fault}
}

// begin commits a row and returns the batch, and a channel for the result of Commit.
func (d *slowDisk) begin(ctx context.Context, row string) (*Batch, chan error) {
	b, done := new(Batch), make(chan error, 1)
	r, c := set(row, "q", "v")
	b.Add(d.id, r, c)
	go func() {
		_, err := d.db.Commit(ctx, b)
		done <- err
	}()
	return b, done
}

func (d *slowDisk) pass(of time.Duration) { d.clock.Advance(of) }

// unknown checks that a Commit has timed out for the given reason.
func (d *slowDisk) unknown(err, cause error) *UnknownError {
	d.t.Helper()
	var u *UnknownError
	if !errors.As(err, &u) || !errors.Is(err, cause) {
		d.t.Fatalf("Commit returned %v, want a *UnknownError because of %q", err, cause)
	}
	return u
}

func (d *slowDisk) has(db *DB, want ...string) {
	d.t.Helper()
	if got := fmt.Sprint(contents(d.t, db, d.id)); got != fmt.Sprint(want) {
		d.t.Errorf("got %v, want %v", got, want)
	}
}

// TestHangingDisk: no call waits for ever, and nothing is acknowledged or seen that is not durable.
// When the disk continues, the store continues by itself.
func TestHangingDisk(t *testing.T) {
	t.Run("sync", func(t *testing.T) { testHangingDisk(t, logSync) })
	t.Run("write", func(t *testing.T) { testHangingDisk(t, logWrite) })
}

func testHangingDisk(t *testing.T, match func(vfs.Op) bool) {
	d := newSlowDisk(t, match)
	defer mustClose(t, d.db)
	ctx := context.Background()
	d.armed.Store(true)
	first, firstDone := d.begin(ctx, "first")
	<-d.held
	second, secondDone := d.begin(ctx, "second") // in the next group
	eventually(d.db, func() bool { return d.db.group != nil })
	if err := d.db.Health(); err != nil {
		t.Errorf("before the time is up: Health is %v", err)
	}
	d.pass(d.db.opt.SyncTimeout)
	late := []*UnknownError{d.unknown(<-firstDone, ErrSlowDisk), d.unknown(<-secondDone, ErrSlowDisk)}

	if err := d.db.Health(); !errors.Is(err, ErrSlowDisk) {
		t.Errorf("Health is %v, want ErrSlowDisk", err)
	}
	if err := tryPut(d.db, d.id); !errors.Is(err, ErrSlowDisk) {
		t.Errorf("a later Commit: got %v, want ErrSlowDisk at once", err)
	}
	d.has(d.db)
	for _, b := range []*Batch{first, second} { // the callers continue with their batches
		b.Reset()
		r, c := set("other", "other", "poison")
		b.Add(d.id, r, c)
	}
	d.armed.Store(false)
	close(d.release)
	for _, u := range late {
		if err := u.Wait(); err != nil {
			t.Errorf("Wait: %v", err)
		}
	}
	if err := d.db.Health(); err != nil {
		t.Errorf("once the disk answers: Health is %v", err)
	}
	mustPut(t, d.db, d.id, "third", "q", "v")
	d.has(d.db, "first q=v", "second q=v", "third q=v")
	crashed := mustOpen(t, d.mem.Crash(vfs.DropAll, 1))
	d.has(crashed, "first q=v", "second q=v", "third q=v")
	mustClose(t, crashed)
}

// TestHangingSyncThatFails: the outcome is then as unknown as after any failed sync.
func TestHangingSyncThatFails(t *testing.T) {
	d := newSlowDisk(t, logSync)
	d.fault = syscall.EIO
	d.armed.Store(true)
	_, done := d.begin(context.Background(), "row")
	<-d.held
	d.pass(d.db.opt.SyncTimeout)
	u := d.unknown(<-done, ErrSlowDisk)
	close(d.release)
	d.unknown(u.Wait(), syscall.EIO)
	var readOnly *ReadOnlyError
	if err := d.db.Health(); !errors.As(err, &readOnly) {
		t.Errorf("Health is %v, want a *ReadOnlyError", err)
	}
	d.has(d.db)
	d.db.Close()
}

// TestKnownOutcome: a known outcome takes precedence over later events: a timeout at the same
// moment, and a done context.
func TestKnownOutcome(t *testing.T) {
	d := newSlowDisk(t, logSync)
	defer mustClose(t, d.db)
	d.armed.Store(true)
	_, done := d.begin(context.Background(), "row")
	<-d.held
	d.db.mu.Lock()
	g := d.db.inFlight[0]
	d.db.mu.Unlock()
	close(d.release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	d.db.timeOut(g)
	if err := d.db.Health(); err != nil {
		t.Errorf("Health is %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	const tries = 50 // a select on two ready channels may take either
	g.writers.waiting.Store(tries + 1)
	for range tries {
		if err := g.await(ctx); err != nil {
			t.Fatalf("got %v", err)
		}
	}
}

// TestContextEndsTheWait: a cancelled context ends the wait for a batch, and not the batch.
func TestContextEndsTheWait(t *testing.T) {
	d := newSlowDisk(t, logSync)
	defer mustClose(t, d.db)
	ctx, cancel := context.WithCancel(context.Background())
	d.armed.Store(true)
	_, done := d.begin(ctx, "row")
	<-d.held
	cancel()
	u := d.unknown(<-done, context.Canceled)
	if err := d.db.Health(); err != nil {
		t.Errorf("Health is %v: it is the caller who had no time", err)
	}
	_, done = d.begin(ctx, "too late")
	if err := <-done; !errors.Is(err, context.Canceled) || errors.As(err, new(*UnknownError)) {
		t.Errorf("Commit with a context that has ended returned %v", err)
	}
	close(d.release)
	if err := u.Wait(); err != nil {
		t.Error(err)
	}
	d.has(d.db, "row q=v")
}

// TestHangingSeal: the log can hang without a batch under way.
func TestHangingSeal(t *testing.T) {
	d := newSlowDisk(t, logSync)
	defer mustClose(t, d.db)
	mustPut(t, d.db, d.id, "first", "q", "v")
	eventually(d.db, func() bool { return d.db.log.sealArmed })
	d.armed.Store(true)
	d.pass(sealDelay)
	<-d.held
	_, done := d.begin(context.Background(), "second")
	eventually(d.db, func() bool { return d.db.group != nil })
	d.pass(d.db.opt.SyncTimeout)
	u := d.unknown(<-done, ErrSlowDisk)
	d.armed.Store(false)
	close(d.release)
	if err := u.Wait(); err != nil {
		t.Error(err)
	}
	d.has(d.db, "first q=v", "second q=v")
}

// TestHangingSegment: a Commit waits for a new segment no longer than for any other room.
func TestHangingSegment(t *testing.T) {
	d := newSlowDisk(t, func(op vfs.Op) bool { return strings.HasSuffix(op.Name, manifest.FillSuffix) && op.Kind == vfs.OpSync })
	defer mustClose(t, d.db)
	d.armed.Store(true)
	done := make(chan error, 2)
	for range 2 {
		go func() {
			var b Batch
			r, c := set("row", "q", strings.Repeat("v", 2*int(d.db.opt.SegmentBytes)))
			b.Add(d.id, r, c)
			_, err := d.db.Commit(context.Background(), &b)
			done <- err
		}()
	}
	<-d.held
	for range cap(done) {
		for waiting := true; waiting; {
			select {
			case err := <-done:
				waiting = false
				if !errors.Is(err, ErrOverloaded) {
					t.Errorf("got %v, want ErrOverloaded", err)
				}
			default:
				d.pass(d.db.opt.StallTimeout)
			}
		}
	}
	d.armed.Store(false)
	close(d.release)
}

// TestContextEndsTheWaitForRoom: a cancelled context ends the wait of a Commit for a new segment.
// The Commit writes nothing.
func TestContextEndsTheWaitForRoom(t *testing.T) {
	d := newSlowDisk(t, func(op vfs.Op) bool { return strings.HasSuffix(op.Name, manifest.FillSuffix) && op.Kind == vfs.OpSync })
	defer mustClose(t, d.db)
	d.armed.Store(true)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		var b Batch
		r, c := set("row", "q", strings.Repeat("v", 2*int(d.db.opt.SegmentBytes)))
		b.Add(d.id, r, c)
		_, err := d.db.Commit(ctx, &b)
		done <- err
	}()
	<-d.held
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || errors.As(err, new(*UnknownError)) {
		t.Errorf("got %v, want the error of the context alone", err)
	}
	d.armed.Store(false)
	close(d.release)
	d.has(d.db)
}

// TestContextEndsTheWaitForAFlush: a cancelled context ends the wait for a flush, and not the
// flush.
func TestContextEndsTheWaitForAFlush(t *testing.T) {
	d := newSlowDisk(t, func(op vfs.Op) bool { return op.Kind == vfs.OpSync && strings.HasSuffix(op.Name, manifest.TableSuffix) })
	defer mustClose(t, d.db)
	mustPut(t, d.db, d.id, "row", "q", "v")
	for name, wait := range map[string]func(context.Context) error{
		"Flush":   d.db.Flush,
		"Compact": func(ctx context.Context) error { return d.db.Compact(ctx, d.id) },
	} {
		d.armed.Store(true)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- wait(ctx) }()
		eventually(d.db, func() bool { return len(d.db.frozen) > 0 })
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%s returned %v, want the error of the context", name, err)
		}
	}
	d.armed.Store(false)
	close(d.release)
	eventually(d.db, func() bool { return len(d.db.partitions[d.id].version.Levels[0]) > 0 })
	d.has(d.db, "row q=v")
}

// TestCloseOfAHangingDisk: Close returns, but the directory stays locked until the disk has
// finished.
func TestCloseOfAHangingDisk(t *testing.T) {
	d := newSlowDisk(t, logSync)
	d.armed.Store(true)
	_, done := d.begin(context.Background(), "row")
	<-d.held
	closed := make(chan error, 1)
	go func() { closed <- d.db.Close() }()
	eventually(d.db, func() bool { return d.db.closed })
	var err error
	for waiting := true; waiting; {
		select {
		case err = <-closed:
			waiting = false
		default:
			d.pass(d.db.opt.SyncTimeout)
		}
	}
	if !errors.Is(err, ErrSlowDisk) {
		t.Errorf("Close returned %v, want ErrSlowDisk", err)
	}
	d.unknown(<-done, ErrSlowDisk)
	var locked *vfs.LockedError
	if _, err := Open("store", testOptions(d.mem)); !errors.As(err, &locked) {
		t.Fatalf("Open returned %v, want a *vfs.LockedError", err)
	}
	d.armed.Store(false)
	close(d.release)
	db, err := Open("store", testOptions(d.mem))
	for errors.As(err, &locked) {
		db, err = Open("store", testOptions(d.mem))
	}
	if err != nil {
		t.Fatal(err)
	}
	d.has(db, "row q=v")
	mustClose(t, db)
}
