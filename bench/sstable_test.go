package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/colonnade-db/colonnade/bench/dataset"
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/sstable"
	"github.com/colonnade-db/colonnade/sstable/blockcache"
)

var compressions = []sstable.Compression{sstable.None, sstable.S2, sstable.Zstd}

// language is the column that scans of one column read: two bytes a row.
var language = cell.NewColumns(cell.FamilyRange([]byte("language")))

// build writes a table as one sorted file, one batch a row.
func build(b *testing.B, data *dataset.Table, file *bytes.Buffer, o sstable.WriterOptions) sstable.Info {
	w := sstable.NewWriter(file, o)
	var row []cell.Cell
	for i := range data.Len() {
		key, cells := data.Row(i, row[:0])
		row = cells
		for k := range cells {
			cells[k].Seq = uint64(i)
		}
		if err := w.Add(key, cells); err != nil {
			b.Fatal(err)
		}
	}
	info, err := w.Finish()
	must(b, err)
	return info
}

// built returns an open file that holds the table.
func built(b *testing.B, data *dataset.Table, o sstable.WriterOptions, cache sstable.Cache) (*sstable.Reader, sstable.Info) {
	var file bytes.Buffer
	o.ID.Number = 1
	info := build(b, data, &file, o)
	r, err := sstable.Open(bytes.NewReader(file.Bytes()), int64(file.Len()), o.ID, cache)
	must(b, err)
	return r, info
}

// BenchmarkBuild writes a sorted file into memory: of all cells, and of one short cell per row.
func BenchmarkBuild(b *testing.B) {
	data := generated(b, rowCount(b), 100)
	for _, c := range compressions {
		b.Run(c.String(), func(b *testing.B) { benchBuild(b, data, c) })
	}
	b.Run("narrow", func(b *testing.B) { benchBuild(b, narrow(data), sstable.S2) })
}

func benchBuild(b *testing.B, data *dataset.Table, c sstable.Compression) {
	var file bytes.Buffer
	var info sstable.Info
	m := startMeter(b)
	for b.Loop() {
		file.Reset()
		info = build(b, data, &file, sstable.WriterOptions{Compression: c})
	}
	m.stop()
	perSecond(b, data.Cells()*int64(b.N), "cells")
	b.ReportMetric(float64(info.Size)/float64(data.Cells()), "B/cell")
}

// narrow is a table with the language column only.
func narrow(data *dataset.Table) *dataset.Table {
	in := new(dataset.Table)
	var row []cell.Cell
	for i := range data.Len() {
		key, cells := data.Row(i, row[:0])
		row = cells
		in.Add(key, slices.DeleteFunc(cells, func(c cell.Cell) bool { return !language.Wants(c.Column) }))
	}
	return in
}

// BenchmarkScanFile scans a sorted file in memory, all of it and one column, decompressing every block
// or from a cache of decoded blocks.
func BenchmarkScanFile(b *testing.B) {
	data := generated(b, rowCount(b), 100)
	for _, columns := range []struct {
		name string
		set  *cell.Columns
	}{{"all", nil}, {"one", language}} {
		o := sstable.ReadOptions{Columns: columns.set}
		for _, c := range compressions {
			b.Run(fmt.Sprintf("columns=%s/%v", columns.name, c), func(b *testing.B) {
				r, _ := built(b, data, sstable.WriterOptions{Compression: c}, nil)
				benchFileScan(b, r, o)
			})
		}
		b.Run(fmt.Sprintf("columns=%s/cached", columns.name), func(b *testing.B) {
			r, _ := built(b, data, sstable.WriterOptions{Compression: sstable.S2}, blockcache.New(1<<40))
			o.FillCache = true
			benchFileScan(b, r, o)
		})
	}
}

func benchFileScan(b *testing.B, r *sstable.Reader, o sstable.ReadOptions) {
	scanFile(b, r, o) // opens the index and, with FillCache, fills the cache
	var all answer
	m := startMeter(b)
	for b.Loop() {
		all.add(scanFile(b, r, o))
	}
	m.stop()
	all.report(b)
	perSecond(b, int64(all.scanned.Cells), "cells_scanned")
}

func scanFile(b *testing.B, r *sstable.Reader, o sstable.ReadOptions) (a answer) {
	it := r.NewIterator(o)
	defer it.Close()
	var run []cell.Cell
	for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
		a.rows++
		for run = it.Cells(run[:0]); len(run) > 0; run = it.Cells(run[:0]) {
			a.cells += len(run)
		}
	}
	must(b, it.Err())
	a.scanned = it.Scanned()
	return a
}

// BenchmarkBlockSize compares block sizes: the size of a file, the cost of a row that is in no cache,
// and of a scan.
func BenchmarkBlockSize(b *testing.B) {
	data := generated(b, rowCount(b), 100)
	for _, c := range compressions[1:] {
		for _, size := range []int{4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10} {
			o := sstable.WriterOptions{Compression: c, BlockSize: size}
			b.Run(fmt.Sprintf("%v/size=%d/row", c, size), func(b *testing.B) {
				r, info := built(b, data, o, nil)
				rnd := rand.New(rand.NewPCG(1, 0))
				var all answer
				m := startMeter(b)
				for b.Loop() {
					all.add(readFileRow(b, r, data.Key(rnd.IntN(data.Len()))))
				}
				m.stop()
				perSecond(b, int64(b.N), "rows")
				all.report(b)
				b.ReportMetric(float64(info.Size)/float64(data.Cells()), "B/cell")
			})
			b.Run(fmt.Sprintf("%v/size=%d/scan", c, size), func(b *testing.B) {
				r, _ := built(b, data, o, nil)
				benchFileScan(b, r, sstable.ReadOptions{})
			})
		}
	}
}

func readFileRow(b *testing.B, r *sstable.Reader, key []byte) answer {
	it := r.NewIterator(sstable.ReadOptions{})
	defer it.Close()
	var room [16]cell.Cell
	it.SeekRow(key)
	cells := it.Cells(room[:0])
	if len(cells) == 0 || !bytes.Equal(it.Row(), key) {
		b.Fatalf("row %q not found: %v", key, it.Err())
	}
	return answer{1, len(cells), it.Scanned()}
}

// BenchmarkFilterBits compares numbers of filter bits per row: the cost of asking for an absent row,
// and the rate of false positives.
func BenchmarkFilterBits(b *testing.B) {
	data := generated(b, rowCount(b), 100)
	absent := make([][]byte, data.Len())
	for at, i := range data.Shuffled(1) {
		absent[at] = absentKey(data, i)
	}
	for _, bits := range []int{6, 8, 10, 12, 16} {
		b.Run(fmt.Sprintf("bits=%d", bits), func(b *testing.B) {
			r, _ := built(b, data, sstable.WriterOptions{FilterBits: bits}, nil)
			f, err := r.Filter()
			must(b, err)
			wrong, asked := 0, 0
			m := startMeter(b)
			for b.Loop() {
				may := f.MayContain(sstable.HashRow(absent[asked%len(absent)]))
				if asked++; may {
					wrong++
				}
			}
			m.stop()
			b.ReportMetric(100*float64(wrong)/float64(asked), "%wrong")
		})
	}
}
