package memtable

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// The data set of the benchmarks: rows of ten cells with keys of about 48
// bytes and values of 2 to 120, in tables of half a million cells.
const (
	benchRows  = 50_000
	benchWidth = 10
)

type benchRow struct {
	key   []byte
	cells [benchWidth]cell.Cell
}

func benchData() []benchRow {
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]benchRow, benchRows)
	value := make([]byte, 120)
	for i := range rows {
		rows[i].key = fmt.Appendf(nil, "com.example%03d/pages/%08d", r.IntN(1000), r.IntN(1e8))
		for j := range rows[i].cells {
			rows[i].cells[j] = cell.Cell{
				Column: fmt.Appendf(nil, "family%d\x00qual%03d", j/4, j),
				Value:  value[:2+r.IntN(119)],
				Time:   1787062574000000,
				Seq:    uint64(i),
				Type:   cell.Bytes,
			}
		}
	}
	return rows
}

func sortRows(rows []benchRow) {
	slices.SortFunc(rows, func(a, b benchRow) int { return slices.Compare(a.key, b.key) })
}

func perCell(b *testing.B, cells int) {
	b.ReportMetric(float64(cells)/b.Elapsed().Seconds()/1e6, "Mcells/s")
}

// Batches of ten cells of a row. Each round through the data goes to a new table.
func BenchmarkInsert(b *testing.B) {
	random := benchData()
	sorted := slices.Clone(random)
	sortRows(sorted)
	type step func(in *Inserter, t *Table, row *benchRow)
	batch := func(in *Inserter, t *Table, row *benchRow) {
		for j := range row.cells {
			in.Add(t, row.key, &row.cells[j])
		}
	}
	single := func(_ *Inserter, t *Table, row *benchRow) {
		for j := range row.cells {
			t.Add(row.key, &row.cells[j])
		}
	}
	for _, c := range []struct {
		name string
		rows []benchRow
		step step
	}{
		{"rows=sorted", sorted, batch},
		{"rows=random", random, batch},
		{"rows=random/without-inserter", random, single},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var in Inserter
			n, t := 0, New()
			for b.Loop() {
				c.step(&in, t, &c.rows[n%len(c.rows)])
				if n++; n%len(c.rows) == 0 {
					t = New()
				}
			}
			perCell(b, n*benchWidth)
		})
		b.Run(c.name+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			var next atomic.Int64
			var current atomic.Pointer[Table]
			current.Store(New())
			b.RunParallel(func(pb *testing.PB) {
				var in Inserter
				for pb.Next() {
					n := int(next.Add(1)) % len(c.rows)
					if n == 0 {
						current.Store(New())
					}
					c.step(&in, current.Load(), &c.rows[n])
				}
			})
			perCell(b, b.N*benchWidth)
		})
	}
}

// Rows that are written over and over, with newer cells of the same columns.
func BenchmarkOverwrite(b *testing.B) {
	rows := benchData()[:benchRows/rewritten]
	b.ReportAllocs()
	var in Inserter
	n, t := 0, New()
	for b.Loop() {
		row := &rows[n%len(rows)]
		for j := range row.cells {
			c := &row.cells[j]
			c.Time++
			c.Seq++
			in.Add(t, row.key, c)
		}
		if n++; n%benchRows == 0 {
			t = New()
		}
	}
	perCell(b, n*benchWidth)
}

// rewritten is how often BenchmarkOverwrite writes a row.
const rewritten = 10

// Cells of many rows in random order, one at a time: the worst case, where
// nothing is next to the cell before.
func BenchmarkInsertCells(b *testing.B) {
	rows := benchData()
	order := rand.New(rand.NewPCG(3, 4)).Perm(benchRows * benchWidth)
	b.ReportAllocs()
	var in Inserter
	n, t := 0, New()
	for b.Loop() {
		i := order[n%len(order)]
		in.Add(t, rows[i/benchWidth].key, &rows[i/benchWidth].cells[i%benchWidth])
		if n++; n%len(order) == 0 {
			t = New()
		}
	}
	perCell(b, n)
}

