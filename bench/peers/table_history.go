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
	written := max(s.shuffled.Len()/h.part, 1)
	gone := written * h.deleted / 10
	if err := s.live(h, written, gone); err != nil {
		return err
	}
	st, err := s.openQuiet(s.config())
	if err != nil {
		return err
	}
	present, versions := written-gone, 1
	if h.later > 0 {
		versions = h.rounds
	}
	k := keysOf(s.shuffled, numbers(gone, written), "")
	if err := warmRows(st, 0, k, 10*versions); err != nil {
		return err
	}
	n, u, err := s.readRows(st, 0, k, 10*versions, 1)
	if err != nil {
		return err
	}
	s.record(h.name+"-rows", u.rate(n))
	s.record(h.name+"-cells", u.rate(n*10*versions))
	cells := present * 10 * versions
	n, u, err = s.warmScans(st, present, cells)
	if err != nil {
		return err
	}
	s.record(h.name+"-scan", u.rate(n*cells))
	return st.Close()
}

// numbers are those from one up to another.
func numbers(from, to int) (list []int) {
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

// live writes so many rows of the shuffled table, deletes the first of them that are to be
// gone, and closes the store.
func (s *session) live(h story, written, gone int) error {
	st, err := s.open(s.config())
	if err != nil {
		return err
	}
	n := written * h.rounds
	u, _, err := loadSettled(st, n, func(n int, _ []byte, dst []cell.Cell) ([]byte, []cell.Cell) {
		key, cells := s.shuffled.Row(n%written, dst)
		for i := range cells {
			cells[i].Time += int64(n/written) * h.later
		}
		return key, cells
	})
	if err != nil {
		return err
	}
	s.record(h.name+"-load", u.rate(n*10))
	if err := s.deleteRows(st, gone); err != nil {
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

// deleteRows deletes the first rows of the shuffled table.
func (s *session) deleteRows(st Store, rows int) error {
	w := st.Writer()
	var cells []cell.Cell
	for i := range rows {
		var key []byte
		key, cells = s.shuffled.Row(i, cells[:0])
		w.DeleteRow(0, key, cells)
		if i%loadRows == loadRows-1 || i == rows-1 {
			if err := w.Commit(); err != nil {
				return err
			}
		}
	}
	return nil
}
