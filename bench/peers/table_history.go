package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/colonnade-db/colonnade/bench/dataset"
	"github.com/colonnade-db/colonnade/cell"
)

// rewrites is how often the histories that overwrite write a cell.
const rewrites = 10

// hotRewrites is how often a hot row is written.
const hotRewrites = 100

var histories = &Table{
	Name:    "history",
	Title:   "Tables that have lived",
	About:   "The same number of writes in each case. Clean: each row is written once. Versions: a tenth of the rows, ten versions of each cell, all of them read. Overwritten: a tenth of the rows, each cell written ten times with the same time. Hot: a hundredth of the rows, each cell written a hundred times. Deleted: every row written, three in ten deleted after that, which counts as time of the load; those rows are asked for too. What is written, and the tables on disk after a close, are counted for each raw byte that was written, and for each that is still there. Then the store is opened; rows and short scans are asked for in any order, one goroutine, all in the cache, and all of it is scanned again and again. A row has ten cells, with versions a hundred, so reads are counted in cells; an absent row has the key of one that is there, and one byte more.",
	Figures: historyFigures(),
	Run:     runHistories,
}

// story is a past of a table.
type story struct {
	name    string
	part    int   // one in so many rows is written
	rounds  int   // how often
	later   int64 // added to a cell's time in each round
	deleted int   // in ten rows
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
			Figure{h.name + "-written", h.name + ": bytes written for each raw byte", plain},
			Figure{h.name + "-space", h.name + ": tables on disk for each raw byte that is still there", plain},
			Figure{h.name + "-rows", h.name + ": rows/s", perSecond},
			Figure{h.name + "-cells", h.name + ": cells of them/s", perSecond},
			Figure{h.name + "-absent", h.name + ": absent rows/s", perSecond},
			Figure{h.name + "-pages", h.name + ": cells of scans of 100 rows/s", perSecond},
			Figure{h.name + "-scan", h.name + ": full scan, cells/s", perSecond},
		)
		if h.deleted > 0 {
			list = append(list, Figure{h.name + "-gone", h.name + ": deleted rows/s", perSecond})
		}
	}
	return append(list,
		Figure{"memory", "anonymous memory", mega},
		Figure{"budget", "of that, memtables and cache may take", mega},
	)
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
	c := s.config()
	s.record("budget", megabytes(c.memtables()+c.Cache))
	return nil
}

// runStory measures one history. At its end, the first so many rows of the shuffled table are deleted.
func (s *session) runStory(h story) error {
	written := max(s.shuffled.Len()/h.part, 1)
	gone := written * h.deleted / 10
	present := numbers(gone, written)
	k := readKeys{
		present: keysOf(s.shuffled, present, ""),
		absent:  keysOf(s.shuffled, present, "~"),
		starts:  pageStarts(s.shuffled, present),
	}
	deleted := keysOf(s.shuffled, numbers(0, gone), "")
	memory, err := watchMemory() // after the keys, which do not belong to the engine
	if err != nil {
		return err
	}
	defer memory.end()
	if err := s.live(h, written, gone); err != nil {
		return err
	}
	if err := s.readStory(h, k, deleted); err != nil {
		return err
	}
	s.record("memory", max(s.figures["memory"], memory.most()))
	return nil
}

func (s *session) readStory(h story, k readKeys, deleted *keys) error {
	st, err := s.openQuiet(s.config())
	if err != nil {
		return err
	}
	rows, perRow := len(k.present.ends), 10*h.versions()
	for _, read := range []struct {
		name  string
		keys  *keys
		cells int
	}{{"rows", k.present, perRow}, {"absent", k.absent, 0}, {"gone", deleted, 0}} {
		if len(read.keys.ends) == 0 {
			continue
		}
		if err := warmRows(st, 0, read.keys, read.cells); err != nil {
			return err
		}
		n, u, err := s.readRows(st, 0, read.keys, read.cells, 1)
		if err != nil {
			return err
		}
		s.record(h.name+"-"+read.name, u.rate(n))
		if read.cells > 0 {
			s.record(h.name+"-cells", u.rate(n*read.cells))
		}
	}
	want := min(pageRows, rows)
	if err := warmPages(st, k.starts, want); err != nil {
		return err
	}
	n, u, err := s.readPages(st, k.starts, want)
	if err != nil {
		return err
	}
	s.record(h.name+"-pages", u.rate(n*want*perRow))
	if n, u, err = s.warmScans(st, rows, rows*perRow); err != nil {
		return err
	}
	s.record(h.name+"-scan", u.rate(n*rows*perRow))
	return st.Close()
}

// versions is the number of versions of each cell.
func (h story) versions() int {
	if h.later > 0 {
		return h.rounds
	}
	return 1
}

// pageStarts returns the row keys that a page starts at, in random order.
func pageStarts(data *dataset.Table, rows []int) *keys {
	byKey := slices.SortedFunc(slices.Values(rows), func(i, j int) int { return bytes.Compare(data.Key(i), data.Key(j)) })
	starts := byKey[:len(byKey)-min(pageRows, len(byKey))+1]
	rand.New(rand.NewPCG(5, 0)).Shuffle(len(starts), func(i, j int) { starts[i], starts[j] = starts[j], starts[i] })
	return keysOf(data, starts, "")
}

// numbers returns the numbers of a half-open range.
func numbers(from, to int) (list []int) {
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

// live writes so many rows of the shuffled table, deletes the first of them, and closes the store.
func (s *session) live(h story, written, gone int) error {
	st, err := s.open(s.config())
	if err != nil {
		return err
	}
	before, err := readUsage()
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
	if gone > 0 {
		if err := s.deleteRows(st, gone); err != nil {
			return err
		}
		if err := st.Flush(); err != nil {
			return err
		}
		settled, err := awaitQuiet()
		if err != nil {
			return err
		}
		u = settled.since(before)
	}
	s.record(h.name+"-load", u.rate(n*10))
	if err := st.Close(); err != nil {
		return err
	}
	after, err := readUsage()
	if err != nil {
		return err
	}
	u = after.since(before)
	s.record(h.name+"-written", float64(u.writtenBy(s.e))/float64(rawOf(s.shuffled, 0, written)*int64(h.rounds)))
	disk, err := s.tableBytes()
	s.record(h.name+"-space", float64(disk)/float64(rawOf(s.shuffled, gone, written)*int64(h.versions())))
	return err
}

// rawOf returns the raw bytes of a range of rows.
func rawOf(data *dataset.Table, from, to int) (n int64) {
	var cells []cell.Cell
	for i := from; i < to; i++ {
		var key []byte
		key, cells = data.Row(i, cells[:0])
		for k := range cells {
			n += int64(cells[k].RawSize(key))
		}
	}
	return n
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
