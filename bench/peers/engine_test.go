package main

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
)

// TestEnginesGiveBackWhatWasWritten runs the same history on all engines. It reads from memory, from
// files, and after a restart.
func TestEnginesGiveBackWhatWasWritten(t *testing.T) {
	for _, e := range engines {
		if e.Ceiling {
			continue
		}
		for _, spaces := range []int{1, 3} {
			for _, durable := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/spaces=%d/durable=%v", e.Name, spaces, durable), func(t *testing.T) {
					t.Parallel()
					c := Config{Rows: 1000, Cache: 8 << 20, Spaces: spaces, Writers: 2, Durable: durable}
					h := history{t: t, e: e, dir: t.TempDir(), c: c, space: spaces - 1}
					h.open()
					h.write()
					h.check("after writing")
					h.must(h.s.Flush())
					h.check("after a flush")
					h.must(h.s.Close())
					h.open()
					h.check("after a restart")
					h.must(h.s.Close())
				})
			}
		}
	}
}

type history struct {
	t     *testing.T
	e     *Engine
	dir   string
	c     Config
	space int
	s     Store
}

func (h *history) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *history) open() {
	s, err := h.e.Open(h.dir, h.c)
	h.must(err)
	h.s = s
}

// write makes a table with overwrites, versions and deletions, some of them written again.
func (h *history) write() {
	w := h.s.Writer()
	gone := []*cell.Cell{version("a:x", 1, "gone"), version("b:", 2, "gone")}
	for space := range h.c.Spaces {
		w.Set(space, []byte("other"), version("a:", int64(space), fmt.Sprint("space ", space)))
	}
	for _, row := range []string{"deleted", "again"} {
		for _, c := range gone {
			w.Set(h.space, []byte(row), c)
		}
	}
	h.must(w.Commit())
	for _, row := range []string{"deleted", "again"} {
		w.DeleteRow(h.space, []byte(row), []cell.Cell{*gone[0], *gone[1]})
	}
	h.must(w.Commit())
	w.Set(h.space, []byte("again"), version("b:", 9, "new"))
	w.Set(h.space, []byte("row"), version("a:q:r", 5, "old"))
	w.Set(h.space, []byte("row"), version("a:q:r", 1<<40, "newest"))
	w.Set(h.space, []byte("row"), version("b:", 0, ""))
	w.Set(h.space, []byte("rowlonger"), version("b:", 7, "v"))
	h.must(w.Commit())
	w.Set(h.space, []byte("row"), version("a:q:r", 5, "overwritten"))
	h.must(w.Commit())
}

func (h *history) check(when string) {
	h.t.Helper()
	all := []string{
		`again b: 9 new`, fmt.Sprintf("other a: %d space %d", h.space, h.space),
		`row a:q:r 1099511627776 newest`, `row a:q:r 5 overwritten`, `row b: 0 `, `rowlonger b: 7 v`,
	}
	for _, scan := range []struct {
		q    Query
		want []string
	}{
		{Query{}, all},
		{Query{Rows: 2}, all[:2]},
		{Query{Start: []byte("row")}, all[2:]},
		{Query{Start: []byte("p"), Rows: 1}, all[2:5]},
		{Query{Family: "b"}, []string{all[0], all[4], all[5]}},
		{Query{Start: []byte("z")}, nil},
	} {
		h.checkScan(when, scan.q, scan.want)
	}
	r := h.s.Reader()
	for row, want := range map[string]Answer{
		"row": {1, 3, 5 + 6 + 5 + 11 + 2}, "again": {1, 1, 2 + 3}, "deleted": {}, "ro": {}, "zz": {},
	} {
		got, err := r.Row(h.space, []byte(row))
		if err != nil || got != want {
			h.t.Errorf("%s, row %s: %+v, %v, want %+v", when, row, got, err, want)
		}
	}
}

func (h *history) checkScan(when string, q Query, want []string) {
	h.t.Helper()
	var list []string
	rows := make(map[string]bool)
	size := 0
	q.Space = h.space
	q.Visit = func(row []byte, c *cell.Cell) {
		column := bytes.Replace(c.Column, []byte{0}, []byte(":"), 1)
		list = append(list, fmt.Sprintf("%s %s %d %s", row, column, c.Time, c.Value))
		rows[string(row)] = true
		size += len(c.Column) + len(c.Value)
	}
	a, err := h.s.Reader().Scan(q)
	if err != nil || !slices.Equal(list, want) {
		h.t.Errorf("%s, scan from %q: %q, %v, want %q", when, q.Start, list, err, want)
	}
	if w := (Answer{len(rows), len(list), int64(size)}); a != w {
		h.t.Errorf("%s, scan from %q: %+v, want %+v", when, q.Start, a, w)
	}
}
