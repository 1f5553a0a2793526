package main

import (
	"fmt"
	"path/filepath"
	"syscall"
)

// growthFactor is how much larger the large table is.
const growthFactor = 10

var growth = &Table{
	Name:  "growth",
	Title: "Growth",
	About: "A load in random order, and then reads of the same 10,000 rows, all in the cache, once these have had compacted what they have, of the usual table and of one with ten times as many rows: what an operation costs in processor time there, divided by what it costs here, and the rates likewise.",
	Figures: []Figure{
		{"load", "load rate, ten times the rows / once", plain},
		{"load-cpu", "processor time a cell loaded", plain},
		{"rows", "processor time a row", plain},
		{"absent", "processor time an absent row", plain},
		{"pages", "processor time a scan of 100 rows", plain},
	},
	Run:   runGrowth,
	Asked: true,
}

// cost is what operations on a table cost.
type cost struct{ rate, load, rows, absent, pages float64 }

func runGrowth(s *session) error {
	if err := s.wantRoom(); err != nil {
		return err
	}
	small, err := s.cost(1)
	if err != nil {
		return err
	}
	large, err := s.cost(growthFactor)
	if err != nil {
		return err
	}
	s.record("load", large.rate/small.rate)
	s.record("load-cpu", large.load/small.load)
	s.record("rows", large.rows/small.rows)
	s.record("absent", large.absent/small.absent)
	s.record("pages", large.pages/small.pages)
	return nil
}

// wantRoom refuses what the disk cannot hold: raw bytes, as much again for keys that
// are not packed, and that again for compactions.
func (s *session) wantRoom() error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(s.dir), &fs); err != nil {
		return err
	}
	free, want := int64(fs.Bavail)*fs.Bsize, 4*growthFactor*s.data.Raw()
	if free < want {
		return fmt.Errorf("the disk has %d MB free and the table may take %d: use fewer rows", free>>20, want>>20)
	}
	return nil
}

// cost loads the table so many times over, and measures.
func (s *session) cost(times int) (c cost, err error) {
	n := s.data.Len() * times
	config := s.config() // of the small table for both: only the data grows
	st, err := s.open(config)
	if err != nil {
		return c, err
	}
	u, _, err := loadSettled(st, n, endless(s.data, s.data.Shuffled(1)))
	if err != nil {
		return c, err
	}
	c.rate, c.load = u.rate(n*10), u.cpuEach(n*10)
	if err := st.Close(); err != nil {
		return c, err
	}
	if st, err = s.open(config); err != nil {
		return c, err
	}
	order := s.data.Shuffled(2)
	order = order[:min(len(order), 10_000)]
	for _, w := range []struct {
		keys  *keys
		cells int
		cost  *float64
	}{{keysOf(s.data, order, ""), 10, &c.rows}, {keysOf(s.data, order, "!"), 0, &c.absent}} {
		if err := warmRows(st, 0, w.keys, w.cells); err != nil {
			return c, err
		}
		err := twice(func() error { // the second counts
			n, u, err := s.readRows(st, 0, w.keys, w.cells, 1)
			*w.cost = u.cpuEach(n)
			return err
		})
		if err != nil {
			return c, err
		}
	}
	want := min(pageRows, s.data.Len())
	starts := startsOf(s.data, order[:max(len(order)/10, 1)], want)
	if err := warmPages(st, starts, want); err != nil {
		return c, err
	}
	err = twice(func() error {
		m, u, err := s.readPages(st, starts, want)
		c.pages = u.cpuEach(m)
		return err
	})
	if err != nil {
		return c, err
	}
	if err := st.Close(); err != nil {
		return c, err
	}
	return c, s.remove()
}
