package lsmstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

func openAt(t *testing.T, fs vfs.FS) *lsmstore.Store {
	t.Helper()
	s, err := lsmstore.Open(lsmstore.Options{Dir: "data", Engine: engine.Options{
		FS: fs, Clock: clock.System, SegmentBytes: 64 << 10, ReserveBytes: -1,
	}})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return s
}

// flipIn flips a bit of the only file of a partition.
func flipIn(t *testing.T, fs *vfs.Mem, dir string) {
	t.Helper()
	name, data := flipped(t, fs, dir)
	if err := fs.Remove(name); err != nil {
		t.Fatal(err)
	}
	out, err := fs.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := out.Write(data); err != nil {
		t.Fatal(err)
	}
}

// flipUnder is flipIn under the handles that are open.
func flipUnder(t *testing.T, fs *vfs.Mem, dir string) {
	t.Helper()
	name, data := flipped(t, fs, dir)
	f, err := fs.Reuse(name, dir+"/aside")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := fs.Rename(dir+"/aside", name); err != nil {
		t.Fatal(err)
	}
}

// flipped returns the name of the only file of a partition, and what it has with a bit flipped.
func flipped(t *testing.T, fs *vfs.Mem, dir string) (name string, data []byte) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil || len(names) != 1 {
		t.Fatalf("%s holds %v, %v, want one file", dir, names, err)
	}
	name = dir + "/" + names[0]
	in, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	size, _ := in.Size()
	data = make([]byte, size)
	if _, err := in.ReadAt(data, 0); err != nil {
		t.Fatal(err)
	}
	in.Close()
	data[0] ^= 1
	return name, data
}

func scan(s *lsmstore.Store, table string) (cells int, err error) {
	ctx := context.Background()
	v, err := s.View(ctx, table)
	if err != nil {
		return 0, err
	}
	defer v.Close()
	q := widecol.NewQuery()
	rows, err := v.Scan(ctx, &q)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		cells += len(rows.Cells())
	}
	return cells, rows.Err()
}

