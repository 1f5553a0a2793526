package bench

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/bench/dataset"
	"github.com/colonnade-db/colonnade/engine"
)

// BenchmarkLoad writes a table into an empty store with four writers, in batches of 1,000 cells. Each
// batch is durable before its writer goes on. It ends when nothing is left to flush or compact.
//
// write_amp is all bytes written to files for each raw byte of the table, table_amp those of sorted
// files, fill_amp those that fill new log segments.
func BenchmarkLoad(b *testing.B) {
	data := generated(b, rowCount(b), 100)
	b.Run("order=sorted", func(b *testing.B) { benchLoad(b, data) })
	b.Run("order=random", func(b *testing.B) { benchLoad(b, shuffled(data, 1)) })
}

func benchLoad(b *testing.B, data *dataset.Table) {
	var took, cpu time.Duration
	var worst []time.Duration
	var total, tables, fills, size float64
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		s := openStore(b, scaled(data))
		b.StartTimer()
		start, used := time.Now(), processTime(b)
		commits := s.load(data)
		took += s.settle().Sub(start)
		cpu += processTime(b) - used
		b.StopTimer()
		worst = append(worst, slices.Max(slices.Concat(commits...)))
		total += float64(s.fs.written.Load())
		tables += float64(s.fs.tables.Load())
		fills += float64(s.fs.fills.Load())
		size += float64(s.tableBytes())
		s.remove()
		b.StartTimer()
	}
	n, raw := float64(b.N), float64(data.Raw())
	b.ReportMetric(float64(took.Nanoseconds())/n, "ns/op") // without the time it takes to see that all is quiet
	b.ReportMetric(float64(data.Cells())*n/took.Seconds(), "cells/s")
	b.ReportMetric(float64(cpu.Nanoseconds())/n/float64(data.Cells()), "cpu-ns/cell")
	b.ReportMetric(total/n/raw, "write_amp")
	b.ReportMetric(tables/n/raw, "table_amp")
	b.ReportMetric(fills/n/raw, "fill_amp")
	b.ReportMetric(size/n/float64(data.Cells()), "B/cell")
	slices.Sort(worst)
	b.ReportMetric(float64(worst[len(worst)/2].Nanoseconds())/1e6, "worst-commit-ms")
}

// tableBytes is the size of the sorted files.
func (s *store) tableBytes() int64 {
	stats, err := s.db.Stats(s.id)
	must(s.b, err)
	return stats.DiskBytes
}

// BenchmarkReopen opens a store and reads one row: after a close with the default options; after a
// kill with a twelfth of the table in the log only, 58 MB of 10 million cells; and after a kill with
// all of it there, more than the memtables may hold. cells/s counts the cells of the log, after a
// close those of the row.
func BenchmarkReopen(b *testing.B) {
	data := generated(b, rowCount(b), 100)
	b.Run("closed", func(b *testing.B) {
		s := loaded(b, data, engine.Options{})
		s.close()
		var all answer
		b.ReportAllocs()
		for b.Loop() {
			all.add(s.reopen(data.Key(0)))
			b.StopTimer()
			s.close()
			b.StartTimer()
		}
		all.report(b)
	})
	b.Run("killed", func(b *testing.B) {
		benchKilled(b, shuffled(data, 12), 1<<40)
	})
	b.Run("overfull", func(b *testing.B) {
		benchKilled(b, shuffled(data, 1), scaled(data).MemtableBytes)
	})
}

// benchKilled opens a store whose table is in the log only, with a budget for memtables.
func benchKilled(b *testing.B, data *dataset.Table, memtables int64) {
	opt := scaled(data)
	opt.MemtableBytes, opt.LogBytes = 1<<40, 1<<40
	s := openStore(b, opt)
	s.load(data)
	awaitQuiet(&s.fs.anyChange)
	var all answer
	var cpu time.Duration
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		killed := s.copy()
		killed.opt.MemtableBytes = memtables
		b.StartTimer()
		used := processTime(b)
		all.add(killed.reopen(data.Key(0)))
		cpu += processTime(b) - used
		b.StopTimer()
		killed.remove()
		b.StartTimer()
	}
	bytesScanned(b, all.scanned)
	cells := int64(b.N) * data.Cells()
	perSecond(b, cells, "cells")
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(cells), "cpu-ns/cell")
}

// reopen opens a store and reads a row.
func (s *store) reopen(key []byte) answer {
	s.open()
	r := reader{s: s}
	a, err := r.row(key)
	if err != nil || a.cells == 0 {
		s.b.Fatalf("row %q has %d cells: %v", key, a.cells, err)
	}
	return a
}

// copy returns an unopened store with the present files, which is what a kill of an idle store
// leaves.
func (s *store) copy() *store {
	c := &store{b: s.b, dir: filepath.ToSlash(s.b.TempDir()), opt: s.opt, fs: s.fs, id: s.id}
	must(s.b, os.CopyFS(c.dir, os.DirFS(s.dir)))
	return c
}
