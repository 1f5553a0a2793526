package lsmstore_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

var bulkSpec = widecol.TableSpec{
	Families: []widecol.Family{{Name: "f"}, {Name: "g", GC: widecol.GC{VersionLimit: 2}}, {Name: "h"}, {Name: "n", Merge: widecol.MergeSum}},
	Groups:   [][]string{{"g"}},
}

func version(row, family, qualifier string, time int64, value string) widecol.Mutation {
	return widecol.Mutation{Row: []byte(row), Family: []byte(family), Qualifier: []byte(qualifier), Time: time, Type: cell.String, Value: []byte(value)}
}

// sortForLoad sorts mutations as a load wants them. Of equal ones the later one comes first.
func sortForLoad(list []widecol.Mutation) []widecol.Mutation {
	list = slices.Clone(list)
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b widecol.Mutation) int {
		return cmp.Or(bytes.Compare(a.Row, b.Row), bytes.Compare(a.Family, b.Family), bytes.Compare(a.Qualifier, b.Qualifier), cmp.Compare(b.Time, a.Time))
	})
	return list
}

// everything returns all that a view of a table shows.
func everything(t *testing.T, s widecol.Store, table string) (lines []string) {
	t.Helper()
	v, err := s.View(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	q := widecol.NewQuery()
	rows, err := v.Scan(t.Context(), &q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		for _, c := range rows.Cells() {
			lines = append(lines, fmt.Sprintf("%s %q %d %s", rows.Row(), c.Column, c.Time, c.Value))
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestBulkLoad: a load is seen whole or not at all, is one write in the order of writes, and counts as one.
func TestBulkLoad(t *testing.T) {
	ctx := t.Context()
	fs := vfs.NewMem()
	s := openAt(t, fs)
	if err := s.CreateTable(ctx, "b", bulkSpec); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(ctx, "b", []widecol.Mutation{version("a", "f", "q", 5, "before"), version("b", "g", "q", 5, "stays")}, ""); err != nil {
		t.Fatal(err)
	}
	l, err := s.NewLoad(ctx, "b")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Add([]widecol.Mutation{version("a", "f", "q", 5, "load"), version("a", "g", "q", 9, "9"), version("a", "g", "q", 8, "8")}); err != nil {
		t.Fatal(err)
	}
	if err := l.Add([]widecol.Mutation{version("a", "g", "q", 7, "7"), version("a", "h", "q", 1, "h"), version("c", "f", "q", 1, "c")}); err != nil {
		t.Fatal(err)
	}
	view, err := s.View(ctx, "b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Delete(ctx, "b", widecol.RowDeletion([]byte("c"), widecol.Filter{}), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	l.Abandon()
	q := widecol.NewQuery()
	if rows, err := view.Scan(ctx, &q); err != nil || !rows.Next() || len(rows.Cells()) != 1 || string(rows.Row()) != "a" {
		t.Errorf("a view from before: %v", err)
	} else {
		rows.Close()
	}
	view.Close()
	want := []string{`a "f\x00q" 5 load`, `a "g\x00q" 9 9`, `a "g\x00q" 8 8`, `a "h\x00q" 1 h`, `b "g\x00q" 5 stays`, `c "f\x00q" 1 c`}
	if got := everything(t, s, "b"); !slices.Equal(got, want) {
		t.Errorf("the table has %q, want %q", got, want)
	}
	for _, m := range s.Metrics().Tables {
		if m.Name == "b" && (m.Writes < 2 || m.RowsWritten < 4) {
			t.Errorf("counted are %+v", m)
		}
	}
	s.Close()
	s = openAt(t, fs)
	if got := everything(t, s, "b"); !slices.Equal(got, want) {
		t.Errorf("after a restart the table has %q, want %q", got, want)
	}
}

// TestBulkLoadRefuses: what is wrong is told with its place, and nothing of the load is there.
func TestBulkLoadRefuses(t *testing.T) {
	ctx := t.Context()
	s := openAt(t, vfs.NewMem())
	if err := s.CreateTable(ctx, "b", bulkSpec); err != nil {
		t.Fatal(err)
	}
	good := version("a", "f", "q", 5, "v")
	with := func(change func(*widecol.Mutation)) []widecol.Mutation {
		m := good
		change(&m)
		return []widecol.Mutation{good, m}
	}
	for code, list := range map[string][]widecol.Mutation{
		"unknown_column_family": with(func(m *widecol.Mutation) { m.Row, m.Family = []byte("b"), []byte("x") }),
		"unsorted_cells":        with(func(m *widecol.Mutation) { m.Row = []byte("A") }),
		"invalid_mutation":      with(func(m *widecol.Mutation) { m.Op = widecol.DeleteRow }),
		"invalid_time":          with(func(m *widecol.Mutation) { m.Row, m.Time = []byte("b"), -2 }),
		"invalid_value":         with(func(m *widecol.Mutation) { m.Row, m.Type = []byte("b"), cell.I64 }),
		"invalid_row_key":       with(func(m *widecol.Mutation) { m.Row = nil }),
		"merge_family":          with(func(m *widecol.Mutation) { m.Row, m.Family, m.Type = []byte("b"), []byte("n"), cell.String }),
	} {
		l, err := s.NewLoad(ctx, "b")
		if err != nil {
			t.Fatal(err)
		}
		err = l.Add(list)
		l.Abandon()
		e, ok := err.(*widecol.Error)
		if !ok || e.Index != 1 || code != "merge_family" && e.Code != code {
			t.Errorf("%s: got %#v", code, err)
		}
	}
	if _, err := s.NewLoad(ctx, "nope"); widecol.KindOf(err) != widecol.NotFound {
		t.Errorf("into no table: %v", err)
	}
	for _, name := range []string{"dropped family", "dropped table", "another table", "moved family"} {
		s := openAt(t, vfs.NewMem())
		if err := s.CreateTable(ctx, "b", bulkSpec); err != nil {
			t.Fatal(err)
		}
		l, err := s.NewLoad(ctx, "b")
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Add([]widecol.Mutation{good}); err != nil {
			t.Fatal(err)
		}
		if err := changeOf(s, name); err != nil {
			t.Fatal(name, err)
		}
		if _, err := l.Commit(ctx); err == nil {
			t.Errorf("%s: no error", name)
		}
		l.Abandon()
	}
}

// TestBulkLoadOfADroppedTable: a load whose table goes meanwhile fails as a write does, and is removed.
func TestBulkLoadOfADroppedTable(t *testing.T) {
	ctx := t.Context()
	s := openAt(t, vfs.NewMem())
	if err := s.CreateTable(ctx, "b", bulkSpec); err != nil {
		t.Fatal(err)
	}
	l, err := s.NewLoad(ctx, "b")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DropTable(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	if err := l.Add([]widecol.Mutation{version("a", "f", "q", 5, "v")}); widecol.KindOf(err) != widecol.NotFound {
		t.Errorf("got %v", err)
	}
	l.Abandon()
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.CreateTable(ctx, "b", bulkSpec); err != nil {
		t.Fatal(err)
	}
	if l, err = s.NewLoad(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	if err := l.Add([]widecol.Mutation{version("a", "f", "q", 5, "v")}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Commit(gone); err == nil {
		t.Error("a load whose client has gone is committed")
	}
	l.Abandon()
	if got := everything(t, s, "b"); len(got) > 0 {
		t.Errorf("there is %q", got)
	}
}

// changeOf makes the change of a name in a store.
func changeOf(s *lsmstore.Store, name string) error {
	ctx := context.Background()
	switch name {
	case "dropped family":
		return s.DropFamily(ctx, "b", "f")
	case "dropped table":
		return s.DropTable(ctx, "b")
	case "another table":
		if err := s.DropTable(ctx, "b"); err != nil {
			return err
		}
		return s.CreateTable(ctx, "b", bulkSpec)
	}
	_, err := s.MoveFamily(ctx, "b", "f", widecol.NewGroup)
	return err
}

// TestBulkLoadsAgainstMemstore writes the same mutations by loads and by Write of the specification, with deletions,
// compactions and restarts between.
func TestBulkLoadsAgainstMemstore(t *testing.T) {
	ctx := t.Context()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 7))
		fs := vfs.NewMem()
		s, m := openAt(t, fs), memstore.New(memstore.Options{MaxValue: 1 << 20})
		for _, store := range []widecol.Store{s, m} {
			if err := store.CreateTable(ctx, "b", bulkSpec); err != nil {
				t.Fatal(err)
			}
		}
		list := func() (list []widecol.Mutation) {
			for range 1 + r.IntN(40) {
				list = append(list, version(fmt.Sprintf("row%02d", r.IntN(20)), string("fgh"[r.IntN(3)]), fmt.Sprint(r.IntN(3)), int64(r.IntN(4)), fmt.Sprint(r.Uint32())))
			}
			return list
		}
		for step := range 60 {
			mutations := list()
			switch r.IntN(6) {
			case 0, 1, 2:
				l, err := s.NewLoad(ctx, "b")
				if err != nil {
					t.Fatal(err)
				}
				for chunk := range slices.Chunk(sortForLoad(mutations), 1+r.IntN(20)) {
					if err := l.Add(chunk); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := l.Commit(ctx); err != nil {
					t.Fatal(err)
				}
				if _, err := m.Write(ctx, "b", mutations, ""); err != nil {
					t.Fatal(err)
				}
			case 3:
				for _, store := range []widecol.Store{s, m} {
					if _, err := store.Write(ctx, "b", mutations, ""); err != nil {
						t.Fatal(err)
					}
				}
			case 4:
				row := []byte(fmt.Sprintf("row%02d", r.IntN(20)))
				for _, store := range []widecol.Store{s, m} {
					if _, err := store.Delete(ctx, "b", widecol.RowDeletion(row, widecol.Filter{}), ""); err != nil {
						t.Fatal(err)
					}
				}
			default:
				if r.IntN(2) == 0 {
					s.Close()
					s = openAt(t, fs)
					break
				}
				for _, p := range s.Engine().Partitions() {
					if err := s.Engine().Compact(ctx, p.ID); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got, want := everything(t, s, "b"), everything(t, m, "b"); !slices.Equal(got, want) {
				t.Fatalf("seed %d, step %d: got %q, want %q", seed, step, got, want)
			}
		}
	}
}
