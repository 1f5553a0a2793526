package lsmstore_test

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// holding returns a file system that, once armed, holds syncs of the log until release is closed.
func holding() (fs vfs.FS, armed *atomic.Bool, release chan struct{}) {
	armed, release = new(atomic.Bool), make(chan struct{})
	return vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault {
		if armed.Load() && op.Kind == vfs.OpSync && strings.HasPrefix(op.Name, "data/wal/") {
			return vfs.Fault{Hold: release}
		}
		return vfs.Fault{}
	}), armed, release
}

// TestSlowDisk: a write that times out after it has reached the log is not reported as undone. A
// change of a table goes on when its caller has left: the tables must not depend on a caller's
// patience. Meanwhile reads see the old table, and other tables are unaffected.
func TestSlowDisk(t *testing.T) {
	fs, armed, release := holding()
	s, err := lsmstore.Open(lsmstore.Options{Dir: "data", Engine: engine.Options{
		FS: fs, Clock: clock.NewManual(1), SegmentBytes: 64 << 10, ReserveBytes: -1,
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	spec := widecol.TableSpec{Families: []widecol.Family{{Name: "f"}}}
	if err := s.CreateTable(ctx, "t", spec); err != nil {
		t.Fatal(err)
	}
	over, end := context.WithDeadline(ctx, time.Unix(0, 0))
	defer end()
	if _, err := s.Write(over, "t", one("row", "f"), ""); widecol.KindOf(err) != widecol.Overloaded {
		t.Errorf("a write that never began: got %v, want overloaded", err)
	}
	armed.Store(true)
	queued := func(before uint64) { // waits until the log's queue has a batch
		for s.Engine().LastSeq() == before {
			runtime.Gosched()
		}
	}
	before := s.Engine().LastSeq()
	soon, cancel := context.WithCancel(ctx)
	written := make(chan error, 1)
	go func() {
		_, err := s.Write(soon, "t", one("row", "f"), "")
		written <- err
	}()
	queued(before)
	cancel()
	if err := <-written; widecol.KindOf(err) != widecol.Unknown {
		t.Errorf("Write: got %v, want outcome unknown", err)
	}
	before = s.Engine().LastSeq()
	gone, leave := context.WithCancel(ctx)
	changed := make(chan error, 1)
	go func() { changed <- s.CreateFamilies(gone, "t", []widecol.Family{{Name: "g"}}, false) }()
	queued(before)
	leave()
	if err := <-changed; widecol.KindOf(err) != widecol.Unknown {
		t.Errorf("CreateFamilies: got %v, want outcome unknown", err)
	}
	for what, call := range map[string]func(context.Context) error{
		"Write": func(ctx context.Context) error {
			_, err := s.Write(ctx, "t", one("row", "f"), "")
			return err
		},
		"DeleteRow": func(ctx context.Context) error {
			_, err := s.Delete(ctx, "t", widecol.RowDeletion([]byte("row"), widecol.Filter{}), "")
			return err
		},
		"DropTable":   func(ctx context.Context) error { return s.DropTable(ctx, "t") },
		"CreateTable": func(ctx context.Context) error { return s.CreateTable(ctx, "t", spec) },
	} {
		short, end := context.WithTimeout(ctx, time.Millisecond)
		if err := call(short); err == nil || !strings.Contains(err.Error(), engine.ErrSlowDisk.Error()) {
			t.Errorf("%s behind the change: got %v, want %v", what, err, engine.ErrSlowDisk)
		}
		end()
	}
	if n, err := scan(s, "t"); n != 0 || err != nil {
		t.Errorf("got %d cells, %v, while the disk does not answer", n, err)
	}
	if tables, err := s.Tables(ctx); len(tables) != 1 || len(tables[0].Families) != 1 || err != nil {
		t.Errorf("tables while one is changed: %v, %v", tables, err)
	}
	armed.Store(false)
	close(release)
	if _, err := s.Write(ctx, "t", one("row", "g"), ""); err != nil { // waits for the change
		t.Errorf("write to the new family: %v", err)
	}
	if n, err := scan(s, "t"); n != 2 || err != nil {
		t.Errorf("got %d cells, %v, want both that were written", n, err)
	}
}

func one(row, family string) []widecol.Mutation {
	return []widecol.Mutation{{Row: []byte(row), Family: []byte(family), Qualifier: []byte("q"), Type: cell.String, Value: []byte("v"), Time: engine.CommitTime}}
}

// TestDeleteBehindALateOne: a deletion whose caller has left is still under way. The next deletion
// of the row does not count the same cells again.
func TestDeleteBehindALateOne(t *testing.T) {
	fs, armed, release := holding()
	s := openAt(t, fs)
	defer s.Close()
	if err := makeTable(s); err != nil {
		t.Fatal(err)
	}
	if _, err := send(t.Context(), s, "row", ""); err != nil {
		t.Fatal(err)
	}
	remove := func(ctx context.Context) (int64, error) {
		n, err := s.Delete(ctx, "t", widecol.RowDeletion([]byte("row"), widecol.Filter{}), "")
		return n.Cells, err
	}
	armed.Store(true)
	before := s.Engine().LastSeq()
	soon, leave := context.WithCancel(t.Context())
	removed := make(chan error, 1)
	go func() { removed <- errorOf(remove(soon)) }()
	for s.Engine().LastSeq() == before {
		runtime.Gosched()
	}
	leave()
	if err := <-removed; widecol.KindOf(err) != widecol.Unknown {
		t.Errorf("the one: got %v, want outcome unknown", err)
	}
	short, end := context.WithTimeout(t.Context(), time.Millisecond)
	defer end()
	if _, err := remove(short); widecol.KindOf(err) == widecol.Unknown || err == nil || s.Engine().LastSeq() != before+1 {
		t.Errorf("the next one: got %v and %d batches, want that it waits for the first", err, s.Engine().LastSeq()-before)
	}
	armed.Store(false)
	close(release)
	if n, err := remove(t.Context()); n != 0 || err != nil {
		t.Errorf("got %d versions deleted and %v, want none, as the first one has deleted them", n, err)
	}
}
