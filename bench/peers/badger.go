package main

import (
	"bytes"
	"errors"

	"github.com/colonnade-db/colonnade/cell"

	"github.com/dgraph-io/badger/v4"
)

var badgerEngine = &Engine{
	Name:   "badger",
	About:  "Badger v4, two memtables of 64 MiB, blocks of 4 KiB in Snappy, no detection of conflicts, no metrics, no prefetch (values are beside their keys)",
	Open:   openBadger,
	Tables: []string{".sst", ".vlog"},
	Mapped: true, MappedWrites: true,
}

type badgerStore struct {
	db     *badger.DB
	spaces int
}

func openBadger(dir string, c Config) (Store, error) {
	o := badger.DefaultOptions(dir).
		WithLogger(nil).
		WithMetricsEnabled(false).
		WithDetectConflicts(false).
		WithSyncWrites(c.Durable).
		WithNumMemtables(1).                           // besides the active one
		WithMemTableSize(max(c.memtables()/2, 8<<20)). // a transaction has at most 15 % of it
		WithBaseTableSize(c.scaled(2<<20, 256<<10)).
		WithBaseLevelSize(c.scaled(10<<20, 1<<20)).
		WithBlockCacheSize(c.Cache)
	db, err := badger.Open(o)
	if err != nil {
		return nil, err
	}
	return &badgerStore{db, c.Spaces}, nil
}

// Flush does nothing: Badger flushes only in Close.
func (s *badgerStore) Flush() error { return nil }
func (s *badgerStore) Close() error { return s.db.Close() }

func (s *badgerStore) Writer() Writer { return &badgerWriter{s: s} }

// badgerWriter passes keys and values to the transaction, which keeps them.
type badgerWriter struct {
	s   *badgerStore
	txn *badger.Txn
	err error
}

func (w *badgerWriter) begin() *badger.Txn {
	if w.txn == nil {
		w.txn = w.s.db.NewTransaction(true)
	}
	return w.txn
}

// key returns a key in its own memory, in one piece.
func (w *badgerWriter) key(space int, row []byte, c *cell.Cell) []byte {
	buf := make([]byte, 0, 2+len(row)+1+len(c.Column)+1+8)
	return appendCell(appendRow(buf, w.s.spaces, space, row), c)
}

func (w *badgerWriter) Set(space int, row []byte, c *cell.Cell) {
	value := appendValue(make([]byte, 0, 1+len(c.Value)), c)
	w.err = errors.Join(w.err, w.begin().Set(w.key(space, row, c), value))
}

func (w *badgerWriter) DeleteRow(space int, row []byte, cells []cell.Cell) {
	for i := range cells {
		w.err = errors.Join(w.err, w.begin().Delete(w.key(space, row, &cells[i])))
	}
}

func (w *badgerWriter) Commit() error {
	txn, err := w.begin(), w.err
	w.txn, w.err = nil, nil
	if err != nil {
		txn.Discard()
		return err
	}
	return txn.Commit()
}

func (s *badgerStore) Reader() Reader { return &badgerReader{s: s} }

type badgerReader struct {
	s   *badgerStore
	key []byte
}

func (r *badgerReader) Row(space int, row []byte) (Answer, error) {
	r.key = appendRow(r.key[:0], r.s.spaces, space, row)
	return r.walk(r.key, r.key, nil, &Query{Space: space})
}

func (r *badgerReader) Scan(q Query) (Answer, error) {
	start, end := scanBounds(r.s.spaces, &q)
	return r.walk(nil, start, end, &q)
}

// walk reads the keys with a prefix, from start to end.
func (r *badgerReader) walk(prefix, start, end []byte, q *Query) (Answer, error) {
	w := newWalk(r.s.spaces, q)
	err := r.s.db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{Prefix: prefix})
		defer it.Close()
		for it.Seek(start); it.Valid(); it.Next() {
			item := it.Item()
			if end != nil && bytes.Compare(item.Key(), end) >= 0 {
				return nil
			}
			more := false
			err := item.Value(func(value []byte) (err error) {
				more, err = w.take(item.Key(), value)
				return err
			})
			if err != nil || !more {
				return err
			}
		}
		return nil
	})
	return w.answer, err
}
