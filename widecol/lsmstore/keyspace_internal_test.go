package lsmstore

import (
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
)

// TestDroppedTableForgetsItsLoad: the memory of a dropped table is given back, though a view of it may still be open.
func TestDroppedTableForgetsItsLoad(t *testing.T) {
	s, err := Open(Options{Dir: "data", Engine: engine.Options{FS: vfs.NewMem(), Clock: clock.System, ReserveBytes: -1}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.CreateTable(t.Context(), "t", widecol.TableSpec{Families: []widecol.Family{{Name: "f"}}}); err != nil {
		t.Fatal(err)
	}
	set := widecol.Mutation{Row: []byte("r"), Family: []byte("f"), Time: widecol.CommitTime, Type: cell.String, Value: []byte("v")}
	if _, err := s.Write(t.Context(), "t", []widecol.Mutation{set}, ""); err != nil {
		t.Fatal(err)
	}
	load := s.tables["t"].load
	windows := func() int { return len(load.KeySpace(s.opt.Engine.Clock.Now(), widecol.AllTimes, nil).Windows) }
	if n := windows(); n != 1 {
		t.Errorf("%d windows after a write", n)
	}
	v, err := s.View(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DropTable(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	q := widecol.NewQuery()
	rows, err := v.Scan(t.Context(), &q)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
	}
	rows.Close()
	v.Close()
	if n := windows(); n != 0 {
		t.Errorf("%d windows after the drop", n)
	}
}
