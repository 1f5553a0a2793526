package bench

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/bench/dataset"
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
)

// reader reads from a store as it is at each read.
type reader struct {
	s     *store
	start []byte
	end   []byte
}

// row reads one row.
func (r *reader) row(key []byte) (answer, error) {
	r.start = append(r.start[:0], key...)
	r.end = append(append(r.end[:0], key...), 0)
	return r.scan(engine.ScanOptions{Start: r.start, End: r.end, FillCache: true}, 1)
}

// scan reads up to a number of rows.
func (r *reader) scan(o engine.ScanOptions, limit int) (answer, error) {
	return r.each(o, limit, func(int) {})
}

// answer is the sum of what reads returned.
type answer struct {
	rows    int
	cells   int // returned
	scanned cell.Scanned
}

func (a *answer) add(o answer) {
	a.rows += o.rows
	a.cells += o.cells
	a.scanned.Add(o.scanned)
}

// report reports what all operations of a benchmark returned. Absent rows have no cells, hence no
// rate.
func (a *answer) report(b *testing.B) {
	if a.cells > 0 {
		perSecond(b, int64(a.cells), "cells")
	}
	bytesScanned(b, a.scanned)
}

// answers are the sums of one goroutine.
type answers [64]struct {
	answer
	_ [32]byte // a cache line each
}

func (l *answers) sum() (all answer) {
	for i := range l {
		all.add(l[i].answer)
	}
	return all
}

// each reads up to a number of rows, and calls a function with the number of cells of each.
func (r *reader) each(o engine.ScanOptions, limit int, row func(cells int)) (a answer, err error) {
	scan, err := r.s.db.Scan(r.s.id, o)
	if err != nil {
		return a, err
	}
	defer scan.Close()
	for a.rows < limit && scan.NextRow() {
		a.rows++
		n := 0
		for list := scan.Cells(); len(list) > 0; list = scan.Cells() {
			n += len(list)
		}
		a.cells += n
		row(n)
	}
	a.scanned = scan.Scanned()
	return a, scan.Err()
}

// loaded returns a settled store that holds the table, loaded in random order.
func loaded(b *testing.B, data *dataset.Table, opt engine.Options) *store {
	s := openStore(b, opt)
	s.load(shuffled(data, 1))
	s.settle()
	return s
}

// readers are the numbers of goroutines that read at once.
var readers = []int{1, 4}

// BenchmarkReadRow reads whole rows at random, with everything in the cache, and with a cache of an
// eleventh of the table, as 64 MiB are of 10 million cells.
func BenchmarkReadRow(b *testing.B) {
	data := generated(b, rowCount(b), 100)
	for _, cache := range []struct {
		name  string
		bytes int64
	}{{"all", 1 << 40}, {"eleventh", data.Raw() / 11}} {
		opt := scaled(data)
		opt.CacheBytes = cache.bytes
		s := loaded(b, data, opt)
		for _, n := range readers {
			b.Run(fmt.Sprintf("cache=%s/goroutines=%d", cache.name, n), func(b *testing.B) {
				benchRows(b, s, data, n, (*dataset.Table).Key, true)
			})
		}
	}
}

// BenchmarkReadAbsent asks for absent rows, next to existing ones. It steps over little: filters
// exclude most files.
func BenchmarkReadAbsent(b *testing.B) {
	data := generated(b, rowCount(b), 100)
	s := loaded(b, data, scaled(data))
	for _, n := range readers {
		b.Run(fmt.Sprintf("goroutines=%d", n), func(b *testing.B) {
			benchRows(b, s, data, n, absentKey, false)
		})
	}
}

// benchRows reads rows in random order; key makes the key to ask for.
func benchRows(b *testing.B, s *store, data *dataset.Table, goroutines int, key func(*dataset.Table, int) []byte, present bool) {
	keys := make([][]byte, data.Len())
	warm := reader{s: s}
	for at, i := range data.Shuffled(2) {
		keys[at] = key(data, i)
	}
	for range 2 { // the first reads trigger a compaction of level 0
		for _, k := range keys {
			if _, err := warm.row(k); err != nil {
				b.Fatal(err)
			}
		}
		s.settle()
	}
	var got answers
	read := s.fs.read.Load()
	concurrently(b, goroutines, func(g int) func() error {
		r, next := reader{s: s}, g*len(keys)/goroutines
		return func() error {
			k := keys[next%len(keys)]
			next++
			a, err := r.row(k)
			got[g].add(a)
			if err == nil && (a.cells > 0) != present {
				err = fmt.Errorf("row %q has %d cells", k, a.cells)
			}
			return err
		}
	})
	perSecond(b, int64(b.N), "rows")
	all := got.sum()
	all.report(b)
	b.ReportMetric(float64(s.fs.read.Load()-read)/float64(b.N), "B_read/op")
}

// BenchmarkScanRows reads 100 rows from a random place.
func BenchmarkScanRows(b *testing.B) {
	const rows = 100
	data := generated(b, rowCount(b), 100)
	s := loaded(b, data, scaled(data))
	starts := data.Shuffled(3)
	warm := reader{s: s}
	for range 2 { // the first reads trigger a compaction of level 0
		for from := 0; from < data.Len(); from += 10 {
			if _, err := warm.scan(engine.ScanOptions{Start: data.Key(from), FillCache: true}, rows); err != nil {
				b.Fatal(err)
			}
		}
		s.settle()
	}
	for _, n := range readers {
		b.Run(fmt.Sprintf("goroutines=%d", n), func(b *testing.B) {
			var got answers
			concurrently(b, n, func(g int) func() error {
				r, next := reader{s: s}, g*len(starts)/n
				return func() error {
					from := min(starts[next%len(starts)], max(data.Len()-rows, 0))
					next++
					a, err := r.scan(engine.ScanOptions{Start: data.Key(from), FillCache: true}, rows)
					got[g].add(a)
					if err == nil && a.rows != min(rows, data.Len()) {
						err = fmt.Errorf("%d rows from row %d on", a.rows, from)
					}
					return err
				}
			})
			perSecond(b, int64(b.N), "scans")
			all := got.sum()
			all.report(b)
		})
	}
}

