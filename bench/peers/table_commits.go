package main

import (
	"fmt"
	"time"

	"colonnade/cell"
)

var commitWriters = []int{1, 8, 64}

var commits = &Table{
	Name:     "commits",
	Title:    "Durable batches of ten cells",
	About:    "Each batch is a new row, and on the disk before its writer goes on; so many writers at once. Nothing is scaled to the size of the table. In a short time memtables of 64 MiB are hardly flushed, and nothing is compacted.",
	Ceilings: true,
	Figures: []Figure{
		{"rate1", "batches/s, 1 writer", perSecond},
		{"p50-1", "median, 1 writer", millis},
		{"p99-1", "99th percentile, 1 writer", millis},
		{"rate8", "batches/s, 8 writers", perSecond},
		{"p50-8", "median, 8 writers", millis},
		{"p99-8", "99th percentile, 8 writers", millis},
		{"rate64", "batches/s, 64 writers", perSecond},
		{"p50-64", "median, 64 writers", millis},
		{"p99-64", "99th percentile, 64 writers", millis},
		{"cpu64", "processor time a batch, 64 writers", micros},
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
	for _, writers := range commitWriters {
		c := s.config()
		// Nothing is scaled to the table: what is written goes by the time.
		c.Writers, c.Durable, c.Rows = writers, true, unscaledRows
		c.Cache = smallCache
		st, err := s.open(c)
		if err != nil {
			return err
		}
		took := make(latencies, writers)
		n, u, err := s.repeat(writers, func(g int) func() error {
			w, rows, next := st.Writer(), endless(s.shuffled), g
			var key []byte
			var cells []cell.Cell
			return func() error {
				key, cells = rows(next, key, cells[:0])
				next += writers
				for i := range cells {
					w.Set(0, key, &cells[i])
				}
				start := time.Now()
				err := w.Commit()
				took[g] = append(took[g], time.Since(start))
				return err
			}
		})
		if err != nil {
			return err
		}
		s.record(fmt.Sprintf("rate%d", writers), u.rate(n))
		s.record(fmt.Sprintf("p50-%d", writers), took.percentile(50))
		s.record(fmt.Sprintf("p99-%d", writers), took.percentile(99))
		s.record(fmt.Sprintf("cpu%d", writers), u.cpuEach(n))
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
