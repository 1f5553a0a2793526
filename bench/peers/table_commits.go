package main

import (
	"time"

	"github.com/colonnade-db/colonnade/cell"
)

// commitRuns are the numbers of writers, and how many times as long as other operations they run.
var commitRuns = []struct {
	name           string
	writers, times int
}{
	{"1", 1, 1}, {"8", 8, 1}, {"64-first", 64, 1}, {"64", 64, 10},
}

var commits = &Table{
	Name:     "commits",
	Title:    "Durable batches of ten cells",
	About:    "Each batch is a new row, and on the disk before its writer goes on; so many writers at once, beginning with an empty store. Nothing is scaled to the size of the table. 64 writers write for ten times as long as others, so that what they have written is flushed and compacted beside them; before that for as long as others: a second, in which memtables of 64 MiB are flushed once at most, and nothing is compacted.",
	Ceilings: true,
	Figures: []Figure{
		{"rate1", "batches/s, 1 writer", perSecond},
		{"p50-1", "median, 1 writer", millis},
		{"p99-1", "99th percentile, 1 writer", millis},
		{"rate8", "batches/s, 8 writers", perSecond},
		{"p50-8", "median, 8 writers", millis},
		{"p99-8", "99th percentile, 8 writers", millis},
		{"rate64-first", "batches/s, 64 writers, a tenth of the time", perSecond},
		{"p50-64-first", "median, likewise", millis},
		{"p99-64-first", "99th percentile, likewise", millis},
		{"cpu64-first", "CPU time a batch, likewise", micros},
		{"rate64", "batches/s, 64 writers", perSecond},
		{"p50-64", "median, 64 writers", millis},
		{"p99-64", "99th percentile, 64 writers", millis},
		{"cpu64", "CPU time a batch, 64 writers", micros},
		{"allocs64", "allocations a cell, 64 writers", plain},
		{"memory", "anonymous memory", mega},
		{"budget", "of that, memtables and cache may take", mega},
	},
	Run: runCommits,
}

func runCommits(s *session) error {
	memory, err := watchMemory()
	if err != nil {
		return err
	}
	defer memory.end()
	for _, r := range commitRuns {
		c := s.config()
		// Nothing is scaled to the table: the run time decides how much is written.
		c.Writers, c.Durable, c.Rows = r.writers, true, unscaledRows
		c.Cache = smallCache
		st, err := s.open(c)
		if err != nil {
			return err
		}
		took := newLatencies(r.writers)
		n, u, err := repeatFor(time.Duration(r.times)*s.each, r.writers, func(g int) func() error {
			return s.committer(st, g, r.writers, took)
		})
		if err != nil {
			return err
		}
		s.record("rate"+r.name, u.rate(n))
		s.record("p50-"+r.name, took.percentile(50))
		s.record("p99-"+r.name, took.percentile(99))
		s.record("cpu"+r.name, u.cpuEach(n))
		s.record("allocs"+r.name, float64(u.mallocs)/float64(n)/10)
		s.record("budget", megabytes(c.memtables()+c.Cache))
		if err := st.Close(); err != nil {
			return err
		}
		if err := s.remove(); err != nil {
			return err
		}
	}
	s.record("memory", memory.most())
	return nil
}

// committer returns a function that commits the next row of writer g.
func (s *session) committer(st Store, g, writers int, took latencies) func() error {
	w, rows := st.Writer(), s.shuffled.Stream(g, writers)
	var key []byte
	var cells []cell.Cell
	return func() error {
		key, cells = rows.Next(key, cells[:0])
		for i := range cells {
			w.Set(0, key, &cells[i])
		}
		start := time.Now()
		err := w.Commit()
		took.add(g, time.Since(start))
		return err
	}
}
