package main

import (
	"fmt"

	"colonnade/bench/dataset"
)

// pageRows is how many rows a short scan reads.
const pageRows = 100

var reads = &Table{
	Name:  "reads",
	Title: "Reads",
	About: "Of the table loaded in random order, settled, closed and opened again, with a cache of 1 GiB, and at last with one of 64 MiB. Files are in the page cache throughout. The first scan finds nothing in the engine's cache; rows and short scans are asked for once before they are measured. An absent row has the key of one that is there, and one byte more.",
	Figures: []Figure{
		{"scan-first", "full scan, first, cells/s", perSecond},
		{"scan-warm", "full scan, warm, cells/s", perSecond},
		{"scan-cpu", "processor time a cell, warm", micros},
		{"rows1", "rows/s, 1 goroutine", perSecond},
		{"rows4", "rows/s, 4 goroutines", perSecond},
		{"rows-cpu", "processor time a row", micros},
		{"absent1", "absent rows/s, 1 goroutine", perSecond},
		{"absent4", "absent rows/s, 4 goroutines", perSecond},
		{"absent-cpu", "processor time an absent row", micros},
		{"pages1", "scans of 100 rows/s", perSecond},
		{"pages-cpu", "processor time a scan of 100 rows", micros},
		{"small1", "rows/s, cache of 64 MiB", perSecond},
		{"small-cpu", "processor time a row, cache of 64 MiB", micros},
		{"memory", "anonymous memory, cache of 1 GiB", mega},
		{"budget", "of that, memtables and cache may take", mega},
		{"small-memory", "anonymous memory, cache of 64 MiB", mega},
		{"small-budget", "of that, memtables and cache may take", mega},
		{"scan-allocs", "allocations a cell, warm scan", plain},
		{"rows-allocs", "allocations a cell, rows", plain},
	},
	Run: runReads,
}

// readKeys are the keys that a session asks for, made up before memory is watched.
type readKeys struct{ present, absent, starts *keys }

func runReads(s *session) error {
	k := readKeys{
		present: keysOf(s.data, s.data.Shuffled(2), ""),
		absent:  keysOf(s.data, s.data.Shuffled(3), "~"),
		starts:  startsOf(s.data, min(pageRows, s.data.Len())),
	}
	memory, err := watchMemory()
	if err != nil {
		return err
	}
	defer memory.end()
	if err := s.loadAndClose(s.data.Len(), inOrder(s.data, s.data.Shuffled(1))); err != nil {
		return err
	}
	memory.reset()
	c := s.config()
	if err := s.largeCache(c, k); err != nil {
		return err
	}
	s.record("memory", memory.most())
	s.record("budget", megabytes(c.memtables()+c.Cache))
	memory.reset()
	c.Cache = c.scaled(smallCache, 1<<20)
	if err := s.smallCache(c, k.present); err != nil {
		return err
	}
	s.record("small-memory", memory.most())
	s.record("small-budget", megabytes(c.memtables()+c.Cache))
	return nil
}

func (s *session) largeCache(c Config, k readKeys) error {
	st, err := s.open(c)
	if err != nil {
		return err
	}
	if err := s.scans(st); err != nil {
		return err
	}
	if err := s.rowReads(st, k); err != nil {
		return err
	}
	if err := s.pages(st, k.starts); err != nil {
		return err
	}
	return st.Close()
}

// loadAndClose makes the store of a table that reads.
func (s *session) loadAndClose(n int, rows source) error {
	st, err := s.open(s.config())
	if err != nil {
		return err
	}
	if _, _, err := loadSettled(st, n, rows); err != nil {
		return err
	}
	return st.Close()
}

func (s *session) scans(st Store) error {
	rows, cells := s.data.Len(), int(s.data.Cells())
	for _, name := range []string{"first", "warm"} {
		u, err := scanAll(st, Query{}, rows, cells)
		if err != nil {
			return err
		}
		s.record("scan-"+name, u.rate(cells))
		s.record("scan-cpu", u.cpuEach(cells))
		s.record("scan-allocs", float64(u.mallocs)/float64(cells))
	}
	return nil
}

func (s *session) rowReads(st Store, k readKeys) error {
	for _, w := range []struct {
		name  string
		keys  *keys
		cells int
	}{{"rows", k.present, 10}, {"absent", k.absent, 0}} {
		if err := warmRows(st, 0, w.keys, w.cells); err != nil {
			return err
		}
		for _, goroutines := range []int{1, 4} {
			n, u, err := s.readRows(st, 0, w.keys, w.cells, goroutines)
			if err != nil {
				return err
			}
			s.record(fmt.Sprintf("%s%d", w.name, goroutines), u.rate(n))
			if goroutines == 1 {
				s.record(w.name+"-cpu", u.cpuEach(n))
				s.record(w.name+"-allocs", float64(u.mallocs)/float64(n)/10)
			}
		}
	}
	return nil
}

func (s *session) pages(st Store, starts *keys) error {
	want := min(pageRows, s.data.Len())
	r, next := st.Reader(), 0
	n, u, err := s.repeat(1, func(int) func() error {
		return func() error {
			a, err := r.Scan(Query{Start: starts.at(next), Rows: want})
			if next++; next == len(starts.ends) {
				next = 0
			}
			if err == nil && a.Rows != want {
				err = fmt.Errorf("a scan has %d rows, want %d", a.Rows, want)
			}
			return err
		}
	})
	s.record("pages1", u.rate(n))
	s.record("pages-cpu", u.cpuEach(n))
	return err
}

// startsOf are the keys of rows at random that have enough rows after them.
func startsOf(data *dataset.Table, rows int) *keys {
	order := data.Shuffled(4)
	for i := range order {
		order[i] = min(order[i], data.Len()-rows)
	}
	return keysOf(data, order, "")
}

func (s *session) smallCache(c Config, present *keys) error {
	st, err := s.open(c)
	if err != nil {
		return err
	}
	if err := warmRows(st, 0, present, 10); err != nil {
		return err
	}
	n, u, err := s.readRows(st, 0, present, 10, 1)
	if err != nil {
		return err
	}
	s.record("small1", u.rate(n))
	s.record("small-cpu", u.cpuEach(n))
	return st.Close()
}
