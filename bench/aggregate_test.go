package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/server"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// BenchmarkAggregate counts one column of a table that has nothing else, and scans the same rows, both through
// the whole handler. ROWS is the number of rows.
func BenchmarkAggregate(b *testing.B) {
	n := rowCount(b)
	s := servedNumbers(b, n)
	for _, e := range []struct{ name, endpoint, body string }{
		{"scan", "scan", `{"column":{"key":"m:temperature"}}`},
		{"count", "count", `{"column":{"key":"m:temperature"}}`},
		{"aggregate=count", "aggregate", `{"column":{"key":"m:temperature"},"of":["count"]}`},
		{"aggregate=all", "aggregate", `{"column":{"key":"m:temperature"},"of":["count","sum","min","max","avg"]}`},
		{"aggregate=groups", "aggregate", `{"column":{"key":"m:temperature"},"of":["sum"],"group_by":{"row_prefix":10}}`},
		{"value/scan", "scan", `{"column":{"key":"m:temperature"},"cell":{"value":{"op":">=","type":"i64","value":500}}}`},
		{"value/aggregate=count", "aggregate", `{"column":{"key":"m:temperature"},"cell":{"value":{"op":">=","type":"i64","value":500}},"of":["count"]}`},
	} {
		b.Run(e.name, func(b *testing.B) {
			var answer int64
			m := startMeter(b)
			for b.Loop() {
				answer = ask(b, s, e.endpoint, e.body)
			}
			m.stop()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/cell")
			b.ReportMetric(float64(answer), "answer-B")
		})
	}
}

// BenchmarkCountBesideScan scans and counts in turns, so that a busy machine slows down both. It reports the medians of
// how many times faster a count is than the scan of the same rows, by the time and by the CPU time.
func BenchmarkCountBesideScan(b *testing.B) {
	s := servedNumbers(b, rowCount(b))
	for _, e := range []struct{ name, selection, endpoint, of string }{
		{"column/count", `{"column":{"key":"m:temperature"}`, "count", ""},
		{"column/aggregate", `{"column":{"key":"m:temperature"}`, "aggregate", `,"of":["count"]`},
		{"value/count", `{"column":{"key":"m:temperature"},"cell":{"value":{"op":">=","type":"i64","value":500}}`, "count", ""},
		{"value/aggregate", `{"column":{"key":"m:temperature"},"cell":{"value":{"op":">=","type":"i64","value":500}}`, "aggregate", `,"of":["count"]`},
	} {
		b.Run(e.name, func(b *testing.B) {
			var faster, cheaper []float64
			for b.Loop() {
				scan, scanCPU := timeOf(b, func() { ask(b, s, "scan", e.selection+"}") })
				count, countCPU := timeOf(b, func() { ask(b, s, e.endpoint, e.selection+e.of+"}") })
				faster = append(faster, scan.Seconds()/count.Seconds())
				cheaper = append(cheaper, scanCPU.Seconds()/countCPU.Seconds())
			}
			slices.Sort(faster)
			slices.Sort(cheaper)
			b.ReportMetric(faster[len(faster)/2], "x-faster")
			b.ReportMetric(cheaper[len(cheaper)/2], "x-less-CPU")
		})
	}
}

// timeOf returns the time that f takes, and the CPU time.
func timeOf(b *testing.B, f func()) (took, cpu time.Duration) {
	cpu, start := processTime(b), time.Now()
	f()
	return time.Since(start), processTime(b) - cpu
}

// ask sends a request to the handler and returns the size of the answer.
func ask(b *testing.B, s http.Handler, endpoint, body string) int64 {
	w := discard{header: make(http.Header)}
	s.ServeHTTP(&w, httptest.NewRequest("POST", "/v1/table/t/"+endpoint, strings.NewReader(body)))
	if w.status != http.StatusOK {
		b.Fatalf("status %d", w.status)
	}
	return w.bytes
}

// discard is a response of which only the size is kept.
type discard struct {
	header http.Header
	status int
	bytes  int64
}

func (w *discard) Header() http.Header         { return w.header }
func (w *discard) WriteHeader(status int)      { w.status = status }
func (w *discard) Write(p []byte) (int, error) { w.bytes += int64(len(p)); return len(p), nil }

// servedNumbers returns a server of a table with n rows of one i64, compacted.
func servedNumbers(b *testing.B, n int) http.Handler {
	store, err := lsmstore.Open(lsmstore.Options{Dir: filepath.ToSlash(b.TempDir()), Engine: engine.Options{FS: vfs.OS, Clock: clock.System}})
	must(b, err)
	b.Cleanup(func() { must(b, store.Close()) })
	ctx := context.Background()
	must(b, store.CreateTable(ctx, "t", widecol.TableSpec{Families: []widecol.Family{{Name: "m"}}}))
	const each = 5000
	for from := 0; from < n; from += each {
		var ms []widecol.Mutation
		for i := from; i < min(from+each, n); i++ {
			ms = append(ms, widecol.Mutation{
				Row: fmt.Appendf(nil, "sensor.%08d", i), Family: []byte("m"), Qualifier: []byte("temperature"),
				Time: widecol.CommitTime, Type: cell.I64, Value: binary.LittleEndian.AppendUint64(nil, uint64(i%1000)),
			})
		}
		_, err := store.Write(ctx, "t", ms, "")
		must(b, err)
	}
	must(b, store.Engine().Flush(ctx))
	for _, p := range store.Engine().Partitions() {
		must(b, store.Engine().Compact(ctx, p.ID))
	}
	return server.New(store, server.Options{Now: time.Now})
}
