package lsmstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// benchView returns a view of 20,000 rows of ten cells in files.
func benchView(b *testing.B) widecol.View {
	fs := vfs.NewMem()
	open := func() *lsmstore.Store {
		s, err := lsmstore.Open(lsmstore.Options{Dir: "data", Engine: engine.Options{FS: fs, Clock: clock.System, ReserveBytes: -1}})
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	s := open()
	if err := s.CreateTable(b.Context(), "t", widecol.TableSpec{Families: []widecol.Family{{Name: "a"}, {Name: "b"}}}); err != nil {
		b.Fatal(err)
	}
	for first := 0; first < 20_000; first += 1000 {
		var ms []widecol.Mutation
		for i := first; i < first+1000; i++ {
			for j := range 10 {
				ms = append(ms, widecol.Mutation{Row: fmt.Appendf(nil, "row%06d", i), Family: []byte{"ab"[j/5]}, Qualifier: fmt.Appendf(nil, "column%d", j),
					Time: int64(i), Value: fmt.Appendf(nil, "value %d", i*j), Type: cell.String})
			}
		}
		if _, err := s.Write(b.Context(), "t", ms, ""); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	s = open()
	view, err := s.View(b.Context(), "t")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { view.Close(); s.Close() })
	return view
}

// BenchmarkFilter scans 20,000 rows, and reads one, with filters that the store cannot push down.
func BenchmarkFilter(b *testing.B) {
	view := benchView(b)
	for _, bc := range filterBenchmarks {
		for _, one := range []bool{false, true} {
			name := bc.name + "/scan"
			if one {
				name = bc.name + "/row"
			}
			b.Run(name, func(b *testing.B) {
				q := widecol.NewQuery()
				bc.set(&q)
				if one {
					q.SetKey([]byte("row012345"))
				}
				b.ReportAllocs()
				for b.Loop() {
					rows, err := view.Scan(context.Background(), &q)
					if err != nil {
						b.Fatal(err)
					}
					for rows.Next() {
					}
					rows.Close()
				}
			})
		}
	}
}

var filterBenchmarks = []struct {
	name string
	set  func(q *widecol.Query)
}{
	{"none", func(q *widecol.Query) {}},
	{"offset", func(q *widecol.Query) { q.RowFilter = &widecol.RowFilter{Op: widecol.RowOffset, N: 1} }},
	{"value", func(q *widecol.Query) {
		q.RowFilter = &widecol.RowFilter{Op: widecol.ValueRegex, Pattern: []byte(`value \d+7`)}
	}},
	{"interleave", func(q *widecol.Query) {
		q.RowFilter = &widecol.RowFilter{Op: widecol.Interleave, Filters: []*widecol.RowFilter{
			{Op: widecol.QualifierRegex, Pattern: []byte(`.*[13]`)}, {Op: widecol.RowLimit, N: 2}}}
	}},
	{"condition", func(q *widecol.Query) {
		q.RowFilter = &widecol.RowFilter{Op: widecol.Condition, If: &widecol.RowFilter{Op: widecol.ColumnRange, Family: "b"}, Then: &widecol.RowFilter{Op: widecol.PassAll}}
	}},
}
