package main

import "github.com/colonnade-db/colonnade/bench/dataset"

var loadFigures = []Figure{
	{"rate", "cells/s", perSecond},
	{"cpu", "CPU time a cell", micros},
	{"written", "bytes written for each raw byte", plain},
	{"disk", "tables on disk", mega},
	{"space", "bytes of them for each raw byte", plain},
	{"worst", "worst commit", millis},
	{"memory", "anonymous memory", mega},
	{"budget", "of that, memtables and cache may take", mega},
	{"allocs", "allocations a cell", plain},
}

var orderedLoad = &Table{
	Name:    "ordered",
	Title:   "Load in key order",
	About:   "The whole table into an empty store: four writers, batches of 1,000 cells, until nothing is left to flush or compact, where the engine can be asked to flush. Bytes written are those of write calls, as the operating system counts them, the log included; of Badger, which writes through memory maps, pages that became dirty; the size on disk is that of the tables after a close.",
	Figures: loadFigures,
	Run:     func(s *session) error { return runLoad(s, s.data) },
}

var randomLoad = &Table{
	Name:    "random",
	Title:   "Load in random order",
	About:   "The same in an order that has nothing to do with the keys.",
	Figures: loadFigures,
	Run:     func(s *session) error { return runLoad(s, s.shuffled) },
}

func runLoad(s *session, data *dataset.Table) error {
	c := s.config()
	c.Cache = c.scaled(smallCache, 1<<20) // a load reads nothing twice
	memory, err := watchMemory()
	if err != nil {
		return err
	}
	defer memory.end()
	st, err := s.open(c)
	if err != nil {
		return err
	}
	u, took, err := loadSettled(st, data.Len(), inOrder(data))
	if err != nil {
		return err
	}
	cells := int(data.Cells())
	s.record("rate", u.rate(cells))
	s.record("cpu", u.cpuEach(cells))
	s.record("written", float64(u.writtenBy(s.e))/float64(data.Raw()))
	s.record("worst", took.percentile(100))
	s.record("memory", memory.most())
	s.record("budget", megabytes(c.memtables()+c.Cache))
	s.record("allocs", float64(u.mallocs)/float64(cells))
	if err := st.Close(); err != nil {
		return err
	}
	disk, err := s.tableBytes()
	s.record("disk", megabytes(disk))
	s.record("space", float64(disk)/float64(data.Raw()))
	return err
}

// loadSettled loads the rows, waits until nothing is left to do, and returns the usage of all that.
func loadSettled(st Store, n int, rows source) (u used, took latencies, err error) {
	before, err := readUsage()
	if err != nil {
		return u, nil, err
	}
	if took, err = load(st, 0, n, rows); err != nil {
		return u, nil, err
	}
	if err := st.Flush(); err != nil {
		return u, nil, err
	}
	after, err := awaitQuiet()
	return after.since(before), took, err
}
