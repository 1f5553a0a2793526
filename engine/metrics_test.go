package engine

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// TestMetrics: counts go up by what was done, and the rest says what there is.
func TestMetrics(t *testing.T) {
	var synced []LogSync
	opt := testOptions(vfs.NewMem())
	opt.LogSynced = func(s LogSync) { synced = append(synced, s) }
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	id := mustCreate(t, db, "a")[0]
	for i := range 100 {
		mustPut(t, db, id, fmt.Sprintf("row%02d", i), "q", "v")
	}
	m := db.Metrics()
	if m.Batches != 100 || m.BatchBytes < 100*20 || m.MemtablesGrowing != 1 || m.MemtableBytes == 0 || m.LogSegments == 0 || m.LogBytes == 0 || m.LogFilled == 0 {
		t.Errorf("after 100 batches: got %+v", m)
	}
	if p := m.Partitions; len(p) != 1 || p[0].ID != id || p[0].Entries != 100 || p[0].MemtableBytes == 0 || p[0].DiskBytes != 0 {
		t.Errorf("after 100 batches: got partitions %+v", p)
	}
	mustFlush(t, db)
	m = db.Metrics()
	l := m.Levels[0]
	if m.Flushes.Count != 1 || m.Flushes.WroteBytes != l.Bytes || l.Files != 1 || l.Entries != 100 || l.RawBytes == 0 || m.MemtablesGrowing+m.MemtablesFrozen != 0 || m.Partitions[0].DiskBytes != l.Bytes {
		t.Errorf("after a flush: got %+v", m)
	}
	mustPut(t, db, id, "row00", "q", "w")
	mustFlush(t, db)
	if err := db.Compact(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	m = db.Metrics()
	if last := m.Levels[manifest.LastLevel]; m.Merges.Count == 0 || m.Merges.ReadBytes < m.Flushes.WroteBytes || m.Merges.WroteBytes < last.Bytes || last.Entries != 101 {
		t.Errorf("after a compaction: got %+v", m)
	}
	mustClose(t, db)
	batches, bytes := 0, int64(0)
	for _, s := range synced {
		batches, bytes = batches+s.Batches, bytes+s.Bytes
	}
	if batches != 101 || bytes < int64(m.BatchBytes) {
		t.Errorf("syncs of %d batches and %d bytes are reported, want 101 and at least %d", batches, bytes, m.BatchBytes)
	}
	if after := db.Metrics(); after.Batches != 101 {
		t.Errorf("after Close: %d batches", after.Batches)
	}
}

// TestMetricsOfReads: a block is a miss once and then a hit, also where a query counts for itself, and each answer of
// a Bloom filter is counted as what it was.
func TestMetricsOfReads(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	for i := range 1000 {
		mustPut(t, db, id, fmt.Sprintf("row%04d", 2*i), "q", "v")
	}
	mustFlush(t, db)
	if err := db.Compact(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	look := func(row string, counts *ScanCounts) (found bool) {
		s, err := db.Scan(id, ScanOptions{Start: []byte(row), End: append([]byte(row), 0), FillCache: true, Counts: counts})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return s.NextRow()
	}
	for i, counts := range []*ScanCounts{nil, nil, new(ScanCounts)} {
		if !look("row0000", counts) {
			t.Fatal("a row is missing")
		}
		if m := db.Metrics().Reads; m.CacheMisses != 1 || m.CacheHits != uint64(i) || m.ReadBytes == 0 || m.BloomYes != uint64(i+1) || m.BloomNo+m.BloomWrong != 0 {
			t.Errorf("after read %d: got %+v", i, m)
		}
	}
	for i := range 999 {
		if look(fmt.Sprintf("row%04d", 2*i+1), nil) {
			t.Fatal("a row is there")
		}
	}
	m := db.Metrics().Reads
	if m.BloomWrong == 0 || m.BloomWrong > 100 || m.BloomYes != 3+m.BloomWrong || m.BloomNo+m.BloomWrong != 999 {
		t.Errorf("after 3 rows that are there and 999 that are not: got %+v", m)
	}
}

// TestMetricsOfStalls: a wait is counted with its reason and its time.
func TestMetricsOfStalls(t *testing.T) {
	manual := clock.NewManual(1)
	db := &DB{opt: Options{Clock: manual}}
	db.background.init(&db.mu)
	over := db.countStall(StallLog)
	manual.Advance(3 * time.Second)
	over()
	manual.Advance(-time.Hour)
	over()
	m := db.stalls[StallLog].load()
	if m.Count != 2 || m.Time != 3*time.Second {
		t.Errorf("got %+v, want a wait of 3 s and one of none", m)
	}
	names := map[string]bool{}
	for r := range StallReasons {
		names[StallReason(r).String()] = true
	}
	if len(names) != StallReasons || names[""] {
		t.Errorf("reasons are called %v", names)
	}
}

// TestMetricsOfSlowdown: the write rate limit is that of the partition with most files in level 0, and what fills level 0
// is debt.
func TestMetricsOfSlowdown(t *testing.T) {
	db := mustOpenIdle(t, vfs.NewMem())
	defer mustClose(t, db)
	if m := db.Metrics(); m.WriteRateLimit != 0 || m.SlowedPartitions != 0 || m.CompactionDebt != 0 {
		t.Errorf("an empty store: got %+v", m)
	}
	fillLevel0(t, db, slowdownFiles, "a")
	fillLevel0(t, db, stopFiles, "b")
	m := db.Metrics()
	if m.SlowedPartitions != 2 || m.StoppedPartitions != 1 || m.WriteRateLimit != writeRate(stopFiles-1) || m.CompactionDebt != m.Levels[0].Bytes {
		t.Errorf("got %d slowed down, %d stopped, %d bytes/s, a debt of %d of %d bytes", m.SlowedPartitions, m.StoppedPartitions, m.WriteRateLimit, m.CompactionDebt, m.Levels[0].Bytes)
	}
}

// TestMetricsMeanwhile: they can be asked for while the store works and is closed.
func TestMetricsMeanwhile(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	ids := mustCreate(t, db, "a", "b")
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		last := uint64(0)
		for {
			m := db.Metrics()
			if m.Batches < last || len(m.Partitions) != 2 {
				t.Errorf("%d batches after %d, %d partitions", m.Batches, last, len(m.Partitions))
			}
			last = m.Batches
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for i := range 200 {
		mustPut(t, db, ids[i%2], fmt.Sprint(i), "q", "v")
		if i%50 == 49 {
			mustFlush(t, db)
		}
	}
	mustClose(t, db)
	close(done)
	all.Wait()
}
