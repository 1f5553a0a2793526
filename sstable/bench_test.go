package sstable

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// The data of the benchmarks: rows of ten cells in two families, keys of about 48
// bytes, values of 2 to 120 bytes, one batch for each row.
const benchRows = 50_000

var benchWords = []string{"alpha", "table", "river", "stone", "cloud", "green", "paper", "seven", "light", "north",
	"music", "horse", "water", "bread", "glass", "sugar", "onion", "metal", "chair", "plant"}

func benchText(g generator, n int) []byte {
	var b []byte
	for len(b) < n {
		b = append(b, benchWords[g.IntN(len(benchWords))]...)
		b = append(b, " -0123456789abcdef"[g.IntN(18)])
	}
	return b[:n]
}

func benchRow(i int) []byte {
	return fmt.Appendf(nil, "com.%s%s/%s/%07d", benchWords[i/7919%20], benchWords[i/401%20], benchWords[i%20], i)
}

func benchEntries(rows int) (list []entry) {
	g := newGenerator(1)
	columns := []string{"crawl\x00country", "crawl\x00depth", "crawl\x00fetched_at", "crawl\x00language", "crawl\x00status",
		"page\x00contents", "page\x00description", "page\x00encoding", "page\x00size", "page\x00title"}
	for i := range rows {
		row := benchRow(i)
		time, seq := 1_700_000_000_000_000+g.Int64N(86_400_000_000), g.Uint64N(1<<20)
		for k, name := range columns {
			c := cell.Cell{Column: []byte(name), Time: time, Seq: seq, Type: cell.String}
			switch k {
			case 0, 3:
				c.Value = benchText(g, 2)
			case 1, 4, 8:
				c.Type, c.Value = cell.I64, binary.LittleEndian.AppendUint64(nil, g.Uint64N(5000))
			case 2:
				c.Type, c.Value = cell.I64, binary.LittleEndian.AppendUint64(nil, uint64(time))
			case 5, 6:
				c.Value = benchText(g, 20+g.IntN(100))
			default:
				c.Value = benchText(g, 5+g.IntN(30))
			}
			list = append(list, entry{row, c})
		}
	}
	return sortEntries(list)
}

var benchCells = sync.OnceValue(func() []entry { return benchEntries(benchRows) })

