package main

import (
	"github.com/colonnade-db/colonnade/cell"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/util"
)

var goleveldbEngine = &Engine{
	Name:   "goleveldb",
	About:  "goleveldb, write buffer of 64 MiB, Bloom filters of 10 bits (over keys: it knows no rows), blocks of 4 KiB in Snappy",
	Open:   openGoleveldb,
	Tables: []string{".ldb"},
}

type goleveldbStore struct {
	db     *leveldb.DB
	spaces int
	write  *opt.WriteOptions
}

func openGoleveldb(dir string, c Config) (Store, error) {
	db, err := leveldb.OpenFile(dir, &opt.Options{
		BlockCacheCapacity:  int(c.Cache),
		WriteBuffer:         int(c.memtables() / 2),
		CompactionTableSize: int(c.scaled(2<<20, 64<<10)),
		CompactionTotalSize: int(c.scaled(10<<20, 1<<20)),
		Filter:              filter.NewBloomFilter(10),
	})
	if err != nil {
		return nil, err
	}
	return &goleveldbStore{db, c.Spaces, &opt.WriteOptions{Sync: c.Durable}}, nil
}

// Flush opens a transaction: goleveldb flushes its memtable first.
func (s *goleveldbStore) Flush() error {
	t, err := s.db.OpenTransaction()
	if err == nil {
		t.Discard()
	}
	return err
}

func (s *goleveldbStore) Close() error { return s.db.Close() }

func (s *goleveldbStore) Writer() Writer { return &goleveldbWriter{s: s} }

type goleveldbWriter struct {
	s          *goleveldbStore
	batch      leveldb.Batch
	key, value []byte
}

func (w *goleveldbWriter) Set(space int, row []byte, c *cell.Cell) {
	w.key = appendCell(appendRow(w.key[:0], w.s.spaces, space, row), c)
	w.value = appendValue(w.value[:0], c)
	w.batch.Put(w.key, w.value)
}

func (w *goleveldbWriter) DeleteRow(space int, row []byte, cells []cell.Cell) {
	for i := range cells {
		w.key = appendCell(appendRow(w.key[:0], w.s.spaces, space, row), &cells[i])
		w.batch.Delete(w.key)
	}
}

func (w *goleveldbWriter) Commit() error {
	err := w.s.db.Write(&w.batch, w.s.write)
	w.batch.Reset()
	return err
}

func (s *goleveldbStore) Reader() Reader { return &goleveldbReader{s: s} }

type goleveldbReader struct {
	s        *goleveldbStore
	key, end []byte
}

func (r *goleveldbReader) Row(space int, row []byte) (Answer, error) {
	r.key = appendRow(r.key[:0], r.s.spaces, space, row)
	r.end = rowEnd(r.end[:0], r.key)
	return r.walk(&util.Range{Start: r.key, Limit: r.end}, &Query{Space: space})
}

func (r *goleveldbReader) Scan(q Query) (Answer, error) {
	start, end := scanBounds(r.s.spaces, &q)
	return r.walk(&util.Range{Start: start, Limit: end}, &q)
}

func (r *goleveldbReader) walk(keys *util.Range, q *Query) (Answer, error) {
	w := newWalk(r.s.spaces, q)
	it := r.s.db.NewIterator(keys, &opt.ReadOptions{DontFillCache: q.Once})
	defer it.Release()
	for it.Next() {
		if more, err := w.take(it.Key(), it.Value()); err != nil || !more {
			return w.answer, err
		}
	}
	return w.answer, it.Error()
}
