// Package bench measures the store through the exported calls of its packages, on one data set.
// One command repeats any figure. docs/performance.md lists the results.
//
// One file per subject:
//
//	log_test.go       durable batches: the log alone, and Commit over it
//	memtable_test.go  inserts into memtables
//	sstable_test.go   building and scanning a sorted file; its constants
//	read_test.go      rows, absent rows, short and full scans of a store
//	history_test.go   reads of tables that were overwritten, or deleted in part
//	groups_test.go    scans of a few columns, with and without locality groups
//	move_test.go      moves of families, and updates beside them
//	load_test.go      loading until nothing is left to compact, and reopening
//	recover_test.go   recovery of a long log
//
// Metrics mean the same everywhere:
//
//	cells/s           cells that the caller writes or gets, and cells that recovery brings back
//	bytes_scanned/op  bytes that one operation steps over, returned or not, in files, cache or
//	                  memtables: row keys, column keys, times and values, counted as in Stats
//	cells_scanned/op  the same in cells; cells_scanned/s likewise
//	B_read/op         bytes read from files, compressed, whole blocks
//	cpu-ns/op         CPU time of all threads, background work and garbage collection included;
//	                  steadier than wall time on a busy machine
//
// Two environment variables change the data. ROWS is the number of generated rows, 20000 by
// default. COLONNADE_WEBTABLE is the file with the real table.
package bench

import (
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/cell"
)

// rowCount is the number of generated rows.
func rowCount(b *testing.B) int {
	text := os.Getenv("ROWS")
	if text == "" {
		return 20_000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		b.Fatalf("ROWS is %q, want a number of rows", text)
	}
	return n
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// meter measures CPU time and allocations.
type meter struct {
	b   *testing.B
	cpu time.Duration
}

func startMeter(b *testing.B) meter {
	b.ReportAllocs()
	return meter{b, processTime(b)}
}

// stop must come right after the loop.
func (m meter) stop() {
	m.b.ReportMetric(float64((processTime(m.b)-m.cpu).Nanoseconds())/float64(m.b.N), "cpu-ns/op")
}

func processTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// perSecond reports n things as a rate.
func perSecond(b *testing.B, n int64, unit string) {
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), unit+"/s")
}

// bytesScanned reports the bytes that all operations of a benchmark stepped over.
func bytesScanned(b *testing.B, s cell.Scanned) {
	b.ReportMetric(float64(s.Bytes)/float64(b.N), "bytes_scanned/op")
}

// concurrently runs operations in several goroutines. start makes the operation of each.
//
// The goroutines share b.N: only one goroutine may call b.Loop, and one that handed out operations
// would use CPU time of the others and stop the clock before they are done. They take operations in
// portions, since a counter that each operation changes would be a good part of a fast one's cost. At
// the end they run out at about the same time.
func concurrently(b *testing.B, goroutines int, start func(goroutine int) (op func() error)) {
	if goroutines == 1 {
		alone(b, start(0))
		return
	}
	some := int64(max(1, min(64, b.N/goroutines/64)))
	var taken atomic.Int64
	var all sync.WaitGroup
	m := startMeter(b)
	b.ResetTimer()
	for g := range goroutines {
		op := start(g)
		all.Go(func() {
			for end := taken.Add(some); end-some < int64(b.N); end = taken.Add(some) {
				for range min(some, int64(b.N)-(end-some)) {
					if err := op(); err != nil {
						b.Error(err)
						return
					}
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	m.stop()
}

// alone runs operations in the goroutine of the benchmark.
func alone(b *testing.B, op func() error) {
	m := startMeter(b)
	for b.Loop() {
		if err := op(); err != nil {
			b.Fatal(err)
		}
	}
	m.stop()
}

// latencies are the durations of operations, one list for each goroutine.
type latencies [][]time.Duration

// timed makes op record its durations in list g.
func (l latencies) timed(g int, op func() error) func() error {
	return func() error {
		start := time.Now()
		err := op()
		l[g] = append(l[g], time.Since(start))
		return err
	}
}

// report reports the median and the 99th percentile.
func (l latencies) report(b *testing.B) {
	all := slices.Concat(l...)
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	for _, percent := range []int{50, 99} {
		d := all[(len(all)-1)*percent/100]
		b.ReportMetric(float64(d.Nanoseconds())/1e3, "p"+strconv.Itoa(percent)+"-µs")
	}
}