// TestDamageStaysInItsTable damages the data of one table and the metadata of another. Both report
// it, a third table works, and no partition is dropped.
func TestDamageStaysInItsTable(t *testing.T) {
	ctx := context.Background()
	fs := vfs.NewMem()
	s := openAt(t, fs)
	for _, name := range []string{"data", "meta", "sound"} {
		spec := widecol.TableSpec{Families: []widecol.Family{{Name: "f"}, {Name: "g"}}, Groups: [][]string{{"g"}}}
		if err := s.CreateTable(ctx, name, spec); err != nil {
			t.Fatal(err)
		}
		write(t, s, name)
	}
	if err := s.Engine().Flush(ctx); err != nil {
		t.Fatal(err)
	}
	tables, err := s.Tables(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	flipIn(t, fs, tables[0].Partitions[1].Path) // _dat_data
	flipIn(t, fs, tables[1].Partitions[0].Path) // _man_meta

	s = openAt(t, fs)
	defer s.Close()
	for _, bad := range []struct{ table, partition string }{{"data", "_dat_data"}, {"meta", "_man_meta"}} {
		_, err := scan(s, bad.table)
		if widecol.KindOf(err) != widecol.Corrupt || !strings.Contains(err.Error(), bad.partition) {
			t.Errorf("scan of %s: got %v, want damage in %s", bad.table, err, bad.partition)
		}
	}
	if list := fmt.Sprint(s.Damage()); !strings.Contains(list, "_dat_data") || !strings.Contains(list, "_man_meta") || strings.Contains(list, "sound") {
		t.Errorf("Damage returned %s, want the two partitions", list)
	}
	write(t, s, "sound")
	if n, err := scan(s, "sound"); n != 4 || err != nil {
		t.Errorf("scan of the sound table: got %d cells, %v, want 4", n, err)
	}
	if after, want := len(s.Engine().Partitions()), 9; after != want {
		t.Errorf("got %d partitions, want all %d", after, want)
	}
	tables, err = s.Tables(ctx)
	if err != nil || len(tables) != 3 {
		t.Fatalf("got %d tables, %v, want 3", len(tables), err)
	}
	if tables[0].Partitions[1].Stats.Err == nil || tables[1].Partitions[0].Stats.Err == nil {
		t.Error("the list of tables does not say where the damage is")
	}
	if err := s.CreateTable(ctx, "meta", widecol.TableSpec{}); widecol.KindOf(err) != widecol.Exists {
		t.Errorf("creating the table with damaged metadata again: got %v, want that it exists", err)
	}
}

// TestDamageWithinRow: if one partition cannot read its part of a row, a query does not return the
// rest as a complete row, however low its limits on rows and cells.
func TestDamageWithinRow(t *testing.T) {
	ctx := context.Background()
	fs := vfs.NewMem()
	s := openAt(t, fs)
	spec := widecol.TableSpec{Families: []widecol.Family{{Name: "f"}, {Name: "g"}}, Groups: [][]string{{"g"}}}
	if err := s.CreateTable(ctx, "t", spec); err != nil {
		t.Fatal(err)
	}
	large := widecol.Mutation{Row: []byte("r"), Family: []byte("f"), Value: make([]byte, 4<<10), Type: cell.Bytes, Time: widecol.CommitTime}
	if _, err := s.Write(ctx, "t", []widecol.Mutation{large}, ""); err != nil {
		t.Fatal(err)
	}
	small := large
	small.Family, small.Value = []byte("g"), []byte("v")
	if _, err := s.Write(ctx, "t", []widecol.Mutation{small}, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Engine().Flush(ctx); err != nil {
		t.Fatal(err)
	}
	d, err := s.Table(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	flipIn(t, fs, d.Partitions[1].Path) // _dat_t: its first block is the large value

	s = openAt(t, fs)
	defer s.Close()
	for name, limit := range map[string]func(*widecol.Query){
		"no limit": func(*widecol.Query) {},
		"one row":  func(q *widecol.Query) { q.RowLimit = 1 },
		"one cell": func(q *widecol.Query) { q.CellLimit = 1 },
		"one cell of each row, one row": func(q *widecol.Query) {
			q.RowCellLimit, q.RowLimit = 1, 1
		},
	} {
		v, err := s.View(ctx, "t")
		if err != nil {
			t.Fatal(err)
		}
		q := widecol.NewQuery()
		limit(&q)
		rows, err := v.Scan(ctx, &q)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			t.Errorf("%s: got %d cells of row %q", name, len(rows.Cells()), rows.Row())
		}
		if widecol.KindOf(rows.Err()) != widecol.Corrupt {
			t.Errorf("%s: got %v, want damage", name, rows.Err())
		}
		rows.Close()
		v.Close()
	}
}

// TestValueWithoutItsType: a filter on values reports a value that it cannot compare, with or without values in
// the result. It neither selects it nor passes over it.
func TestValueWithoutItsType(t *testing.T) {
	s := openLong(t, engine.Options{})
	defer s.Close()
	ctx := t.Context()
	data := partitionOf(t, s, "_dat_t")
	var b engine.Batch
	for row, value := range map[string]string{"a": "01234567", "b": "short"} {
		c := cell.Cell{Column: cell.AppendColumn(nil, []byte("a"), []byte("q")), Value: []byte(value), Time: 1, Kind: cell.Set, Type: cell.I64}
		b.Add(data, []byte(row), &c)
	}
	if _, err := s.Engine().Commit(ctx, &b); err != nil {
		t.Fatal(err)
	}
	view, err := s.View(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	for _, op := range []widecol.Comparison{widecol.Equal, widecol.NotEqual, widecol.Less, widecol.GreaterOrEqual} {
		for _, keysOnly := range []bool{false, true} {
			q := widecol.NewQuery()
			q.Value, q.KeysOnly = &widecol.ValueFilter{Op: op, Type: cell.I64, Value: make([]byte, 8)}, keysOnly
			rows, err := view.Scan(ctx, &q)
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
				if string(rows.Row()) != "a" {
					t.Errorf("operator %d: got row %q", op, rows.Row())
				}
			}
			if widecol.KindOf(rows.Err()) != widecol.Corrupt {
				t.Errorf("operator %d, keys only %v: got %v, want damage", op, keysOnly, rows.Err())
			}
			rows.Close()
		}
	}
}

// partitionOf returns the id of a partition.
func partitionOf(t *testing.T, s *lsmstore.Store, name string) engine.PartitionID {
	t.Helper()
	for _, p := range s.Engine().Partitions() {
		if p.Name == name {
			return p.ID
		}
	}
	t.Fatalf("there is no partition %s", name)
	return 0
}

func write(t *testing.T, s *lsmstore.Store, table string) {
	t.Helper()
	var list []widecol.Mutation
	for _, family := range []string{"f", "g"} {
		list = append(list, widecol.Mutation{
			Row: []byte("r"), Family: []byte(family), Value: []byte("v"), Type: cell.String, Time: widecol.CommitTime,
		})
	}
	if _, err := s.Write(context.Background(), table, list, ""); err != nil {
		t.Fatal(err)
	}
}
