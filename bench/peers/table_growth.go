package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
)

// growthFactor is the ratio of the large table to the small one.
const growthFactor = 10

var growth = &Table{
	Name:  "growth",
	Title: "Growth",
	About: "A load in random order, and then reads of the same 10,000 rows, all in the cache, of the usual table and of one with ten times as many rows: what an operation costs in CPU time there, divided by what it costs here, and the rates likewise. Reads are measured on both in turns, first soon after the load, and then when both were read for so long that what reads have compacted is over; the usual table is loaded five times, of which the median counts.",
	Figures: []Figure{
		{"once-rate", "once: cells/s loaded", perSecond},
		{"once-cpu", "once: CPU time a cell", micros},
		{"tenfold-rate", "ten times the rows: cells/s loaded", perSecond},
		{"tenfold-cpu", "ten times the rows: CPU time a cell", micros},
		{"tenfold-written", "ten times the rows: bytes written for each raw byte", plain},
		{"tenfold-worst", "ten times the rows: worst commit", millis},
		{"load", "load rate, ten times the rows / once", plain},
		{"load-cpu", "CPU time a cell loaded", plain},
		{"rows", "CPU time a row", plain},
		{"absent", "CPU time an absent row", plain},
		{"pages", "CPU time a scan of 100 rows", plain},
		{"rows-early", "soon after the load: a row", plain},
		{"absent-early", "an absent row", plain},
		{"pages-early", "a scan of 100 rows", plain},
	},
	Run:   runGrowth,
	Asked: true,
}

// growthTurns is how often each read is measured on both tables, in turns of a quarter of the
// usual time: a CPU may change its speed at any moment. Soon after the load it is earlyTurns, to be
// quick.
const growthTurns, earlyTurns = 12, 2

// growthReads is how often both tables are read before that, for a quarter of the usual time each:
// ten seconds, with some 50 million filter probes.
const growthReads = 40

// smallLoads is how often the usual table is loaded. One load takes seconds, with one or two
// compactions, so a single one varies.
const smallLoads = 5

func runGrowth(s *session) error {
	if err := s.wantRoom(); err != nil {
		return err
	}
	once, tenfold := s.within("once"), s.within("tenfold")
	rate, cpu, err := once.growAgain()
	if err != nil {
		return err
	}
	large, took, cells, err := tenfold.grow(growthFactor)
	if err != nil {
		return err
	}
	s.record("once-rate", rate)
	s.record("once-cpu", cpu)
	s.record("tenfold-rate", large.rate(cells))
	s.record("tenfold-cpu", large.cpuEach(cells))
	s.record("tenfold-written", float64(large.writtenBy(s.e))/float64(growthFactor*s.data.Raw()))
	s.record("tenfold-worst", took.percentile(100))
	s.record("load", large.rate(cells)/rate)
	s.record("load-cpu", large.cpuEach(cells)/cpu)
	if err := compareReads(once, tenfold); err != nil {
		return err
	}
	return s.remove()
}

// wantRoom fails if the disk is too small: raw bytes, as much again for unpacked keys, and all of it
// again for compactions.
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

// within returns the session for one of the tables.
func (s *session) within(name string) *session {
	t := *s
	t.dir, t.each = filepath.Join(s.dir, name), s.each/4
	return &t
}

// growAgain loads the usual table smallLoads times and returns the median rate and CPU time of a cell.
// The last load stays.
func (s *session) growAgain() (rate, cpu float64, err error) {
	var rates, cpus []float64
	for range smallLoads {
		if err := s.remove(); err != nil {
			return 0, 0, err
		}
		u, _, cells, err := s.grow(1)
		if err != nil {
			return 0, 0, err
		}
		rates, cpus = append(rates, u.rate(cells)), append(cpus, u.cpuEach(cells))
	}
	slices.Sort(rates)
	slices.Sort(cpus)
	return middle(rates), middle(cpus), nil
}

// grow loads the table so many times over, with the budgets of the small one: only the data grows.
func (s *session) grow(times int) (u used, took latencies, cells int, err error) {
	rows := s.data.Len() * times
	st, err := s.open(s.config())
	if err != nil {
		return u, nil, 0, err
	}
	if u, took, err = loadSettled(st, rows, s.shuffled.Nth); err != nil {
		return u, nil, 0, err
	}
	return u, took, 10 * rows, st.Close()
}

// compareReads records the cost of reads of the large table, divided by that on the small one.
func compareReads(once, tenfold *session) error {
	small, err := once.open(once.config())
	if err != nil {
		return err
	}
	large, err := tenfold.open(tenfold.config())
	if err != nil {
		return err
	}
	data := once.data
	order := data.Shuffled(2)
	order = order[:min(len(order), 10_000)]
	present, absent := keysOf(data, order, ""), keysOf(data, order, "!")
	want := min(pageRows, data.Len())
	starts := startsOf(data, order[:max(len(order)/10, 1)], want)
	kinds := []struct {
		figure string
		warm   func(Store) error
		read   func(*session, Store) (int, used, error)
	}{
		{"rows", func(st Store) error { return warmRows(st, 0, present, 10) },
			func(s *session, st Store) (int, used, error) { return s.readRows(st, 0, present, 10, 1) }},
		{"absent", func(st Store) error { return warmRows(st, 0, absent, 0) },
			func(s *session, st Store) (int, used, error) { return s.readRows(st, 0, absent, 0, 1) }},
		{"pages", func(st Store) error { return warmPages(st, starts, want) },
			func(s *session, st Store) (int, used, error) { return s.readPages(st, starts, want) }},
	}
	measure := func(suffix string, turns int) error {
		for _, k := range kinds {
			if err := errors.Join(k.warm(small), k.warm(large)); err != nil {
				return err
			}
			ratio, err := inTurns(turns,
				func() (int, used, error) { return k.read(once, small) },
				func() (int, used, error) { return k.read(tenfold, large) })
			if err != nil {
				return err
			}
			once.record(k.figure+suffix, ratio)
		}
		return nil
	}
	if err := measure("-early", earlyTurns); err != nil {
		return err
	}
	for range growthReads {
		for _, st := range []Store{small, large} {
			if _, _, err := once.readRows(st, 0, absent, 0, 1); err != nil {
				return err
			}
		}
	}
	if _, err := awaitQuiet(); err != nil {
		return err
	}
	return errors.Join(measure("", growthTurns), small.Close(), large.Close())
}

// inTurns returns the cost of the second operation divided by that of the first: the median over
// so many neighbouring turns.
func inTurns(turns int, first, second func() (int, used, error)) (float64, error) {
	var ratios []float64
	for range turns {
		n, a, err := first()
		if err != nil {
			return 0, err
		}
		m, b, err := second()
		if err != nil {
			return 0, err
		}
		ratios = append(ratios, b.cpuEach(m)/a.cpuEach(n))
	}
	slices.Sort(ratios)
	return middle(ratios), nil
}
