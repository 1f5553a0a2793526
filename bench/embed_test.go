package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// BenchmarkEmbedded reads and writes through package colonnade, and through the store below it, in turns, so that a busy
// machine slows down both. x-longer is the median of how many times longer the package takes; ns/cell and ns/row are of
// the package. ROWS is the number of rows, with ten cells each.
func BenchmarkEmbedded(b *testing.B) {
	dir := filepath.ToSlash(b.TempDir())
	n := rowCount(b)
	writeEmbedded(b, dir, n)
	below, err := lsmstore.Open(lsmstore.Options{Dir: dir + "/below", Engine: engine.Options{FS: vfs.OS, Clock: clock.System}})
	must(b, err)
	b.Cleanup(func() { must(b, below.Close()) })
	db, err := colonnade.Open(dir+"/above", nil)
	must(b, err)
	b.Cleanup(func() { must(b, db.Close()) })
	table, ctx := db.Table("t"), context.Background()

	inTurns := func(name, unit string, of int, above, below func() int64) {
		b.Run(name, func(b *testing.B) {
			if got, want := above(), below(); got != want {
				b.Fatalf("the package returns %d, the store %d", got, want)
			}
			var longer []float64
			var sum time.Duration
			for b.Loop() {
				whole, _ := timeOf(b, func() { above() })
				part, _ := timeOf(b, func() { below() })
				longer = append(longer, whole.Seconds()/part.Seconds())
				sum += whole
			}
			slices.Sort(longer)
			b.ReportMetric(longer[len(longer)/2], "x-longer")
			b.ReportMetric(float64(sum.Nanoseconds())/float64(b.N)/float64(of), unit)
		})
	}
	inTurns("scan", "ns/cell", n*10,
		func() int64 { return embeddedScan(b, ctx, table, colonnade.Query{}) },
		func() int64 { q := widecol.NewQuery(); return storeScan(b, ctx, below, &q) })
	const reads = 1000
	inTurns("row", "ns/row", reads,
		func() (sum int64) {
			for i := range reads {
				sum += embeddedScan(b, ctx, table, colonnade.Query{Rows: colonnade.Keys(embeddedRow(i * 7 % n))})
			}
			return sum
		},
		func() (sum int64) {
			for i := range reads {
				q := widecol.NewQuery()
				q.SetKey([]byte(embeddedRow(i * 7 % n)))
				sum += storeScan(b, ctx, below, &q)
			}
			return sum
		})
}

func embeddedRow(i int) string { return fmt.Sprintf("sensor.%08d", i) }

// writeEmbedded writes the same table into two directories, through the package into both.
func writeEmbedded(b *testing.B, dir string, n int) {
	for _, name := range []string{"above", "below"} {
		db, err := colonnade.Open(dir+"/"+name, nil)
		must(b, err)
		ctx := context.Background()
		must(b, db.CreateTable(ctx, "t", colonnade.TableSpec{Families: []colonnade.Family{{Name: "m"}}}))
		const each = 5000
		for from := 0; from < n; from += each {
			var ms []colonnade.Mutation
			for i := from; i < min(from+each, n); i++ {
				for c := range 10 {
					ms = append(ms, colonnade.Set(embeddedRow(i), "m", fmt.Sprintf("field%d", c), colonnade.I64(int64(i+c))))
				}
			}
			_, err := db.Table("t").Write(ctx, ms...)
			must(b, err)
		}
		must(b, db.Close())
	}
}

func embeddedScan(b *testing.B, ctx context.Context, table *colonnade.Table, q colonnade.Query) (sum int64) {
	for row, err := range table.Scan(ctx, q) {
		if err != nil {
			b.Fatal(err)
		}
		for c, err := range row.Cells() {
			if err != nil {
				b.Fatal(err)
			}
			n, _ := c.Value().Int()
			sum += n
		}
	}
	return sum
}

func storeScan(b *testing.B, ctx context.Context, s widecol.Store, q *widecol.Query) (sum int64) {
	view, err := s.View(ctx, "t")
	must(b, err)
	defer view.Close()
	rows, err := view.Scan(ctx, q)
	must(b, err)
	defer rows.Close()
	for rows.Next() {
		cells := rows.Cells()
		for i := range cells {
			if c := &cells[i]; c.Type.Fits(c.Value) {
				sum += int64(binary.LittleEndian.Uint64(c.Value))
			}
		}
	}
	must(b, rows.Err())
	return sum
}
