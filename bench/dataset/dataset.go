// Package dataset holds the rows that benchmarks write and read. They are the same in every run.
//
// A Table is one piece of memory without pointers. So a large table costs the garbage collector
// nothing, and taking a row out of it costs a few nanoseconds per cell. WriteTo and Open pass a
// table to another process, which maps the file and holds none of it in its own memory.
package dataset

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/colonnade-db/colonnade/cell"
)

// Table is a list of rows, in key order unless it comes from In. The zero value is empty. It is safe
// for concurrent use, except Add. The caller must not change the bytes it returns.
type Table struct {
	rows  []int // where each row begins in data
	data  []byte
	cells int64
	raw   int64
}

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Cells returns the number of cells of all rows.
func (t *Table) Cells() int64 { return t.cells }

// Raw returns the bytes of all cells, counted as cell.RawSize does.
func (t *Table) Raw() int64 { return t.raw }

// Row returns row i and its cells, in order, appended to dst. They share the table's memory.
func (t *Table) Row(i int, dst []cell.Cell) (key []byte, cells []cell.Cell) {
	p := t.data[t.rows[i]:]
	take := func() []byte {
		n, size := binary.Uvarint(p)
		end := size + int(n)
		field := p[size:end:end]
		p = p[end:]
		return field
	}
	key = take()
	count, size := binary.Uvarint(p)
	p = p[size:]
	for range count {
		c := cell.Cell{Time: int64(binary.LittleEndian.Uint64(p)), Type: cell.Type(p[8])}
		p = p[9:]
		c.Column, c.Value = take(), take()
		dst = append(dst, c)
	}
	return key, dst
}

// Key returns the key of row i. It shares the table's memory.
func (t *Table) Key(i int) []byte {
	p := t.data[t.rows[i]:]
	n, size := binary.Uvarint(p)
	return p[size : size+int(n) : size+int(n)]
}

// Nth returns row n of an endless stream: the rows of the table, repeated under new keys, so that
// nothing is overwritten. The key is written to buf and is text like those of the table. The cells are
// those of Row.
func (t *Table) Nth(n int, buf []byte, dst []cell.Cell) (key []byte, cells []cell.Cell) {
	key, cells = t.Row(n%len(t.rows), dst)
	key = append(buf[:0], key...)
	if round := n / len(t.rows); round > 0 {
		key = strconv.AppendInt(append(key, '~'), int64(round), 10)
	}
	return key, cells
}

// In returns a table of the given rows, in the given order, also in memory. Reading it from the
// start then waits for no memory. Rows scattered over memory would cost more time than some engines
// need to write them.
func (t *Table) In(order []int) *Table {
	in := new(Table)
	var cells []cell.Cell
	for _, i := range order {
		var key []byte
		key, cells = t.Row(i, cells[:0])
		in.Add(key, cells)
	}
	return in
}

// Shuffled returns the numbers of the rows in an order that depends on the seed.
func (t *Table) Shuffled(seed uint64) []int {
	return rand.New(rand.NewPCG(seed, 0)).Perm(len(t.rows))
}

// Add appends a copy of a row. Its cells must be in order.
func (t *Table) Add(key []byte, cells []cell.Cell) {
	field := func(b []byte) {
		t.data = binary.AppendUvarint(t.data, uint64(len(b)))
		t.data = append(t.data, b...)
	}
	t.rows = append(t.rows, len(t.data))
	field(key)
	t.data = binary.AppendUvarint(t.data, uint64(len(cells)))
	for i := range cells {
		c := &cells[i]
		t.data = binary.LittleEndian.AppendUint64(t.data, uint64(c.Time))
		t.data = append(t.data, byte(c.Type))
		field(c.Column)
		field(c.Value)
		t.raw += int64(c.RawSize(key))
	}
	t.cells += int64(len(cells))
}

// sort sorts the rows by key.
func (t *Table) sort() {
	order := make([]int, len(t.rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return bytes.Compare(t.Key(i), t.Key(j)) })
	for i, at := range order {
		order[i] = t.rows[at]
	}
	t.rows = order
}
