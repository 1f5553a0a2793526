package lsmstore

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
)

// TestMoverCompacts: when a family has moved, the partition that it has left is compacted, so that reads of what
// stays there do not step over it.
func TestMoverCompacts(t *testing.T) {
	ctx := t.Context()
	s, err := Open(Options{Dir: "data", StepMoves: true, Engine: engine.Options{FS: vfs.NewMem(), Clock: clock.System, ReserveBytes: -1}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.CreateTable(ctx, "t", widecol.TableSpec{Families: []widecol.Family{{Name: "a"}, {Name: "b"}, {Name: "c"}}}); err != nil {
		t.Fatal(err)
	}
	var ms []widecol.Mutation
	for i := range 1000 {
		for _, family := range []string{"a", "b", "c"} {
			ms = append(ms, widecol.Mutation{Row: fmt.Appendf(nil, "row%04d", i), Family: []byte(family), Value: []byte("value"), Type: cell.String})
		}
	}
	if _, err := s.Write(ctx, "t", ms, ""); err != nil {
		t.Fatal(err)
	}
	data := s.tables["t"].data
	if err := s.db.Compact(ctx, data); err != nil {
		t.Fatal(err)
	}
	for _, family := range []string{"a", "b"} {
		if _, err := s.MoveFamily(ctx, "t", family, widecol.NewGroup); err != nil {
			t.Fatal(err)
		}
	}
	entries := func() uint64 {
		stats, err := s.db.Stats(data)
		if err != nil {
			t.Fatal(err)
		}
		return stats.Entries
	}
	if n := entries(); n != 3000 {
		t.Fatalf("before the moves there are %d entries in files, want 3000", n)
	}
	mover, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.runMover(mover)
	}()
	for began := time.Now(); entries() != 1000; runtime.Gosched() {
		if time.Since(began) > time.Minute {
			t.Errorf("after the moves there are %d entries in files, want the 1000 of c", entries())
			break
		}
	}
	cancel()
	<-ended
}
