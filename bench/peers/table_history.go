package main

import (
	"fmt"

	"colonnade/cell"
)

// rewrites is how often a cell is written in the histories that write it again.
const rewrites = 10

// hotRewrites is how often a hot row is written.
const hotRewrites = 100

var histories = &Table{
	Name:    "history",
	Title:   "Tables that have lived",
	About:   "The same number of writes in each case. Clean: each row is written once. Versions: a tenth of the rows, ten versions of each cell, all of them read. Overwritten: a tenth of the rows, each cell written ten times with the same time. Hot: a hundredth of the rows, each cell written a hundred times. Deleted: every row written, three in ten deleted after that. Then the store is closed and opened; rows are read in any order, one goroutine, all in the cache, and all of it is scanned again and again.",
	Figures: historyFigures(),
	Run:     runHistories,
}

// story is a way in which a table can have come to be what it is.
type story struct {
	name    string
	part    int   // one row of so many is written
	rounds  int   // how often
	later   int64 // by how much a cell's time is later in each round
	deleted int   // of ten rows
}

var stories = []story{
	{name: "clean", part: 1, rounds: 1},
	{name: "versions", part: rewrites, rounds: rewrites, later: 1},
	{name: "overwritten", part: rewrites, rounds: rewrites},
	{name: "hot", part: hotRewrites, rounds: hotRewrites},
	{name: "deleted", part: 1, rounds: 1, deleted: 3},
}

func historyFigures() (list []Figure) {
	for _, h := range stories {
		list = append(list,
			Figure{h.name + "-load", h.name + ": cells written/s, settled", perSecond},
			Figure{h.name + "-rows", h.name + ": rows/s", perSecond},
			Figure{h.name + "-cells", h.name + ": cells of them/s", perSecond},
			Figure{h.name + "-scan", h.name + ": full scan, cells/s", perSecond},
		)
	}
	return list
}

func runHistories(s *session) error {
	for _, h := range stories {
		if err := s.runStory(h); err != nil {
			return fmt.Errorf("%s: %w", h.name, err)
		}
		if err := s.remove(); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) runStory(h story) error {
	order := s.data.Shuffled(1)
	order = order[:max(len(order)/h.part, 1)]
	gone := len(order) * h.deleted / 10
	if err := s.live(h, order, gone); err != nil {
		return err
	}
	st, err := s.openQuiet(s.config())
	if err != nil {
		return err
	}
	present, versions := order[gone:], 1
	if h.later > 0 {
		versions = h.rounds
	}
	k := keysOf(s.data, present, "")
	if err := warmRows(st, 0, k, 10*versions); err != nil {
		return err
	}
	n, u, err := s.readRows(st, 0, k, 10*versions, 1)
	if err != nil {
		return err
	}
	s.record(h.name+"-rows", u.rate(n))
	s.record(h.name+"-cells", u.rate(n*10*versions))
	cells := len(present) * 10 * versions
	n, u, err = s.warmScans(st, len(present), cells)
	if err != nil {
		return err
	}
	s.record(h.name+"-scan", u.rate(n*cells))
	return st.Close()
}

// live writes the table and closes the store.
func (s *session) live(h story, order []int, gone int) error {
	st, err := s.open(s.config())
	if err != nil {
		return err
	}
	n := len(order) * h.rounds
	u, _, err := loadSettled(st, n, func(n int, _ []byte, dst []cell.Cell) ([]byte, []cell.Cell) {
		key, cells := s.data.Row(order[n%len(order)], dst)
		for i := range cells {
			cells[i].Time += int64(n/len(order)) * h.later
		}
		return key, cells
	})
	if err != nil {
		return err
	}
	s.record(h.name+"-load", u.rate(n*10))
	if err := s.deleteRows(st, order[:gone]); err != nil {
		return err
	}
	if err := st.Flush(); err != nil {
		return err
	}
	if _, err := awaitQuiet(); err != nil {
		return err
	}
	return st.Close()
}

func (s *session) deleteRows(st Store, rows []int) error {
	w := st.Writer()
	var cells []cell.Cell
	for i, row := range rows {
		var key []byte
		key, cells = s.data.Row(row, cells[:0])
		w.DeleteRow(0, key, cells)
		if i%loadRows == loadRows-1 || i == len(rows)-1 {
			if err := w.Commit(); err != nil {
				return err
			}
		}
	}
	return nil
}