func benchTable(rows []benchRow) *Table {
	t := New()
	var in Inserter
	for i := range rows {
		for j := range rows[i].cells {
			in.Add(t, rows[i].key, &rows[i].cells[j])
		}
	}
	return t
}

func BenchmarkScan(b *testing.B) {
	rows := benchData()
	random := benchTable(rows)
	sortRows(rows)
	sorted := benchTable(rows)
	column := cell.NewColumns(cell.ColumnRange([]byte("family1"), []byte("qual005")))
	for _, c := range []struct {
		name  string
		table *Table
		o     ReadOptions
	}{
		{"inserted=sorted", sorted, ReadOptions{}},
		{"inserted=random", random, ReadOptions{}},
		{"inserted=random/keys", random, ReadOptions{KeysOnly: true}},
		{"inserted=random/one-column", random, ReadOptions{Columns: column}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var run []cell.Cell
			n := 0
			for b.Loop() {
				it := c.table.NewIterator(c.o)
				for it.SeekRow(nil); it.Row() != nil; it.NextRow() {
					for run = it.Cells(run[:0]); len(run) > 0; {
						run = it.Cells(run[:0])
					}
				}
				n += int(it.Scanned().Cells)
				it.Close()
			}
			perCell(b, n)
		})
	}
}

func BenchmarkReadRow(b *testing.B) {
	rows := benchData()
	table := benchTable(rows)
	r := rand.New(rand.NewPCG(5, 6))
	r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	read := func(run []cell.Cell, row []byte) []cell.Cell {
		it := table.NewIterator(ReadOptions{})
		it.SeekRow(row)
		run = it.Cells(run[:0])
		it.Close()
		return run
	}
	b.Run("goroutines=1", func(b *testing.B) {
		b.ReportAllocs()
		var run []cell.Cell
		i := 0
		for b.Loop() {
			run = read(run, rows[i%len(rows)].key)
			i++
		}
	})
	b.Run("goroutines=all", func(b *testing.B) {
		b.ReportAllocs()
		var start atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			var run []cell.Cell
			for i := int(start.Add(10_000)); pb.Next(); i++ {
				run = read(run, rows[i%len(rows)].key)
			}
		})
	})
}

func BenchmarkSeek(b *testing.B) {
	rows := benchData()
	table := benchTable(rows)
	it := table.NewIterator(ReadOptions{})
	defer it.Close()
	seek := func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			it.SeekRow(rows[i%len(rows)].key)
			i++
		}
	}
	b.Run("random", seek)
	sortRows(rows)
	b.Run("near", seek)
}

// One column of a wide row.
func BenchmarkWideRow(b *testing.B) {
	t := New()
	var in Inserter
	for i := range 1_000_000 {
		in.Add(t, []byte("row"), &cell.Cell{Column: fmt.Appendf(nil, "family\x00%08d", i), Type: cell.String, Value: []byte("value")})
	}
	o := ReadOptions{Columns: cell.NewColumns(cell.ColumnRange([]byte("family"), []byte("00654321")))}
	b.ReportAllocs()
	var run []cell.Cell
	for b.Loop() {
		it := t.NewIterator(o)
		it.SeekRow(nil)
		run = it.Cells(run[:0])
		it.Close()
	}
	if len(run) != 1 {
		b.Fatalf("got %d cells, want 1", len(run))
	}
}

// BenchmarkScanDown is BenchmarkScan from the last row to the first.
func BenchmarkScanDown(b *testing.B) {
	rows := benchData()
	random := benchTable(rows)
	sortRows(rows)
	sorted := benchTable(rows)
	for _, c := range []struct {
		name  string
		table *Table
	}{{"inserted=sorted", sorted}, {"inserted=random", random}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var run []cell.Cell
			n := 0
			for b.Loop() {
				it := c.table.NewIterator(ReadOptions{})
				for it.SeekBelow(nil); it.Row() != nil; it.PrevRow() {
					for run = it.Cells(run[:0]); len(run) > 0; {
						run = it.Cells(run[:0])
					}
				}
				n += int(it.Scanned().Cells)
				it.Close()
			}
			perCell(b, n)
		})
	}
}
