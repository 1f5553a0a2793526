package lsmstore_test

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"colonnade/cell"
	"colonnade/clock"
	"colonnade/engine"
	"colonnade/vfs"
	"colonnade/widecol"
	"colonnade/widecol/lsmstore"
)

// TestSlowDisk: a write that has reached the log is not said to be undone when the
// time of its caller is up. A change of a table waits for its outcome, since what
// tables look like must not depend on whether somebody waited.
func TestSlowDisk(t *testing.T) {
	var armed atomic.Bool
	held, release := make(chan struct{}, 8), make(chan struct{})
	fs := vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault {
		if armed.Load() && op.Kind == vfs.OpSync && strings.HasPrefix(op.Name, "data/wal/") {
			held <- struct{}{}
			return vfs.Fault{Hold: release}
		}
		return vfs.Fault{}
	})
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
	if _, err := s.Write(over, "t", one("row", "f")); widecol.KindOf(err) != widecol.Overloaded {
		t.Errorf("a write that never began: got %v, want overloaded", err)
	}
	armed.Store(true)
	soon, cancel := context.WithCancel(ctx)
	written := make(chan error, 1)
	go func() {
		_, err := s.Write(soon, "t", one("row", "f"))
		written <- err
	}()
	<-held
	cancel()
	if err := <-written; widecol.KindOf(err) != widecol.Unknown {
		t.Errorf("Write: got %v, want outcome unknown", err)
	}
	before := s.Engine().LastSeq()
	gone, leave := context.WithCancel(ctx)
	changed := make(chan error, 1)
	go func() { changed <- s.CreateFamilies(gone, "t", []widecol.Family{{Name: "g"}}, false) }()
	for s.Engine().LastSeq() == before { // until it is in the log's queue
		runtime.Gosched()
	}
	leave()
	armed.Store(false)
	close(release)
	if err := <-changed; err != nil {
		t.Errorf("CreateFamilies: %v", err)
	}
	if _, err := s.Write(ctx, "t", one("row", "g")); err != nil {
		t.Errorf("write to the new family: %v", err)
	}
	if n, err := scan(s, "t"); n != 2 || err != nil {
		t.Errorf("got %d cells, %v, want both that were written", n, err)
	}
}

func one(row, family string) []widecol.Mutation {
	return []widecol.Mutation{{Row: []byte(row), Family: []byte(family), Qualifier: []byte("q"), Type: cell.String, Value: []byte("v"), Time: engine.CommitTime}}
}
