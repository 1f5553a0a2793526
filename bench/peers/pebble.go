package main

import (
	"bytes"
	"errors"

	"github.com/colonnade-db/colonnade/cell"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

var pebbleTuned = &Engine{
	Name:   "pebble-tuned",
	About:  "Pebble v2, newest format; memtables of 64 MiB, row-prefix Bloom filters of 10 bits in every level, used in the last one too, `Split` at the row, at most two compactions at once; blocks of 4 KiB in Snappy",
	Open:   func(dir string, c Config) (Store, error) { return openPebble(dir, c, true) },
	Tables: []string{".sst"},
}

var pebbleDefault = &Engine{
	Name:   "pebble",
	About:  "Pebble v2, newest format, default options but for the cache, and for memtables where all have the same (*Reopen*)",
	Open:   func(dir string, c Config) (Store, error) { return openPebble(dir, c, false) },
	Tables: []string{".sst"},
}

// rowComparer orders keys by their bytes, and splits off the row.
var rowComparer = func() *pebble.Comparer {
	c := *pebble.DefaultComparer
	c.Name = "colonnade.bench.rows"
	c.Split = func(key []byte) int {
		if i := bytes.IndexByte(key, 0); i >= 0 {
			return i + 1
		}
		return len(key)
	}
	return &c
}()

type pebbleStore struct {
	db      *pebble.DB
	spaces  int
	tuned   bool
	durable *pebble.WriteOptions
}

func openPebble(dir string, c Config, tuned bool) (Store, error) {
	o := &pebble.Options{
		FormatMajorVersion: pebble.FormatNewest,
		CacheSize:          c.Cache,
		LBaseMaxBytes:      c.scaled(64<<20, 1<<20),
		Logger:             silent{},
	}
	o.TargetFileSizes[0] = c.scaled(2<<20, 64<<10)
	o.MemTableSize = uint64(c.scaled(4<<20, 256<<10))
	if c.Memtables > 0 || tuned {
		o.MemTableSize = uint64(c.memtables() / 2)
	}
	if tuned {
		o.Comparer = rowComparer
		o.CompactionConcurrencyRange = func() (int, int) { return 1, 2 }
		for i := range o.Levels {
			o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		}
	}
	db, err := pebble.Open(dir, o)
	if err != nil {
		return nil, err
	}
	s := &pebbleStore{db: db, spaces: c.Spaces, tuned: tuned, durable: pebble.NoSync}
	if c.Durable {
		s.durable = pebble.Sync
	}
	return s, nil
}

// silent is a logger that drops everything.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	pebble.DefaultLogger.Fatalf(format, args...)
}

func (s *pebbleStore) Flush() error { return s.db.Flush() }
func (s *pebbleStore) Close() error { return s.db.Close() }

func (s *pebbleStore) Writer() Writer { return &pebbleWriter{s: s, batch: s.db.NewBatch()} }

type pebbleWriter struct {
	s        *pebbleStore
	batch    *pebble.Batch
	key, end []byte
	value    []byte
	err      error
}

func (w *pebbleWriter) Set(space int, row []byte, c *cell.Cell) {
	w.key = appendCell(appendRow(w.key[:0], w.s.spaces, space, row), c)
	w.value = appendValue(w.value[:0], c)
	w.err = errors.Join(w.err, w.batch.Set(w.key, w.value, nil))
}

func (w *pebbleWriter) DeleteRow(space int, row []byte, _ []cell.Cell) {
	w.key = appendRow(w.key[:0], w.s.spaces, space, row)
	w.end = rowEnd(w.end[:0], w.key)
	w.err = errors.Join(w.err, w.batch.DeleteRange(w.key, w.end, nil))
}

func (w *pebbleWriter) Commit() error {
	err := errors.Join(w.err, w.batch.Commit(w.s.durable))
	w.batch.Reset()
	return err
}

func (s *pebbleStore) Reader() Reader { return &pebbleReader{s: s} }

type pebbleReader struct {
	s        *pebbleStore
	key, end []byte
}

// Row asks the filters, if there are any, and reads the row.
func (r *pebbleReader) Row(space int, row []byte) (Answer, error) {
	r.key = appendRow(r.key[:0], r.s.spaces, space, row)
	r.end = rowEnd(r.end[:0], r.key)
	it, err := r.s.db.NewIter(&pebble.IterOptions{LowerBound: r.key, UpperBound: r.end, UseL6Filters: r.s.tuned})
	if err != nil {
		return Answer{}, err
	}
	valid := false
	if r.s.tuned {
		valid = it.SeekPrefixGE(r.key)
	} else {
		valid = it.First()
	}
	return r.walk(it, valid, &Query{Space: space})
}

func (r *pebbleReader) Scan(q Query) (Answer, error) {
	start, end := scanBounds(r.s.spaces, &q)
	it, err := r.s.db.NewIter(&pebble.IterOptions{LowerBound: start, UpperBound: end})
	if err != nil {
		return Answer{}, err
	}
	return r.walk(it, it.First(), &q)
}

// walk reads to the end and closes the iterator.
func (r *pebbleReader) walk(it *pebble.Iterator, valid bool, q *Query) (a Answer, err error) {
	w := newWalk(r.s.spaces, q)
	for ; valid; valid = it.Next() {
		more, err := w.take(it.Key(), it.Value())
		if err != nil || !more {
			return w.answer, errors.Join(err, it.Close())
		}
	}
	return w.answer, it.Close() // returns the error that ended it
}
