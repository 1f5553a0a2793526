package main

import (
	"fmt"

	"github.com/colonnade-db/colonnade/bench/dataset"
)

// pageRows is the number of rows of a short scan.
const pageRows = 100

var reads = &Table{
	Name:  "reads",
	Title: "Reads",
	About: "Of the table loaded in random order, settled, closed and opened again, with a cache of 1 GiB, and at last with one of 64 MiB. Files are in the page cache throughout. The first scan finds nothing in the cache of the engine, and goes past it where that is possible (colonnade, where it is what scans do, and goleveldb); rows, and the first 3,000 short scans, are asked for twice before they are measured, with a pause in which engines may compact what was read. An absent row has the key of one that is there, and one byte more.",
	Figures: []Figure{
		{"scan-first", "full scan, first, cells/s", perSecond},
		{"scan-warm", "full scan, warm, cells/s", perSecond},
		{"scan-cpu", "CPU time a cell, warm", micros},
		{"rows1", "rows/s, 1 goroutine", perSecond},
		{"rows4", "rows/s, 4 goroutines", perSecond},
		{"rows-cpu", "CPU time a row", micros},
		{"absent1", "absent rows/s, 1 goroutine", perSecond},
		{"absent4", "absent rows/s, 4 goroutines", perSecond},
		{"absent-cpu", "CPU time an absent row", micros},
		{"pages1", "scans of 100 rows/s", perSecond},
		{"pages-cpu", "CPU time a scan of 100 rows", micros},
		{"small1", "rows/s, cache of 64 MiB", perSecond},
		{"small-cpu", "CPU time a row, cache of 64 MiB", micros},
		{"memory", "anonymous memory, cache of 1 GiB", mega},
		{"budget", "of that, memtables and cache may take", mega},
		{"small-memory", "anonymous memory, cache of 64 MiB", mega},
		{"small-budget", "of that, memtables and cache may take", mega},
		{"scan-allocs", "allocations a cell, warm scan", plain},
		{"rows-allocs", "allocations a cell, rows", plain},
	},
	Run: runReads,
}

// readKeys are the keys that a session asks for, made before memory is tracked.
type readKeys struct{ present, absent, starts *keys }

func runReads(s *session) error {
	k := readKeys{
		present: keysOf(s.data, s.data.Shuffled(2), ""),
		absent:  keysOf(s.data, s.data.Shuffled(3), "~"),
		starts:  startsOf(s.data, s.data.Shuffled(4), min(pageRows, s.data.Len())),
	}
	memory, err := watchMemory()
	if err != nil {
		return err
	}
	defer memory.end()
	if err := s.loadAndClose(); err != nil {
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
	st, err := s.openQuiet(c)
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

// openQuiet opens a store and waits until its background work is done.
func (s *session) openQuiet(c Config) (Store, error) {
	st, err := s.open(c)
	if err == nil {
		_, err = awaitQuiet()
	}
	return st, err
}

// loadAndClose makes the store of a table that reads.
func (s *session) loadAndClose() error {
	st, err := s.open(s.config())
	if err != nil {
		return err
	}
	if _, _, err := loadSettled(st, s.shuffled.Len(), inOrder(s.shuffled)); err != nil {
		return err
	}
	return st.Close()
}

func (s *session) scans(st Store) error {
	rows, cells := s.data.Len(), int(s.data.Cells())
	u, err := scanAll(st, Query{Once: true}, rows, cells)
	if err != nil {
		return err
	}
	s.record("scan-first", u.rate(cells))
	n, u, err := s.warmScans(st, rows, cells)
	if err != nil {
		return err
	}
	s.record("scan-warm", u.rate(n*cells))
	s.record("scan-cpu", u.cpuEach(n*cells))
	s.record("scan-allocs", float64(u.mallocs)/float64(n*cells))
	return nil
}

// warmScans scans everything several times before it is measured.
func (s *session) warmScans(st Store, rows, cells int) (int, used, error) {
	if err := wantScan(st, Query{}, rows, cells); err != nil {
		return 0, used{}, err
	}
	return s.repeat(1, func(int) func() error {
		return func() error { return wantScan(st, Query{}, rows, cells) }
	})
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
	if err := warmPages(st, starts, want); err != nil {
		return err
	}
	n, u, err := s.readPages(st, starts, want)
	s.record("pages1", u.rate(n))
	s.record("pages-cpu", u.cpuEach(n))
	return err
}

// readPages runs short scans from the starts in turn.
func (s *session) readPages(st Store, starts *keys, want int) (int, used, error) {
	return s.repeat(1, func(int) func() error { return page(st, starts, want) })
}

// warmPages runs a short scan from each of the first few thousand starts, twice.
func warmPages(st Store, starts *keys, want int) error {
	return twice(func() error {
		next := page(st, starts, want)
		for range min(len(starts.ends), warmStarts) {
			if err := next(); err != nil {
				return err
			}
		}
		return nil
	})
}

const warmStarts = 3000

// page returns a function that scans so many rows from the next start.
func page(st Store, starts *keys, want int) func() error {
	r, next := st.Reader(), 0
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
}

// startsOf returns row keys, in the given order, or earlier ones where too few rows follow.
func startsOf(data *dataset.Table, order []int, rows int) *keys {
	for i := range order {
		order[i] = min(order[i], data.Len()-rows)
	}
	return keysOf(data, order, "")
}

func (s *session) smallCache(c Config, present *keys) error {
	st, err := s.openQuiet(c)
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
