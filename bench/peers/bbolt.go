package main

import (
	"bytes"
	"path/filepath"
	"time"

	"github.com/colonnade-db/colonnade/cell"

	"go.etcd.io/bbolt"
)

var bboltEngine = &Engine{
	Name:   "bbolt",
	About:  "bbolt, free list in a map, no statistics; durable writers share transactions (`Batch`); nothing is compressed. Its cache is the page cache",
	Open:   openBbolt,
	Tables: []string{".bolt"},
	Mapped: true,
}

type bboltStore struct {
	db     *bbolt.DB
	spaces int
	update func(func(*bbolt.Tx) error) error
}

var bboltBucket = []byte("cells")

func openBbolt(dir string, c Config) (Store, error) {
	o := *bbolt.DefaultOptions
	o.FreelistType = bbolt.FreelistMapType
	o.NoStatistics = true
	o.NoSync, o.NoGrowSync = !c.Durable, !c.Durable
	db, err := bbolt.Open(filepath.Join(dir, "data.bolt"), 0o600, &o)
	if err != nil {
		return nil, err
	}
	s := &bboltStore{db: db, spaces: c.Spaces, update: db.Update}
	if c.Durable && c.Writers > 1 {
		// A transaction starts as soon as all writers wait for one.
		db.MaxBatchSize, db.MaxBatchDelay = c.Writers, time.Millisecond
		s.update = db.Batch
	}
	return s, db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bboltBucket)
		return err
	})
}

// Flush syncs what was written without a sync: there is no memtable.
func (s *bboltStore) Flush() error { return s.db.Sync() }
func (s *bboltStore) Close() error { return s.db.Close() }

func (s *bboltStore) Writer() Writer { return &bboltWriter{s: s} }

// bboltWriter packs its batch into one piece of memory. The transaction keeps it to its end.
type bboltWriter struct {
	s   *bboltStore
	buf []byte
	ops []bboltOp
}

// bboltOp is a key and a value in a writer's memory. A deletion has no value.
type bboltOp struct{ key, value, end int }

func (w *bboltWriter) add(space int, row []byte, c *cell.Cell, value bool) {
	op := bboltOp{key: len(w.buf)}
	w.buf = appendCell(appendRow(w.buf, w.s.spaces, space, row), c)
	op.value = len(w.buf)
	if value {
		w.buf = appendValue(w.buf, c)
	}
	op.end = len(w.buf)
	w.ops = append(w.ops, op)
}

func (w *bboltWriter) Set(space int, row []byte, c *cell.Cell) { w.add(space, row, c, true) }

func (w *bboltWriter) DeleteRow(space int, row []byte, cells []cell.Cell) {
	for i := range cells {
		w.add(space, row, &cells[i], false)
	}
}

func (w *bboltWriter) Commit() error {
	err := w.s.update(func(tx *bbolt.Tx) (err error) {
		b := tx.Bucket(bboltBucket)
		for _, op := range w.ops {
			if op.value == op.end {
				err = b.Delete(w.buf[op.key:op.value])
			} else {
				err = b.Put(w.buf[op.key:op.value], w.buf[op.value:op.end])
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	w.buf, w.ops = w.buf[:0], w.ops[:0]
	return err
}

func (s *bboltStore) Reader() Reader { return &bboltReader{s: s} }

type bboltReader struct {
	s        *bboltStore
	key, end []byte
}

func (r *bboltReader) Row(space int, row []byte) (Answer, error) {
	r.key = appendRow(r.key[:0], r.s.spaces, space, row)
	r.end = rowEnd(r.end[:0], r.key)
	return r.walk(r.key, r.end, &Query{Space: space})
}

func (r *bboltReader) Scan(q Query) (Answer, error) {
	start, end := scanBounds(r.s.spaces, &q)
	return r.walk(start, end, &q)
}

func (r *bboltReader) walk(start, end []byte, q *Query) (Answer, error) {
	w := newWalk(r.s.spaces, q)
	err := r.s.db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bboltBucket).Cursor()
		for key, value := c.Seek(start); key != nil; key, value = c.Next() {
			if end != nil && bytes.Compare(key, end) >= 0 {
				return nil
			}
			if more, err := w.take(key, value); err != nil || !more {
				return err
			}
		}
		return nil
	})
	return w.answer, err
}
