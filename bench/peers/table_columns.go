package main

import (
	"bytes"
	"fmt"

	"github.com/colonnade-db/colonnade/cell"
)

var manyColumns = &Table{
	Name:  "columns",
	Title: "One row of many columns",
	About: "A row of ten columns for each row of the other tables, but a million at most, in batches of 1,000 cells in any order; then the whole row, out of a store opened anew, for the second time.",
	Figures: []Figure{
		{"write", "cells written/s, settled", perSecond},
		{"read", "cells of the row read/s", perSecond},
		{"memory", "anonymous memory", mega},
		{"budget", "of that, memtables and cache may take", mega},
	},
	Run: runColumns,
}

func runColumns(s *session) error {
	n := min(s.rows*10, 1_000_000) / 1000 * 1000
	if n == 0 {
		n = 1000
	}
	row := []byte("row")
	memory, err := watchMemory()
	if err != nil {
		return err
	}
	defer memory.end()
	c := s.config()
	s.record("budget", megabytes(c.memtables()+c.Cache))
	st, err := s.open(c)
	if err != nil {
		return err
	}
	u, _, err := loadSettled(st, n/10, columnsOf(row, n))
	if err != nil {
		return err
	}
	s.record("write", u.rate(n))
	if err := st.Close(); err != nil {
		return err
	}
	if st, err = s.open(c); err != nil {
		return err
	}
	k := &keys{bytes: row, ends: []int{len(row)}}
	if err := warmRows(st, 0, k, n); err != nil {
		return err
	}
	ops, u, err := s.readRows(st, 0, k, n, 1)
	if err != nil {
		return err
	}
	s.record("read", u.rate(ops*n))
	s.record("memory", memory.most())
	return st.Close()
}

// columnsOf makes n columns of a row, ten at a time, in scattered order: n and the step are coprime.
func columnsOf(row []byte, n int) source {
	const step = 611_953 // a prime
	return func(part int, _ []byte, dst []cell.Cell) ([]byte, []cell.Cell) {
		for i := range 10 {
			number := (part*10 + i) * step % n
			c := cell.Cell{Time: 1, Type: cell.String, Value: fmt.Appendf(nil, "value of column %d", number)}
			setColumn(&c, fmt.Sprintf("links:%08d", number))
			dst = append(dst, c)
		}
		return row, dst
	}
}

// setColumn sets the column "family:qualifier" of a cell.
func setColumn(c *cell.Cell, column string) {
	family, qualifier, _ := bytes.Cut([]byte(column), []byte(":"))
	c.Column = cell.AppendColumn(nil, family, qualifier)
}
