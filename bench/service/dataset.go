package main

import (
	"bytes"
	"errors"
	"math/rand/v2"

	"github.com/colonnade-db/colonnade/internal/webtable"
)

const (
	// bulkRows is how many rows a bulk write has: 1,000 cells.
	bulkRows = 100
	// pageRows is how many rows a short scan returns.
	pageRows = 100
	// leastRows are enough for every workload.
	leastRows = 1000
	// most is how many rows are kept in memory to take requests from.
	most = 100_000

	families = `{"column_families":[{"name":"title"},{"name":"language"},{"name":"contents"},{"name":"meta"},{"name":"anchor"}]}`
)

// dataset is the made-up table that is measured with, in an order that has nothing
// to do with its keys.
type dataset struct {
	rows  int
	maker *webtable.Generator
	lines [][]byte // the first rows, as items of a write
	// lastPage is the last key that a page of rows can begin at.
	lastPage []byte
}

func newDataset(rows int) (*dataset, error) {
	maker, err := webtable.New(webtable.Options{Rows: int64(rows), Seed: 1, Contents: 100, Shuffle: true})
	if err != nil {
		return nil, err
	}
	d := &dataset{rows: rows, maker: maker, lines: make([][]byte, min(rows, most))}
	for i := range d.lines {
		d.lines[i] = d.line(nil, i)
	}
	inOrder, err := webtable.New(webtable.Options{Rows: int64(rows), Seed: 1, Contents: 100})
	if err != nil {
		return nil, err
	}
	d.lastPage = keyOf(inOrder.AppendRow(nil, int64(rows-pageRows)))
	return d, nil
}

// line appends row i as an item of a write.
func (d *dataset) line(dst []byte, i int) []byte {
	return bytes.TrimSuffix(d.maker.AppendRow(dst, int64(i)), []byte("\n"))
}

// any returns one of the rows that are kept, as an item of a write.
func (d *dataset) any(rnd *rand.Rand) []byte { return d.lines[rnd.IntN(len(d.lines))] }

// keyOf returns the key of an item, as it is spelled there.
func keyOf(line []byte) []byte {
	key, _, _ := bytes.Cut(line[len(`{"row_key":"`):], []byte(`"`))
	return key
}

// appendWrite appends a write of some items.
func appendWrite(dst []byte, lines ...[]byte) []byte {
	dst = append(dst, `{"items":[`...)
	for i, line := range lines {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, line...)
	}
	return append(dst, "]}"...)
}

// load writes all rows into a table.
func (d *dataset) load(c *client, table string) error {
	if err := c.create(table); err != nil {
		return err
	}
	var body, room []byte
	var lines [][]byte
	for i := 0; i < d.rows; {
		room, lines = room[:0], lines[:0]
		for range bulkRows {
			if i < d.rows {
				from := len(room)
				room = d.line(room, i)
				lines = append(lines, room[from:])
				i++
			}
		}
		body = appendWrite(body[:0], lines...)
		a, err := c.post("/v1/table/"+table+"/write", body, false)
		if err == nil {
			err = a.counts(len(lines), len(lines)*webtable.CellsPerRow)
		}
		if err != nil {
			return errors.Join(errors.New("loading the table"), err)
		}
	}
	return nil
}
