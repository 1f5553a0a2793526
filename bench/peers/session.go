package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/colonnade-db/colonnade/bench/dataset"
	"github.com/colonnade-db/colonnade/cell"
)

// session is one table of work on one engine, in its own process.
type session struct {
	e       *Engine
	dir     string // of the store, empty at first
	rows    int
	each    time.Duration // the time for which an operation is repeated
	figures map[string]float64

	data     *dataset.Table // in key order
	shuffled *dataset.Table // the same rows in random order
	wide     *dataset.Table // rows with much data in one family, in random order
}

// record sets a figure of the session's table.
func (s *session) record(name string, value float64) { s.figures[name] = value }

// config is the usual configuration.
func (s *session) config() Config {
	return Config{Rows: s.rows, Cache: largeCache, Spaces: 1, Writers: 1}
}

func (s *session) open(c Config) (Store, error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	return s.e.Open(s.dir, c)
}

// remove deletes the store, so that the session can make another one.
func (s *session) remove() error { return os.RemoveAll(s.dir) }

// tableBytes is the size of the files of the data.
func (s *session) tableBytes() (total int64, err error) {
	err = filepath.WalkDir(s.dir, func(name string, d fs.DirEntry, err error) error {
		for _, end := range s.e.Tables {
			if err == nil && strings.HasSuffix(name, end) {
				info, err := d.Info()
				if err != nil {
					return err
				}
				total += info.Size()
			}
		}
		return err
	})
	return total, err
}

const (
	loaders  = 4
	loadRows = 100 // in a batch, of ten cells each
)

// source makes row n. The cells are appended to dst, and the key replaces the content of buf. Both may
// share the data's memory.
type source func(n int, buf []byte, dst []cell.Cell) (key []byte, cells []cell.Cell)

// inOrder returns the rows of a table in order.
func inOrder(data *dataset.Table) source {
	return func(n int, _ []byte, dst []cell.Cell) ([]byte, []cell.Cell) { return data.Row(n, dst) }
}

// load writes n rows of a source into a space with four writers at once, and returns the latencies of
// the commits.
func load(st Store, space, n int, rows source) (latencies, error) {
	took := newLatencies(loaders)
	var next atomic.Int64
	err := together(loaders, func(g int) error {
		w := st.Writer()
		var key []byte
		var cells []cell.Cell
		for {
			from := int(next.Add(1)-1) * loadRows
			if from >= n {
				return nil
			}
			for i := from; i < min(from+loadRows, n); i++ {
				key, cells = rows(i, key[:0:cap(key)], cells[:0])
				for k := range cells {
					w.Set(space, key, &cells[k])
				}
			}
			start := time.Now()
			if err := w.Commit(); err != nil {
				return err
			}
			took.add(g, time.Since(start))
		}
	})
	return took, err
}

// together runs goroutines and waits for them.
func together(n int, run func(g int) error) error {
	var all sync.WaitGroup
	errs := make([]error, n)
	for g := range n {
		all.Go(func() { errs[g] = run(g) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// repeat calls operations in several goroutines for the session's time. It returns the number of calls
// and their usage. start makes the operation of each goroutine.
func (s *session) repeat(goroutines int, start func(g int) func() error) (int, used, error) {
	return repeatFor(s.each, goroutines, start)
}

// repeatFor is repeat for a given time.
func repeatFor(d time.Duration, goroutines int, start func(g int) func() error) (int, used, error) {
	var ops atomic.Int64
	var over atomic.Bool
	before, err := readUsage()
	if err != nil {
		return 0, used{}, err
	}
	timer := time.AfterFunc(d, func() { over.Store(true) })
	defer timer.Stop()
	err = together(goroutines, func(g int) error {
		op, n := start(g), 0
		defer func() { ops.Add(int64(n)) }()
		for !over.Load() {
			if err := op(); err != nil {
				over.Store(true)
				return err
			}
			n++
		}
		return nil
	})
	after, err2 := readUsage()
	return int(ops.Load()), after.since(before), errors.Join(err, err2)
}

// keys are the keys that reads ask for, adjacent in memory, so that finding the next one costs
// nothing.
type keys struct {
	bytes []byte
	ends  []int
}

// keysOf packs the row keys of a table, in the given order and with a suffix.
func keysOf(data *dataset.Table, order []int, suffix string) *keys {
	k := new(keys)
	for _, i := range order {
		k.bytes = append(append(k.bytes, data.Key(i)...), suffix...)
		k.ends = append(k.ends, len(k.bytes))
	}
	return k
}

func (k *keys) at(i int) []byte {
	from := 0
	if i > 0 {
		from = k.ends[i-1]
	}
	return k.bytes[from:k.ends[i]:k.ends[i]]
}

// readRows reads rows in several goroutines, each from another start. Each row must have the given
// number of cells, or at least one if cells is negative.
func (s *session) readRows(st Store, space int, k *keys, cells, goroutines int) (int, used, error) {
	return s.repeat(goroutines, func(g int) func() error {
		r, next := st.Reader(), g*len(k.ends)/goroutines
		return func() error {
			key := k.at(next)
			if next++; next == len(k.ends) {
				next = 0
			}
			return wantRow(r, space, key, cells)
		}
	})
}

// warmRows reads each row twice.
func warmRows(st Store, space int, k *keys, cells int) error {
	r := st.Reader()
	return twice(func() error {
		for i := range k.ends {
			if err := wantRow(r, space, k.at(i), cells); err != nil {
				return err
			}
		}
		return nil
	})
}

// twice calls a function that reads, waits for the compactions that reads trigger in some engines, and
// calls it again. So as much of the data as fits is in the cache.
func twice(read func() error) error {
	if err := read(); err != nil {
		return err
	}
	if _, err := awaitQuiet(); err != nil {
		return err
	}
	return read()
}

func wantRow(r Reader, space int, key []byte, cells int) error {
	a, err := r.Row(space, key)
	if err == nil && a.Cells != cells && (cells >= 0 || a.Cells == 0) {
		err = fmt.Errorf("row %q has %d cells, want %d", key, a.Cells, cells)
	}
	return err
}

// scanAll scans a whole space and returns the usage.
func scanAll(st Store, q Query, rows, cells int) (u used, err error) {
	before, err := readUsage()
	if err != nil {
		return u, err
	}
	if err := wantScan(st, q, rows, cells); err != nil {
		return u, err
	}
	after, err := readUsage()
	return after.since(before), err
}

// wantScan scans, and checks that everything is there.
func wantScan(st Store, q Query, rows, cells int) error {
	a, err := st.Reader().Scan(q)
	if err == nil && (a.Rows != rows || a.Cells != cells) {
		err = fmt.Errorf("a scan has %d rows of %d cells, want %d of %d", a.Rows, a.Cells, rows, cells)
	}
	return err
}

// megabytes converts to units of 1,000,000 bytes.
func megabytes(n int64) float64 { return math.Round(float64(n)/1e4) / 100 }

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
