package storemetrics_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/metrics"
	"github.com/colonnade-db/colonnade/metrics/storemetrics"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// open returns a store in memory and its metrics.
func open(t *testing.T) (*lsmstore.Store, *metrics.Registry) {
	t.Helper()
	m := metrics.New()
	s, err := lsmstore.Open(lsmstore.Options{Dir: "store", Engine: engine.Options{
		FS: vfs.NewMem(), Clock: clock.System, ReserveBytes: -1, MemtableBytes: 1 << 20, LogSynced: storemetrics.LogSynced(m),
	}})
	if err != nil {
		t.Fatal(err)
	}
	storemetrics.Add(m, s, clock.System.Now)
	return s, m
}

func create(t *testing.T, s *lsmstore.Store, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := s.CreateTable(t.Context(), name, widecol.TableSpec{Families: []widecol.Family{{Name: "f"}}}); err != nil {
			t.Fatal(err)
		}
	}
}

// put writes a cell in each of n rows.
func put(ctx context.Context, s *lsmstore.Store, table string, n int) error {
	var list []widecol.Mutation
	for i := range n {
		list = append(list, widecol.Mutation{Row: fmt.Appendf(nil, "row%03d", i), Family: []byte("f"), Time: widecol.CommitTime, Type: cell.String, Value: []byte("value")})
	}
	_, err := s.Write(ctx, table, list, "")
	return err
}

// scrape returns all metrics by name.
func scrape(t *testing.T, m *metrics.Registry) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*dto.MetricFamily{}
	for _, f := range families {
		all[f.GetName()] = f
	}
	return all
}

// value returns the value with these label values, in the order of the names of the labels.
func value(t *testing.T, all map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	t.Helper()
	for _, m := range all[name].GetMetric() {
		var got []string
		for _, l := range m.GetLabel() {
			got = append(got, l.GetValue())
		}
		if strings.Join(got, ",") == strings.Join(labels, ",") {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	t.Errorf("there is no %s%v", name, labels)
	return 0
}

// TestCollector: metrics say what was done, no more and no less, and break no rule of Prometheus.
func TestCollector(t *testing.T) {
	s, m := open(t)
	defer s.Close()
	create(t, s, "a", "b")
	before := scrape(t, m)
	for range 3 {
		if err := put(t.Context(), s, "a", 100); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Engine().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := scrape(t, m)
	for _, e := range []struct {
		up     float64
		name   string
		labels []string
	}{
		{3, "colonnade_batches_total", nil},
		{3, "colonnade_log_sync_duration_seconds", nil},
		{3, "colonnade_log_group_batches", nil},
		{3, "colonnade_log_group_bytes", nil},
		{300, "colonnade_rows_written_total", nil},
		{300, "colonnade_entries_written_total", nil},
		{3, "colonnade_table_writes_total", []string{"a"}},
		{300, "colonnade_table_rows_written_total", []string{"a"}},
		{0, "colonnade_table_rows_written_total", []string{"b"}},
		{0, "colonnade_damage", nil},
		{0, "colonnade_store_refuses_writes", []string{"read_only"}},
		{0, "colonnade_tables", nil},
	} {
		if up := value(t, after, e.name, e.labels...) - value(t, before, e.name, e.labels...); up != e.up {
			t.Errorf("%s%v went up by %v, want %v", e.name, e.labels, up, e.up)
		}
	}
	if n := value(t, after, "colonnade_level_entries", "0"); n < 300 || value(t, after, "colonnade_flushes_total") == 0 {
		t.Errorf("%v entries in level 0 after a flush", n)
	}
	problems, err := testutil.GatherAndLint(m.Gatherer())
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
}

// TestManyTables: those without metrics of their own are shown together.
func TestManyTables(t *testing.T) {
	s, m := open(t)
	defer s.Close()
	for i := range 3 * storemetrics.MaxTables {
		create(t, s, fmt.Sprint("t", i))
		if err := put(t.Context(), s, fmt.Sprint("t", i), 1+i%3); err != nil {
			t.Fatal(err)
		}
	}
	all := scrape(t, m)
	rows := 0.0
	for _, n := range all["colonnade_table_rows_written_total"].GetMetric() {
		rows += n.GetCounter().GetValue()
	}
	if n := len(all["colonnade_table_rows_written_total"].GetMetric()); n != storemetrics.MaxTables+1 || rows != 2*3*storemetrics.MaxTables {
		t.Errorf("%d tables are shown, with %v rows, want %d with %d", n, rows, storemetrics.MaxTables+1, 2*3*storemetrics.MaxTables)
	}
	if n := value(t, all, "colonnade_tables"); n != 3*storemetrics.MaxTables {
		t.Errorf("%v tables, want %d", n, 3*storemetrics.MaxTables)
	}
}

// TestScrapesMeanwhile: scrapes while tables are written, read, created, dropped, and the store is closed.
func TestScrapesMeanwhile(t *testing.T) {
	s, m := open(t)
	create(t, s, "a")
	done := make(chan struct{})
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for {
				if _, err := m.Gatherer().Gather(); err != nil {
					t.Error(err)
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range 50 {
		if err := put(t.Context(), s, "a", 100); err != nil {
			t.Fatal(err)
		}
		create(t, s, fmt.Sprint("t", i))
		if i%10 == 9 {
			if err := s.DropTable(t.Context(), fmt.Sprint("t", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	close(done)
	all.Wait()
}

// TestScrapesLeaveNothing: the second scrape has what the first had, and no goroutine is left of either.
func TestScrapesLeaveNothing(t *testing.T) {
	s, m := open(t)
	defer s.Close()
	create(t, s, "a", "b")
	count := func() (n int) {
		for _, f := range scrape(t, m) {
			n += len(f.GetMetric())
		}
		return n
	}
	first, goroutines := count(), runtime.NumGoroutine()
	for range 100 {
		if n := count(); n != first {
			t.Fatalf("%d metrics after %d", n, first)
		}
	}
	for i := 0; runtime.NumGoroutine() > goroutines; i++ {
		if runtime.Gosched(); i > 1e7 {
			t.Fatalf("%d goroutines are left, %d were there", runtime.NumGoroutine(), goroutines)
		}
	}
}
