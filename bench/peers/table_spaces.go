package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/colonnade-db/colonnade/cell"
)

var manySpaces = &Table{
	Name:  "spaces",
	Title: "A thousand tables",
	About: "The rows in random order, each into one of 1,000 tables: partitions of this engine, prefixes of the keys of the others. A batch of 1,000 cells goes to a hundred tables or so.",
	Figures: []Figure{
		{"write", "cells written/s, settled", perSecond},
		{"open", "open after a close", millis},
		{"rows", "rows/s, 1 goroutine", perSecond},
		{"memory", "anonymous memory", mega},
		{"budget", "of that, memtables and cache may take", mega},
	},
	Run: runSpaces,
}

const spaceCount = 1000

func runSpaces(s *session) error {
	c := s.config()
	c.Spaces, c.Cache = spaceCount, c.scaled(smallCache, 1<<20)
	memory, err := watchMemory()
	if err != nil {
		return err
	}
	defer memory.end()
	st, err := s.open(c)
	if err != nil {
		return err
	}
	u, err := s.loadSpaces(st)
	if err != nil {
		return err
	}
	s.record("write", u.rate(int(s.data.Cells())))
	if err := st.Close(); err != nil {
		return err
	}
	start := time.Now()
	if st, err = s.open(c); err != nil {
		return err
	}
	s.record("open", milliseconds(time.Since(start)))
	rows := s.shuffled.Shuffled(2)
	rows = rows[:min(len(rows), 100_000)]
	read := func(r Reader, i int) error { return wantRow(r, spaceOf(rows[i]), s.shuffled.Key(rows[i]), 10) }
	r, next := st.Reader(), 0
	for i := range rows {
		if err := read(r, i); err != nil {
			return err
		}
	}
	n, u, err := s.repeat(1, func(int) func() error {
		return func() error {
			next++
			return read(r, next%len(rows))
		}
	})
	if err != nil {
		return err
	}
	s.record("rows", u.rate(n))
	s.record("memory", memory.most())
	s.record("budget", megabytes(c.memtables()+c.Cache))
	return st.Close()
}

// spaceOf returns the space of a row of the shuffled table.
func spaceOf(row int) int { return int(rand.NewPCG(uint64(row), 0).Uint64() % spaceCount) }

// loadSpaces writes each row into its space, with one writer.
func (s *session) loadSpaces(st Store) (u used, err error) {
	before, err := readUsage()
	if err != nil {
		return u, err
	}
	w := st.Writer()
	var cells []cell.Cell
	for i := range s.shuffled.Len() {
		var key []byte
		key, cells = s.shuffled.Row(i, cells[:0])
		for k := range cells {
			w.Set(spaceOf(i), key, &cells[k])
		}
		if i%loadRows == loadRows-1 || i == s.shuffled.Len()-1 {
			if err := w.Commit(); err != nil {
				return u, fmt.Errorf("batch %d: %w", i/loadRows, err)
			}
		}
	}
	if err := st.Flush(); err != nil {
		return u, err
	}
	after, err := awaitQuiet()
	return after.since(before), err
}