func reportCells(b *testing.B, cells int) {
	b.ReportMetric(float64(cells)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mcells/s")
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func BenchmarkWrite(b *testing.B) {
	for c := None; c <= Zstd; c++ {
		b.Run(c.String(), func(b *testing.B) {
			b.ReportAllocs()
			var size int64
			list := benchCells()
			rows := rowsOf(list, math.MaxInt)
			for b.Loop() {
				w := NewWriter(discard{}, WriterOptions{ID: testID, Compression: c})
				for i := range rows {
					if err := w.Add(rows[i].row, rows[i].cells); err != nil {
						b.Fatal(err)
					}
				}
				info, err := w.Finish()
				if err != nil {
					b.Fatal(err)
				}
				size = info.Size
			}
			reportCells(b, len(list))
			b.ReportMetric(float64(size)/float64(len(list)), "B/cell")
		})
	}
}

func scanAll(b *testing.B, it *Iterator) (cells int) {
	var run []cell.Cell
	for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
		for {
			run = it.Cells(run[:0])
			if len(run) == 0 {
				break
			}
			cells += len(run)
		}
	}
	if it.Err() != nil {
		b.Fatal(it.Err())
	}
	return cells
}

func benchScan(b *testing.B, list []entry, c Compression, cache Cache, o ReadOptions) {
	file, _ := build(b, list, WriterOptions{ID: testID, Compression: c})
	r := open(b, file, testID, cache)
	b.ReportAllocs()
	for b.Loop() {
		it := r.NewIterator(o)
		scanAll(b, it)
		it.Close()
	}
	reportCells(b, len(list))
}

func BenchmarkScan(b *testing.B) {
	for c := None; c <= Zstd; c++ {
		b.Run(c.String(), func(b *testing.B) { benchScan(b, benchCells(), c, nil, ReadOptions{}) })
	}
	b.Run("cached", func(b *testing.B) { benchScan(b, benchCells(), S2, new(testCache), ReadOptions{FillCache: true}) })
}

func BenchmarkScanColumn(b *testing.B) {
	columns := cell.NewColumns(cell.ColumnRange([]byte("crawl"), []byte("language")))
	for c := None; c <= Zstd; c++ {
		b.Run(c.String(), func(b *testing.B) { benchScan(b, benchCells(), c, nil, ReadOptions{Columns: columns}) })
	}
	b.Run("cached", func(b *testing.B) {
		benchScan(b, benchCells(), S2, new(testCache), ReadOptions{Columns: columns, FillCache: true})
	})
}

// Wide rows: a column of a few bytes and one of 4 to 8 KiB.
func BenchmarkScanColumnWide(b *testing.B) {
	g := newGenerator(2)
	var list []entry
	for i := range 5000 {
		row, time := benchRow(i), int64(1_700_000_000_000_000+i)
		contents := cell.Cell{Column: []byte("page\x00contents"), Value: benchText(g, 4096+g.IntN(4096)), Time: time, Type: cell.String}
		language := cell.Cell{Column: []byte("page\x00language"), Value: []byte("en"), Time: time, Type: cell.String}
		list = append(list, entry{row, contents}, entry{row, language})
	}
	list = sortEntries(list)
	columns := cell.NewColumns(cell.ColumnRange([]byte("page"), []byte("language")))
	b.Run("language", func(b *testing.B) { benchScan(b, list, S2, nil, ReadOptions{Columns: columns}) })
	b.Run("keys", func(b *testing.B) { benchScan(b, list, S2, nil, ReadOptions{KeysOnly: true}) })
	b.Run("all", func(b *testing.B) { benchScan(b, list, S2, nil, ReadOptions{}) })
}

func benchRead(b *testing.B, c Compression, cache Cache, fill bool) {
	list := benchCells()
	file, _ := build(b, list, WriterOptions{ID: testID, Compression: c})
	r := open(b, file, testID, cache)
	g := newGenerator(3)
	var cells []cell.Cell
	b.ReportAllocs()
	for b.Loop() {
		row := list[g.IntN(len(list))].row
		if ok, err := mayContain(r, row); !ok || err != nil {
			b.Fatal(ok, err)
		}
		it := r.NewIterator(ReadOptions{FillCache: fill})
		it.SeekRow(row)
		if !bytes.Equal(it.Row(), row) {
			b.Fatal("row not found")
		}
		if cells = it.Cells(cells[:0]); len(cells) != 10 {
			b.Fatal(len(cells))
		}
		it.Close()
	}
}

func BenchmarkReadRow(b *testing.B) {
	b.Run("cached", func(b *testing.B) { benchRead(b, S2, new(testCache), true) })
	for c := None; c <= Zstd; c++ {
		b.Run("uncached/"+c.String(), func(b *testing.B) { benchRead(b, c, nil, false) })
	}
}

func BenchmarkMayContain(b *testing.B) {
	file, _ := build(b, benchCells(), WriterOptions{ID: testID})
	r := open(b, file, testID, nil)
	present := 0
	var absent [][]byte
	for i := range 1 << 14 {
		absent = append(absent, append(benchRow(i), 'x'))
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		ok, err := mayContain(r, absent[i%len(absent)])
		if err != nil {
			b.Fatal(err)
		}
		if ok {
			present++
		}
		i++
	}
	b.ReportMetric(100*float64(present)/float64(i), "%false")
}

func BenchmarkOpen(b *testing.B) {
	file, _ := build(b, benchCells(), WriterOptions{ID: testID})
	b.ReportAllocs()
	for b.Loop() {
		open(b, file, testID, nil)
	}
}
