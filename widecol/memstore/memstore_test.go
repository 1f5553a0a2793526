package memstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
	"github.com/colonnade-db/colonnade/widecol/storetest"
)

var ctx = context.Background()

func TestContract(t *testing.T) {
	storetest.Run(t, func(env *storetest.Env) (*storetest.Subject, error) {
		return &storetest.Subject{Store: memstore.New(memstore.Options{Now: env.Now, MaxValue: env.MaxValue})}, nil
	})
}

// newStore returns a Store with a table of one row of four versions.
func newStore(t *testing.T, gc widecol.GC) *memstore.Store {
	t.Helper()
	s := memstore.New(memstore.Options{})
	if err := s.CreateTable(ctx, "t", widecol.TableSpec{Families: []widecol.Family{{Name: "a", GC: gc}, {Name: "b"}}}); err != nil {
		t.Fatal(err)
	}
	for _, family := range []string{"a", "b"} {
		for time := range int64(2) {
			write(t, s, family, time, fmt.Sprint(family, time))
		}
	}
	return s
}

func write(t *testing.T, s *memstore.Store, family string, time int64, value string) int64 {
	t.Helper()
	m := widecol.Mutation{Row: []byte("row"), Family: []byte(family), Qualifier: []byte("x"), Value: []byte(value), Time: time, Type: cell.String}
	commit, err := s.Write(ctx, "t", []widecol.Mutation{m}, "")
	if err != nil {
		t.Fatal(err)
	}
	return commit
}

// values returns the values of a table, in order.
func values(t *testing.T, s *memstore.Store) (values []string) {
	t.Helper()
	view, err := s.View(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	q := widecol.NewQuery()
	rows, err := view.Scan(ctx, &q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		for _, c := range rows.Cells() {
			values = append(values, string(c.Value))
		}
	}
	return values
}

func TestZeroOptions(t *testing.T) {
	s := newStore(t, widecol.GC{})
	if got, want := write(t, s, "a", widecol.CommitTime, "v"), int64(5); got != want {
		t.Errorf("the fifth commit has the time %d, want %d", got, want)
	}
	for i, want := range []string{"1", "2"} {
		if err := s.CreateFamilies(ctx, "t", []widecol.Family{{Name: fmt.Sprint("g", i)}}, true); err != nil {
			t.Fatal(err)
		}
		if d, err := s.Table(ctx, "t"); err != nil || d.Groups[i].ID != want {
			t.Errorf("group %d: %+v, %v, want the id %s", i, d.Groups, err, want)
		}
	}
}

func TestChunksAreSmallAndSpoilt(t *testing.T) {
	s := newStore(t, widecol.GC{})
	view, err := s.View(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	q := widecol.NewQuery()
	rows, err := view.Scan(ctx, &q)
	if err != nil {
		t.Fatal(err)
	}
	if !rows.Next() || !rows.First() || len(rows.Cells()) != 3 {
		t.Fatalf("the first chunk has %d cells, first = %t, want 3, true", len(rows.Cells()), rows.First())
	}
	row, value, column := rows.Row(), rows.Cells()[0].Value, rows.Cells()[0].Column
	if !rows.Next() || rows.First() || len(rows.Cells()) != 1 {
		t.Fatalf("the second chunk has %d cells, first = %t, want 1, false", len(rows.Cells()), rows.First())
	}
	if string(row) == "row" || string(value) == "a1" || string(column) == "a\x00x" {
		t.Errorf("the first chunk is still there: row %q, column %q, value %q", row, column, value)
	}
	value = rows.Cells()[0].Value
	rows.Close()
	if string(value) == "b0" {
		t.Error("the second chunk is still there after Close")
	}
}

func TestOneRowsAtATime(t *testing.T) {
	s := newStore(t, widecol.GC{})
	view, err := s.View(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	q := widecol.NewQuery()
	rows, err := view.Scan(ctx, &q)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := view.Scan(ctx, &q); widecol.KindOf(err) != widecol.Internal || err == nil {
		t.Errorf("a second Scan: %v, want an error", err)
	}
	rows.Close()
	if _, err := view.Scan(ctx, &q); err != nil {
		t.Errorf("a Scan after Close: %v", err)
	}
}

func TestCloneIsApart(t *testing.T) {
	s := newStore(t, widecol.GC{})
	c := s.Clone()
	if got := write(t, c, "a", widecol.CommitTime, "clone"); got != 5 {
		t.Errorf("commit time of the clone is %d, want 5", got)
	}
	if err := s.DropFamily(ctx, "t", "a"); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(values(t, s)), "[b1 b0]"; got != want {
		t.Errorf("the store holds %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(values(t, c)), "[clone a1 a0 b1 b0]"; got != want {
		t.Errorf("the clone holds %s, want %s", got, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	values(t, c)
}

func TestPartitionsAreCounted(t *testing.T) {
	s := newStore(t, widecol.GC{VersionLimit: 1})
	if err := s.CreateFamilies(ctx, "t", []widecol.Family{{Name: "c"}}, true); err != nil {
		t.Fatal(err)
	}
	write(t, s, "c", 7, "value")
	d, err := s.Table(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, p := range d.Partitions {
		got += fmt.Sprintf("%s %s %d %d; ", p.Name, p.Path, p.Stats.Cells, p.Stats.MemtableBytes)
	}
	if want := "_man_t memory 0 0; _dat_t memory 4 64; _lg_1 memory 1 19; "; got != want {
		t.Errorf("partitions are %s, want %s", got, want)
	}
}