// BenchmarkFullScan reads everything. First from the page cache without filling the block cache, as
// large scans do: as the load has left it, and compacted into the last level. Then filling the block
// cache of a store just opened, and at last from the block cache.
func BenchmarkFullScan(b *testing.B) {
	data := generated(b, rowCount(b), 100)
	s := loaded(b, data, scaled(data))
	all, one := engine.ScanOptions{}, engine.ScanOptions{Columns: language}
	b.Run("settled", func(b *testing.B) { benchFullScan(b, s, data, all) })
	b.Run("settled/columns=one", func(b *testing.B) { benchFullScan(b, s, data, one) })
	s.compact()
	b.Run("compacted", func(b *testing.B) { benchFullScan(b, s, data, all) })
	b.Run("compacted/columns=one", func(b *testing.B) { benchFullScan(b, s, data, one) })
	all.FillCache, one.FillCache = true, true
	b.Run("first", func(b *testing.B) { benchFirstScan(b, s, data, all) })
	b.Run("cached", func(b *testing.B) { benchFullScan(b, s, data, all) })
	b.Run("cached/columns=one", func(b *testing.B) { benchFullScan(b, s, data, one) })
}

// BenchmarkReverseScan reads everything from the last row to the first, in turns with the forward scan of the same
// store, so that a busy machine slows down both: in memtables, as the load has left it, compacted, and from the block
// cache. It reports the medians of its rate beside that of the forward scan, by the time and by the CPU time. The goal
// is 0.7.
func BenchmarkReverseScan(b *testing.B) {
	data := generated(b, rowCount(b), 100)
	both := func(name string, s *store, o engine.ScanOptions) {
		reverse := o
		reverse.Reverse = true
		b.Run(name, func(b *testing.B) {
			var rate, rateCPU []float64
			for b.Loop() {
				up, upCPU := timeOf(b, func() { scanAll(b, s, data, o) })
				down, downCPU := timeOf(b, func() { scanAll(b, s, data, reverse) })
				rate = append(rate, up.Seconds()/down.Seconds())
				rateCPU = append(rateCPU, upCPU.Seconds()/downCPU.Seconds())
			}
			slices.Sort(rate)
			slices.Sort(rateCPU)
			b.ReportMetric(rate[len(rate)/2], "of-forward")
			b.ReportMetric(rateCPU[len(rateCPU)/2], "of-forward-CPU")
		})
	}
	all, one := engine.ScanOptions{}, engine.ScanOptions{Columns: language}
	memory := scaled(data)
	memory.MemtableBytes, memory.LogBytes = 4<<30, 8<<30 // no flush
	s := openStore(b, memory)
	s.load(shuffled(data, 1))
	both("memtable", s, all)
	s = loaded(b, data, scaled(data))
	both("settled", s, all)
	s.compact()
	both("compacted", s, all)
	both("compacted/columns=one", s, one)
	all.FillCache, one.FillCache = true, true
	both("cached", s, all)
	both("cached/columns=one", s, one)
}

// scanAll reads all rows of the data.
func scanAll(b *testing.B, s *store, data *dataset.Table, o engine.ScanOptions) answer {
	r := reader{s: s}
	a, err := r.scan(o, data.Len()+1)
	must(b, err)
	if a.rows != data.Len() {
		b.Fatalf("%d rows, want %d", a.rows, data.Len())
	}
	return a
}

func benchFullScan(b *testing.B, s *store, data *dataset.Table, o engine.ScanOptions) {
	var all answer
	m := startMeter(b)
	for b.Loop() {
		all.add(scanAll(b, s, data, o))
	}
	m.stop()
	all.report(b)
	perSecond(b, int64(all.scanned.Cells), "cells_scanned")
}

// benchFirstScan opens the store for each scan. The time of the open does not count.
func benchFirstScan(b *testing.B, s *store, data *dataset.Table, o engine.ScanOptions) {
	r := reader{s: s}
	var all answer
	var cpu time.Duration
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		s.close()
		s.open()
		before := processTime(b)
		b.StartTimer()
		a, err := r.scan(o, data.Len()+1)
		cpu += processTime(b) - before
		must(b, err)
		if a.rows != data.Len() {
			b.Fatalf("%d rows, want %d", a.rows, data.Len())
		}
		all.add(a)
	}
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "cpu-ns/op")
	all.report(b)
}

// BenchmarkNarrowRows reads all rows of a table with one cell in each, with a filter for that cell, as
// a scan of a small family's locality group does. It shows the cost of a row beside that of its cells.
func BenchmarkNarrowRows(b *testing.B) {
	data := generated(b, rowCount(b), 100)
	s := openStore(b, scaled(data))
	s.loadColumns(shuffled(data, 1), language)
	s.compact()
	b.Run("compacted", func(b *testing.B) { benchFullScan(b, s, data, engine.ScanOptions{Columns: language}) })
	b.Run("cached", func(b *testing.B) { benchFullScan(b, s, data, engine.ScanOptions{Columns: language, FillCache: true}) })
}

// absentKey returns an absent key next to that of row i.
func absentKey(data *dataset.Table, i int) []byte {
	return append(bytes.Clone(data.Key(i)), '~')
}
