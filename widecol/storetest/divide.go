package storetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
)

// divideRows is the number of rows of a table that is divided. Each has 200 bytes.
const divideRows = 2000

// divideCases check a View that is a widecol.Divider. They hold for any other.
var divideCases = []testCase{
	{"the parts of a query are the query", func(f *fixture) {
		view, ok := f.divided()
		defer view.close()
		if !ok {
			return
		}
		for name, q := range map[string]*widecol.Query{
			"everything": everything(),
			"a family":   where(f.columns("b")),
			"a range":    asking(func(q *widecol.Query) { q.SetRange([]byte("row00100"), []byte("row01600")) }),
			"ranges": asking(func(q *widecol.Query) {
				q.Rows = widecol.NewRowSet(widecol.KeyRange([]byte("row00001")), widecol.PrefixRange([]byte("row003")),
					widecol.RowRange{Start: []byte("row00500"), End: []byte("row01500")})
			}),
			"limits in a row": asking(func(q *widecol.Query) { q.RowCellLimit, q.ColumnCellLimit = 1, 1 }),
			"a value":         asking(func(q *widecol.Query) { q.Value = valueOfRow(1321) }),
			"no row":          asking(func(q *widecol.Query) { q.Rows = nil }),
		} {
			for _, least := range []int64{1, 10_000, 1 << 40} {
				if err := view.checkParts(q, least); err != nil {
					f.Errorf("%s, parts of %d bytes: %v", name, least, err)
				}
			}
		}
	}},
	{"a query that counts rows from the first is not divided", func(f *fixture) {
		view, ok := f.divided()
		defer view.close()
		if !ok {
			return
		}
		for name, q := range map[string]*widecol.Query{
			"a row limit":  asking(func(q *widecol.Query) { q.RowLimit = 1500 }),
			"a cell limit": asking(func(q *widecol.Query) { q.CellLimit = 1500 }),
			"an offset":    asking(func(q *widecol.Query) { q.Offset = 1 }),
			"a sample":     asking(func(q *widecol.Query) { q.Sample = 0.5 }),
		} {
			if n := len(view.View.(widecol.Divider).Divide(q, 1)); n != 1 {
				f.Errorf("%s: %d parts", name, n)
			}
		}
	}},
}

// divided writes a table of divideRows rows and returns a view of it. ok is false if the view is no Divider.
func (f *fixture) divided() (view fixtureView, ok bool) {
	f.Helper()
	f.create("t", "a", "b+")
	var versions []version
	for i := range divideRows {
		row, value := fmt.Sprintf("row%05d", i), string(valueOfRow(i).Value)
		versions = append(versions, version{row, "a", "x", 2, cell.String, value}, version{row, "a", "x", 1, cell.String, value})
		if i%3 == 0 {
			versions = append(versions, version{row, "b", "x", 1, cell.String, value})
		}
	}
	f.writeAll("t", versions)
	view = f.view("t")
	_, ok = view.View.(widecol.Divider)
	return view, ok
}

// valueOfRow returns a filter for the value of a row: text that does not compress well.
func valueOfRow(i int) *widecol.ValueFilter {
	text := make([]byte, 100)
	for j, seed := 0, uint32(i+1); j < len(text); j++ {
		seed = seed*1664525 + 1013904223
		text[j] = 'a' + byte(seed>>16)%26
	}
	return &widecol.ValueFilter{Op: widecol.Equal, Type: cell.String, Value: text}
}

// checkParts divides a query, reads all parts at the same time, divides each again meanwhile, and compares the
// results with that of the whole.
func (v fixtureView) checkParts(q *widecol.Query, least int64) error {
	d := v.View.(widecol.Divider)
	whole, err := ask(background, v, q, all)
	if err != nil {
		return err
	}
	parts := d.Divide(q, least)
	answers, failures := make([]answer, len(parts)), make([]error, len(parts))
	var begun, reading sync.WaitGroup
	begun.Add(len(parts))
	for i := range parts {
		reading.Go(func() { answers[i], failures[i] = readPart(d, &parts[i], least, &begun) })
	}
	reading.Wait()
	if err := errors.Join(failures...); err != nil {
		return err
	}
	return whole.isSumOf(answers)
}

// readPart begins to read a part, waits until all others have begun, too, divides it again and reads the rest.
func readPart(d widecol.Divider, q *widecol.Query, least int64, begun *sync.WaitGroup) (answer, error) {
	rows, err := d.Scan(background, q)
	begun.Done()
	if err != nil {
		return answer{}, err
	}
	defer rows.Close()
	begun.Wait()
	if len(d.Divide(q, least)) == 0 {
		return answer{}, errors.New("a part that is divided again has no part")
	}
	r := reader{query: q}
	for rows.Next() {
		if err := r.take(rows); err != nil {
			return answer{}, err
		}
	}
	_, err = r.end(rows)
	return answer{versions: r.versions, stats: rows.Stats()}, err
}

// isSumOf compares the answer to a query with those to its parts.
func (a *answer) isSumOf(parts []answer) error {
	var versions []version
	sum := widecol.Stats{Partitions: a.stats.Partitions}
	for _, p := range parts {
		versions = append(versions, p.versions...)
		sum.Rows += p.stats.Rows
		sum.Cells += p.stats.Cells
		sum.RowsScanned += p.stats.RowsScanned
		sum.CellsScanned += p.stats.CellsScanned
		sum.BytesScanned += p.stats.BytesScanned
		if p.stats.Partitions != a.stats.Partitions {
			return fmt.Errorf("a part has read %d partitions, the whole %d", p.stats.Partitions, a.stats.Partitions)
		}
	}
	if err := diff(versions, a.versions); err != nil {
		return fmt.Errorf("%d parts: %w", len(parts), err)
	}
	if sum != a.stats {
		return fmt.Errorf("%d parts cost %+v, the whole %+v", len(parts), sum, a.stats)
	}
	return nil
}
