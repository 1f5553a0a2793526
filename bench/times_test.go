package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
)

// timeTables are tables that are written in time order, a millisecond between two versions. key says which row
// the i-th version is in.
var timeTables = []struct {
	name    string
	key     func(i int) []byte
	ordered bool // the time decides about the place, so that most blocks can be left out
}{
	{"rows", func(i int) []byte { return fmt.Appendf(nil, "sensor%02d/%010d", i%16, i) }, true},    // a row for each
	{"versions", func(i int) []byte { return fmt.Appendf(nil, "sensor%02d", i%10) }, true},         // of 10 rows
	{"scattered", func(i int) []byte { return fmt.Appendf(nil, "%016x", scatter(i)) }, false},      // rows in no order
	{"outlier", func(i int) []byte { return fmt.Appendf(nil, "sensor%02d/%010d", i%16, i) }, true}, // and a version of time 0
}

func scatter(i int) uint64 { return rand.New(rand.NewPCG(uint64(i), 1)).Uint64() }

const firstTime = 1_700_000_000_000_000

// BenchmarkTimes reads the last hundredth of the times of a table, beside a scan of everything. The range must
// leave out nine tenths of the blocks if time decides about the place of a version.
func BenchmarkTimes(b *testing.B) {
	n := 10 * rowCount(b)
	for _, table := range timeTables {
		s := openStore(b, scaled(generated(b, rowCount(b), 100)))
		batch := new(engine.Batch)
		for from := 0; from < n; from += 1000 {
			batch.Reset()
			for i := from; i < min(from+1000, n); i++ {
				c := cell.Cell{Column: []byte("m\x00value"), Time: firstTime + 1000*int64(i), Type: cell.I64, Value: make([]byte, 8)}
				c.Value[0], c.Value[1] = byte(scatter(i)), byte(scatter(i)>>8)
				if table.name == "outlier" && i == n/2 {
					c.Time = 0
				}
				batch.Add(s.id, table.key(i), &c)
			}
			_, err := s.db.Commit(context.Background(), batch)
			must(b, err)
		}
		last := cell.TimeRange{Start: firstTime + 1000*int64(n-n/100), End: math.MaxInt64}
		for _, state := range []struct {
			name    string
			prepare func()
		}{{"settled", func() { s.settle() }}, {"compacted", s.compact}} {
			state.prepare()
			var all, some float64
			b.Run(table.name+"/"+state.name+"/all", func(b *testing.B) { all = benchTimes(b, s, nil, n) })
			for _, reverse := range []bool{false, true} {
				name := table.name + "/" + state.name + "/hundredth"
				if reverse {
					name += "/reverse"
				}
				b.Run(name, func(b *testing.B) {
					some = benchTimes(b, s, &last, n/100, reverse)
					if all > 0 {
						b.ReportMetric(100*(1-some/all), "%skipped")
						if table.ordered && some > all/10 {
							b.Errorf("%.0f of %.0f blocks were read", some, all)
						}
					}
				})
			}
		}
	}
}

// benchTimes reads a range of times, nil for all, with this many versions. It returns the blocks that a scan used.
func benchTimes(b *testing.B, s *store, times *cell.TimeRange, versions int, reverse ...bool) (blocks float64) {
	var counts engine.ScanCounts
	var scanned cell.Scanned
	read := s.fs.read.Load()
	for b.Loop() {
		scan, err := s.db.Scan(s.id, engine.ScanOptions{Times: times, Counts: &counts, Reverse: len(reverse) > 0 && reverse[0]})
		must(b, err)
		found := 0
		for scan.NextRow() {
			for cells := scan.Cells(); len(cells) > 0; cells = scan.Cells() {
				for i := range cells {
					if times == nil || times.Contains(cells[i].Time) {
						found++
					}
				}
			}
		}
		must(b, scan.Err())
		if found != versions {
			b.Fatalf("%d versions, want %d", found, versions)
		}
		scanned.Add(scan.Scanned())
		scan.Close()
	}
	for i := range counts.Levels {
		blocks += float64(counts.Levels[i].BlocksRead+counts.Levels[i].BlocksCached) / float64(b.N)
	}
	b.ReportMetric(blocks, "blocks/op")
	b.ReportMetric(float64(s.fs.read.Load()-read)/float64(b.N), "B_read/op")
	bytesScanned(b, scanned)
	return blocks
}
