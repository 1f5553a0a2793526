package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/colonnade-db/colonnade/cell"
)

var largeValues = &Table{
	Name:  "values",
	Title: "Values of 1 MiB",
	About: "Values that do not compress, each a row and a batch, one writer; then rows at random out of a store opened anew.",
	Figures: []Figure{
		{"write", "written, MB/s", plain},
		{"written", "bytes written for each raw byte", plain},
		{"read", "read, MB/s", plain},
		{"memory", "anonymous memory", mega},
		{"budget", "of that, memtables and cache may take", mega},
	},
	Run: runValues,
}

const largeValue = 1 << 20

func runValues(s *session) error {
	n := max(s.rows/500, 16)
	value := make([]byte, largeValue)
	rand.NewChaCha8([32]byte{1}).Read(value)
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
	u, err := writeValues(st, n, value)
	if err != nil {
		return err
	}
	s.record("write", float64(n*largeValue)/1e6/u.wall.Seconds())
	s.record("written", float64(u.writtenBy(s.e))/float64(n*largeValue))
	if err := st.Close(); err != nil {
		return err
	}
	if st, err = s.open(c); err != nil {
		return err
	}
	k := new(keys)
	for _, i := range rand.New(rand.NewPCG(1, 0)).Perm(n) {
		k.bytes = append(k.bytes, valueKey(i)...)
		k.ends = append(k.ends, len(k.bytes))
	}
	if err := warmRows(st, 0, k, 1); err != nil {
		return err
	}
	ops, u, err := s.readRows(st, 0, k, 1, 1)
	if err != nil {
		return err
	}
	s.record("read", u.rate(ops)*largeValue/1e6)
	s.record("memory", memory.most())
	return st.Close()
}

func valueKey(i int) []byte { return fmt.Appendf(nil, "object-%08d", i) }

// writeValues writes distinct values and waits until nothing is left to do.
func writeValues(st Store, n int, value []byte) (u used, err error) {
	before, err := readUsage()
	if err != nil {
		return u, err
	}
	w := st.Writer()
	c := version("contents:", 1, "")
	for i := range n {
		at := i * 4096 % len(value) // so that all begin differently
		c.Value = append(append(c.Value[:0], value[at:]...), value[:at]...)
		w.Set(0, valueKey(i), c)
		if err := w.Commit(); err != nil {
			return u, err
		}
	}
	if err := st.Flush(); err != nil {
		return u, err
	}
	after, err := awaitQuiet()
	return after.since(before), err
}

// version makes a version of the cell of a column "family:qualifier".
func version(column string, time int64, value string) *cell.Cell {
	c := &cell.Cell{Time: time, Type: cell.Bytes, Value: []byte(value)}
	setColumn(c, column)
	return c
}
