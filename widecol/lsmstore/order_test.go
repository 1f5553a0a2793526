package lsmstore_test

import (
	"encoding/binary"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// queries returns how many there were of table t.
func queries(t *testing.T, s *lsmstore.Store) (n int64) {
	t.Helper()
	advice, err := s.Advice(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range advice.Queries {
		n += q.Queries
	}
	return n
}

// TestReadsOfOrder: many timed deletions of a column read it once, and so do many Merges, however they lie.
func TestReadsOfOrder(t *testing.T) {
	s := openAt(t, vfs.NewMem())
	defer s.Close()
	spec := widecol.TableSpec{Families: []widecol.Family{{Name: "f", Merge: widecol.MergeSum}}}
	if err := s.CreateTable(t.Context(), "t", spec); err != nil {
		t.Fatal(err)
	}
	const n = 1000
	var deletions, merges []widecol.Mutation
	for i := range int64(n) {
		m := widecol.Mutation{Row: []byte("r"), Family: []byte("f"), Qualifier: []byte("q"), Op: widecol.Merge, Time: i}
		m.Type, m.Value = cell.I64, binary.LittleEndian.AppendUint64(nil, uint64(i))
		merges = append(merges, m)
		if i%2 == 1 {
			m.Op, m.End, m.Type, m.Value = widecol.DeleteColumn, i+1, 0, nil
			deletions = append(deletions, m)
		}
	}
	for _, list := range [][]widecol.Mutation{merges, merges, deletions} {
		before := queries(t, s)
		if _, err := s.Write(t.Context(), "t", list, ""); err != nil {
			t.Fatal(err)
		}
		if got := queries(t, s) - before; got != 1 {
			t.Errorf("%d mutations of one column made %d queries", len(list), got)
		}
	}
	view, err := s.View(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	q := widecol.NewQuery()
	rows, err := view.Scan(t.Context(), &q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	next := int64(n - 2)
	for rows.Next() {
		for _, c := range rows.Cells() {
			if sum := int64(binary.LittleEndian.Uint64(c.Value)); c.Time != next || sum != 2*c.Time {
				t.Fatalf("got the time %d with %d, want %d with its double", c.Time, sum, next)
			}
			next -= 2
		}
	}
	if err := rows.Err(); err != nil || next != -2 {
		t.Errorf("it ends before the time %d: %v", next, err)
	}
}

// TestReadsOfUpdate: rules whose columns have more than a batch can are refused before all is read.
func TestReadsOfUpdate(t *testing.T) {
	s := openAt(t, vfs.NewMem())
	defer s.Close()
	if err := makeTable(s); err != nil {
		t.Fatal(err)
	}
	const columns, most = 12, engine.MaxBatch/widecol.MaxValue + 1
	u := &widecol.ReadModifyWrite{Row: []byte("r")}
	for i := range byte(columns) {
		m := widecol.Mutation{Row: u.Row, Family: []byte("f"), Qualifier: []byte{i}, Type: cell.Bytes, Value: make([]byte, widecol.MaxValue-1)}
		if _, err := s.Write(t.Context(), "t", []widecol.Mutation{m}, ""); err != nil {
			t.Fatal(err)
		}
		u.Rules = append(u.Rules, widecol.Rule{Family: m.Family, Qualifier: m.Qualifier, Append: []byte("x"), Type: cell.Bytes})
	}
	before := queries(t, s)
	if _, _, err := s.ReadModifyWrite(t.Context(), "t", u, ""); widecol.KindOf(err) != widecol.TooLarge {
		t.Errorf("got %v", err)
	}
	if got := queries(t, s) - before; got > most {
		t.Errorf("%d of %d columns were read", got, columns)
	}
}
