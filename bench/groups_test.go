package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/colonnade-db/colonnade/bench/dataset"
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// layouts are ways to spread the families of a web table over partitions. The wide families have
// most of the bytes.
var layouts = []struct {
	name   string
	groups [][]string
}{
	{"together", nil},
	{"apart", [][]string{{"contents"}, {"anchor"}}},
}

// BenchmarkGroups scans the rows below one prefix, for all columns and for one family. The families
// lie in one partition, or the wide ones in locality groups of their own.
func BenchmarkGroups(b *testing.B) {
	b.Run("data=generated", func(b *testing.B) {
		benchGroups(b, generated(b, max(rowCount(b)/4, 1), 6000))
	})
	b.Run("data=real", func(b *testing.B) { benchGroups(b, realTable(b)) })
}

func benchGroups(b *testing.B, data *dataset.Table) {
	for _, layout := range layouts {
		s := openWeb(b, data, layout.groups)
		for _, families := range [][]string{nil, {"language"}, {"title"}, {"contents"}} {
			name := fmt.Sprintf("layout=%s/families=%s", layout.name, "all")
			if families != nil {
				name = fmt.Sprintf("layout=%s/families=%s", layout.name, families[0])
			}
			b.Run(name, func(b *testing.B) { benchPrefix(b, s, "com.", families) })
		}
	}
}

const webName = "web"

// web is a store with one table, set up as the service does.
type web struct {
	*lsmstore.Store
	fs *traffic
}

// openWeb makes a store that holds the table, each partition compacted into its last level.
func openWeb(b *testing.B, data *dataset.Table, groups [][]string) *web {
	s := &web{fs: &traffic{FS: vfs.OS}}
	store, err := lsmstore.Open(lsmstore.Options{
		Dir:    filepath.ToSlash(b.TempDir()),
		Engine: engine.Options{FS: s.fs, Clock: clock.System},
	})
	must(b, err)
	b.Cleanup(func() { store.Close() })
	s.Store = store
	spec := widecol.TableSpec{Groups: groups}
	for _, name := range []string{"anchor", "contents", "language", "meta", "title"} {
		spec.Families = append(spec.Families, widecol.Family{Name: name})
	}
	ctx := context.Background()
	must(b, store.CreateTable(ctx, webName, spec))
	for from := 0; from < data.Len(); from += loadRows {
		_, err := store.Write(ctx, webName, mutations(data, from, min(from+loadRows, data.Len())), "")
		must(b, err)
	}
	for _, p := range store.Engine().Partitions() {
		must(b, store.Engine().Compact(ctx, p.ID))
	}
	return s
}

// mutations writes a range of rows.
func mutations(data *dataset.Table, from, to int) []widecol.Mutation {
	var list []widecol.Mutation
	for i := from; i < to; i++ {
		key, cells := data.Row(i, nil)
		for _, c := range cells {
			family, qualifier := cell.SplitColumn(c.Column)
			list = append(list, widecol.Mutation{
				Row: key, Family: family, Qualifier: qualifier, Value: c.Value, Time: c.Time, Type: c.Type,
			})
		}
	}
	return list
}

func benchPrefix(b *testing.B, s *web, prefix string, families []string) {
	q := widecol.NewQuery()
	q.SetPrefix([]byte(prefix))
	if families != nil {
		filter, err := widecol.ColumnsFilter(families...)
		if err != nil {
			b.Fatal(err)
		}
		q.Filter = filter
	}
	var stats widecol.Stats
	var cells int64
	read := s.fs.read.Load()
	m := startMeter(b)
	for b.Loop() {
		var err error
		stats, err = s.scan(&q)
		must(b, err)
		cells += stats.Cells
	}
	m.stop()
	n := float64(b.N)
	b.ReportMetric(float64(s.fs.read.Load()-read)/n, "B_read/op")
	b.ReportMetric(float64(stats.BytesScanned), "bytes_scanned/op")
	b.ReportMetric(float64(stats.CellsScanned), "cells_scanned/op")
	b.ReportMetric(float64(stats.Partitions), "partitions/op")
	b.ReportMetric(float64(stats.Rows), "rows/op")
	perSecond(b, cells, "cells")
}

// scan runs a query to its end.
func (s *web) scan(q *widecol.Query) (widecol.Stats, error) {
	ctx := context.Background()
	view, err := s.View(ctx, webName)
	if err != nil {
		return widecol.Stats{}, err
	}
	defer view.Close()
	rows, err := view.Scan(ctx, q)
	if err != nil {
		return widecol.Stats{}, err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Stats(), rows.Err()
}
