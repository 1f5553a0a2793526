package lsmstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

var loadedSpec = widecol.TableSpec{
	Families: []widecol.Family{{Name: "f"}, {Name: "g", GC: widecol.GC{VersionLimit: 2}, Annotation: "note"}, {Name: "n", Merge: widecol.MergeSum}},
	Groups:   [][]string{{"g"}},
}

// loadedRows returns the mutations of rows from begin to end, each with a cell in every family.
func loadedRows(begin, end int) (list []widecol.Mutation) {
	for i := range end - begin {
		row := fmt.Appendf(nil, "row%03d", begin+i)
		list = append(list,
			widecol.Mutation{Row: row, Family: []byte("f"), Qualifier: []byte("q"), Time: 7, Type: cell.String, Value: row},
			widecol.Mutation{Row: row, Family: []byte("g"), Time: 8, Type: cell.Bytes, Value: []byte("x")},
			widecol.Mutation{Row: row, Family: []byte("n"), Time: 9, Type: cell.I64, Value: binary.LittleEndian.AppendUint64(nil, uint64(begin+i))})
	}
	return list
}

// namesOf returns the names of the tables.
func namesOf(t *testing.T, s *lsmstore.Store) (names []string) {
	t.Helper()
	list, err := s.Tables(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range list {
		names = append(names, table.Name)
	}
	return names
}

// TestLoadTable: while a table is filled it does not exist, but for its name, and holds nobody up; then it is there as a
// whole, takes writes, and outlives a restart.
func TestLoadTable(t *testing.T) {
	ctx := t.Context()
	fs := vfs.NewMem()
	s := openAt(t, fs)
	if err := makeTable(s); err != nil {
		t.Fatal(err)
	}
	settings := widecol.TableSettings{DefaultGC: widecol.GC{VersionLimit: 5}}
	err := s.LoadTable(ctx, "loaded", loadedSpec, settings, func(write func([]widecol.Mutation) error) error {
		for i := range 10 {
			if err := write(loadedRows(10*i, 10*i+10)); err != nil {
				return err
			}
		}
		if err := s.Engine().Flush(ctx); err != nil {
			return err
		}
		if got := namesOf(t, s); !slices.Equal(got, []string{"t"}) {
			t.Errorf("while it is filled, the tables are %q", got)
		}
		if _, err := s.View(ctx, "loaded"); widecol.KindOf(err) != widecol.NotFound {
			t.Errorf("a view: %v", err)
		}
		if _, err := s.Write(ctx, "loaded", loadedRows(0, 1)[:1], ""); widecol.KindOf(err) != widecol.NotFound {
			t.Errorf("a write: %v", err)
		}
		if err := s.DropTable(ctx, "loaded"); widecol.KindOf(err) != widecol.NotFound {
			t.Errorf("a drop: %v", err)
		}
		if err := s.CreateTable(ctx, "loaded", widecol.TableSpec{}); widecol.KindOf(err) != widecol.Exists {
			t.Errorf("a create: %v", err)
		}
		c, err := s.Checkpoint(ctx, nil)
		if err != nil || len(c.Tables) != 1 {
			t.Errorf("a checkpoint has the tables %v, %v", c.Tables, err)
		}
		s.Metrics()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		table, err := s.Table(ctx, "loaded")
		if err != nil || !slices.Equal(table.Families, loadedSpec.Families) || len(table.Groups) != 1 || !slices.Equal(table.Groups[0].Families, []string{"g"}) || table.Settings != settings {
			t.Errorf("%s: %+v, %v", when, table, err)
		}
		cells := cellsOf(t, s, "loaded")
		if len(cells) != 300 || !strings.HasSuffix(cells[0], `=row000@7`) || !strings.HasSuffix(cells[1], `=x@8`) {
			t.Errorf("%s: %d cells, the first %q", when, len(cells), cells[:min(len(cells), 3)])
		}
	}
	check("at once")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, fs)
	defer s.Close()
	check("after a restart")
	more := widecol.Mutation{Op: widecol.Merge, Row: []byte("row042"), Family: []byte("n"), Time: 9, Type: cell.I64, Value: binary.LittleEndian.AppendUint64(nil, 100)}
	if _, err := s.Write(ctx, "loaded", []widecol.Mutation{more}, ""); err != nil {
		t.Fatal(err)
	}
	if want := string(binary.LittleEndian.AppendUint64(nil, 142)); !slices.ContainsFunc(cellsOf(t, s, "loaded"), func(c string) bool {
		return strings.HasPrefix(c, "row042 ") && strings.HasSuffix(c, "="+want+"@9")
	}) {
		t.Error("a merge does not add to what was loaded")
	}
}

// TestLoadTableFails: what fails, or is cancelled, leaves nothing, and the name is free again.
func TestLoadTableFails(t *testing.T) {
	s := openAt(t, vfs.NewMem())
	defer s.Close()
	broken := errors.New("broken")
	cancelled, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		ctx  context.Context
		fill func(write func([]widecol.Mutation) error) error
		want func(error) bool
	}{
		"an error": {t.Context(), func(func([]widecol.Mutation) error) error { return broken }, func(err error) bool { return errors.Is(err, broken) }},
		"a cancel": {cancelled, func(func([]widecol.Mutation) error) error { cancel(); return nil }, func(err error) bool { return err != nil }},
		"a family": {t.Context(), func(write func([]widecol.Mutation) error) error {
			return write([]widecol.Mutation{{Row: []byte("r"), Family: []byte("none"), Type: cell.String}})
		}, func(err error) bool { return widecol.KindOf(err) == widecol.NotFound }},
		"a deletion": {t.Context(), func(write func([]widecol.Mutation) error) error {
			return write([]widecol.Mutation{{Op: widecol.DeleteFamily, Row: []byte("r"), Family: []byte("f")}})
		}, func(err error) bool { return widecol.KindOf(err) == widecol.Invalid }},
		"a number of another type": {t.Context(), func(write func([]widecol.Mutation) error) error {
			return write([]widecol.Mutation{{Row: []byte("r"), Family: []byte("n"), Type: cell.String}})
		}, func(err error) bool { return widecol.KindOf(err) == widecol.Invalid }},
	} {
		err := s.LoadTable(c.ctx, "loaded", loadedSpec, widecol.TableSettings{}, func(write func([]widecol.Mutation) error) error {
			if err := write(loadedRows(0, 5)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return c.fill(write)
		})
		if !c.want(err) {
			t.Errorf("%s: %v", name, err)
		}
		if got := s.Engine().Partitions(); len(got) > 0 {
			t.Errorf("%s leaves the partitions %v", name, got)
		}
	}
	if err := s.CreateTable(t.Context(), "loaded", loadedSpec); err != nil {
		t.Error(err)
	}
	if err := s.LoadTable(t.Context(), "loaded", loadedSpec, widecol.TableSettings{}, nil); widecol.KindOf(err) != widecol.Exists {
		t.Errorf("a table that is there: %v", err)
	}
	if got := cellsOf(t, s, "loaded"); len(got) > 0 {
		t.Errorf("the new table has %q", got)
	}
}

// TestLoadTableCrashes crashes a store at each operation of the load of a table. Every crash leaves the whole table, or
// neither table nor partition; once the load has returned, the table.
func TestLoadTableCrashes(t *testing.T) {
	fs := vfs.NewMem()
	s := openAt(t, fs)
	type taken struct {
		fs   *vfs.Mem
		at   string
		done bool // the load has returned
	}
	var images []taken
	seen, returned := map[uint64]bool{}, false
	take := func(at string) {
		for _, model := range []vfs.Model{vfs.KeepAll, vfs.DropAll} {
			image := fs.Crash(model, 0)
			if mark := image.Fingerprint(); !seen[mark] || returned {
				seen[mark] = true
				images = append(images, taken{image, fmt.Sprintf("%v %s", model, at), returned})
			}
		}
	}
	fs.SetHook(func(op vfs.Op, done bool) { take(fmt.Sprintf("of %v, done %t", op, done)) })
	err := s.LoadTable(t.Context(), "loaded", loadedSpec, widecol.TableSettings{}, func(write func([]widecol.Mutation) error) error {
		for i := range 3 {
			if err := write(loadedRows(2*i, 2*i+2)); err != nil {
				return err
			}
			if err := s.Engine().Flush(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	fs.SetHook(nil)
	if err != nil {
		t.Fatal(err)
	}
	returned = true
	take("at the end")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, none := 0, 0
	for _, image := range images {
		s := openAt(t, image.fs)
		switch names := namesOf(t, s); {
		case len(names) == 1 && len(cellsOf(t, s, "loaded")) == 18:
			whole++
		case len(names) == 0 && len(s.Engine().Partitions()) == 0 && !image.done:
			none++
		default:
			t.Errorf("%s leaves %q and %v", image.at, names, s.Engine().Partitions())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if whole < 2 || none < 20 {
		t.Errorf("%d crashes left the table, %d nothing", whole, none)
	}
}
