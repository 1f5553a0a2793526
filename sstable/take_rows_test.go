package sstable

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// collectInSteps is collect with TakeRows, without the keys of the rows and without a limit.
func collectInSteps(it *Iterator, seek []byte, _ int) (list []entry) {
	var rows cell.Rows
	for it.SeekRow(seek); it.Row() != nil; {
		if it.TakeRows(&rows, nil); len(rows.Ends) > 0 {
			list = appendEntries(list, rows.Cells)
			continue
		}
		for cells := it.Cells(nil); len(cells) > 0; cells = it.Cells(nil) {
			list = appendEntries(list, cells)
		}
		it.NextRow()
	}
	return list
}

func appendEntries(list []entry, cells []cell.Cell) []entry {
	for _, c := range cells {
		c.Column, c.Value = slices.Clone(c.Column), slices.Clone(c.Value)
		list = append(list, entry{nil, c})
	}
	return list
}

func withoutRows(list []entry) []entry {
	list = slices.Clone(list)
	for i := range list {
		list[i].row = nil
	}
	return list
}

// TestTakeRowsOfDamage: rows that are taken together from a damaged file are right, or there is an error.
func TestTakeRowsOfDamage(t *testing.T) {
	var list []entry
	for i := range 200 {
		c := set("f\x00q", int64(i), 1)
		c.Value = []byte(strings.Repeat("v", 20+i%7))
		list = append(list, entry{fmt.Appendf(nil, "row%03d", i), c})
	}
	file, info := build(t, list, WriterOptions{ID: testID, BlockSize: 3 << 10, smallBlock: 1 << 10})
	var rows cell.Rows
	it := open(t, file, testID, nil).NewIterator(ReadOptions{})
	it.SeekRow(nil)
	if it.TakeRows(&rows, nil); info.ValueBlocks < 4 || len(rows.Ends) < 10 {
		t.Fatalf("%d rows in a step, and %d value blocks, show little", len(rows.Ends), info.ValueBlocks)
	}
	it.Close()
	for i := 0; i < len(file); i += 5 * stride() {
		broken := slices.Clone(file)
		broken[i] ^= 1 << (i % 8)
		checkDamaged(t, fmt.Sprintf("byte %d", i), readAll(broken, testID, nil, list))
	}
}

// TestTakeRowsOfSmallBlocks: rows whose values are in several small blocks are taken up to the end of the loaded one.
func TestTakeRowsOfSmallBlocks(t *testing.T) {
	var list []entry
	for i := range 2000 {
		value := strings.Repeat(fmt.Sprintf("%04d ", i), 10+i%3)
		list = append(list, entry{fmt.Appendf(nil, "row%06d", i), cell.Cell{Column: []byte("f\x00q"), Value: []byte(value), Time: 1, Type: cell.String}})
	}
	file, info := build(t, list, WriterOptions{ID: testID, BlockSize: 18 << 10, smallBlock: 2 << 10})
	if info.ValueBlocks < 20 {
		t.Fatalf("%d value blocks show little", info.ValueBlocks)
	}
	for _, o := range []ReadOptions{{}, {FillCache: true}, {KeysOnly: true}, {Columns: cell.NewColumns(cell.ColumnRange([]byte("f"), []byte("q")))}, {Columns: cell.NewColumns()}} {
		r, _ := openCounting(t, file, nil)
		it := r.NewIterator(o)
		var rows cell.Rows
		n, steps := 0, 0
		check := func(cells []cell.Cell) {
			for i := range cells {
				if want := list[n].Value; !o.KeysOnly && string(cells[i].Value) != string(want) {
					t.Fatalf("%+v: the value of row %d is %q, want %q", o, n, cells[i].Value, want)
				}
				n++
			}
		}
		rowsTaken := 0
		for it.SeekRow(nil); it.Row() != nil; {
			if it.TakeRows(&rows, nil); len(rows.Ends) > 0 {
				steps++
				rowsTaken += len(rows.Ends)
				check(rows.Cells)
				continue
			}
			check(it.Cells(nil))
			it.NextRow()
			rowsTaken++
		}
		wantCells := len(list)
		if o.Columns != nil && len(o.Columns.Ranges()) == 0 {
			wantCells = 0
		}
		if it.Err() != nil || rowsTaken != len(list) || n != wantCells || steps < 5 || it.Scanned().Cells != uint64(len(list)) {
			t.Errorf("%+v: %d rows, %d cells in %d steps, %+v scanned, error %v", o, rowsTaken, n, steps, it.Scanned(), it.Err())
		}
		it.Close()
	}
}
