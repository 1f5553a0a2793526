package lsmstore_test

import (
	"context"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// copyCheckpoint copies the files of a checkpoint to a file system of their own, as the store of openAt.
func copyCheckpoint(t *testing.T, s *lsmstore.Store, c widecol.Checkpoint) vfs.FS {
	t.Helper()
	to := vfs.NewMem()
	for _, f := range c.Files {
		in, err := s.OpenCheckpoint(c.ID, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, f.Size)
		if _, err := in.ReadAt(data, 0); err != nil {
			t.Fatal(err)
		}
		in.Close()
		name := path.Join("data", f.Name)
		to.MkdirAll(path.Dir(name))
		out, err := to.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(data)
		out.Close()
	}
	to.MkdirAll("data/partitions")
	return to
}

func cellsOf(t *testing.T, s *lsmstore.Store, table string) (all []string) {
	t.Helper()
	v, err := s.View(context.Background(), table)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	q := widecol.NewQuery()
	rows, err := v.Scan(context.Background(), &q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		for _, c := range rows.Cells() {
			all = append(all, fmt.Sprintf("%s %q=%s@%d", rows.Row(), c.Column, c.Value, c.Time))
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestCheckpoint: a checkpoint has the tables, families, groups, cells and idempotency keys of its moment, or of the
// tables asked for only these.
func TestCheckpoint(t *testing.T) {
	ctx := context.Background()
	s := openAt(t, vfs.NewMem())
	defer s.Close()
	for _, name := range []string{"a", "b", "gone"} {
		if err := s.CreateTable(ctx, name, widecol.TableSpec{
			Families: []widecol.Family{{Name: "f"}, {Name: "g", GC: widecol.GC{VersionLimit: 2}}}, Groups: [][]string{{"g"}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	write := func(table, row, value, key string) {
		t.Helper()
		var list []widecol.Mutation
		for _, family := range []string{"f", "g"} {
			list = append(list, widecol.Mutation{Op: widecol.Set, Row: []byte(row), Family: []byte(family), Type: cell.String, Value: []byte(value), Time: widecol.CommitTime})
		}
		if _, err := s.Write(ctx, table, list, key); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		write("a", fmt.Sprint("row", i), "old", "")
		write("b", fmt.Sprint("row", i), "old", "")
	}
	if err := s.Engine().Flush(ctx); err != nil {
		t.Fatal(err)
	}
	write("a", "row1", "new", "once")
	if err := s.DropTable(ctx, "gone"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.MoveFamily(ctx, "b", "f", widecol.NewGroup); err != nil {
		t.Fatal(err)
	}
	wantA, wantB := cellsOf(t, s, "a"), cellsOf(t, s, "b")
	whole, err := s.Checkpoint(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	part, err := s.Checkpoint(ctx, []string{"b", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Checkpoint(ctx, []string{"b", "gone"}); widecol.KindOf(err) != widecol.NotFound {
		t.Errorf("a checkpoint of a table that is gone: %v", err)
	}
	write("a", "row2", "later", "")
	if err := s.DropTable(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		made   widecol.Checkpoint
		tables string
	}{{whole, "a b"}, {part, "b"}} {
		var names []string
		for _, table := range c.made.Tables {
			names = append(names, table.Name)
			if len(table.Partitions) < 3 {
				t.Errorf("table %s has the partitions %v", table.Name, table.Partitions)
			}
		}
		if got := strings.Join(names, " "); got != c.tables {
			t.Errorf("the checkpoint has the tables %s, want %s", got, c.tables)
		}
		copied := openAt(t, copyCheckpoint(t, s, c.made))
		list, err := copied.Tables(ctx)
		if err != nil {
			t.Fatal(err)
		}
		names = nil
		for _, table := range list {
			names = append(names, table.Name)
		}
		if got := strings.Join(names, " "); got != c.tables {
			t.Errorf("the copy has the tables %s, want %s", got, c.tables)
		}
		if got := cellsOf(t, copied, "b"); fmt.Sprint(got) != fmt.Sprint(wantB) {
			t.Errorf("got %q in b, want %q", got, wantB)
		}
		if c.tables == "a b" {
			if got := cellsOf(t, copied, "a"); fmt.Sprint(got) != fmt.Sprint(wantA) {
				t.Errorf("got %q in a, want %q", got, wantA)
			}
			_, err := copied.Write(ctx, "a", []widecol.Mutation{{Op: widecol.Set, Row: []byte("x"), Family: []byte("f"), Type: cell.String, Time: widecol.CommitTime}}, "once")
			if widecol.KindOf(err) != widecol.KeyReused {
				t.Errorf("a key of before, for another request: %v", err)
			}
		}
		if err := copied.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.RemoveCheckpoint(whole.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.OpenCheckpoint(whole.ID, whole.Files[0].Name); err == nil {
		t.Error("a file of a removed checkpoint opens")
	}
}
