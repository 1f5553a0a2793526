package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
)

// colonnade is this engine, with a partition for each space.
var colonnade = &Engine{
	Name:   "colonnade",
	About:  "defaults but for the cache, blocks of 4 KiB in S2; every batch is synced, in loads too. The memory limit of the Go runtime is the budgets and 64 MiB, which is the bound of target 13; the server sets one too. The others, to which that target does not apply, have none",
	Open:   openColonnade,
	Tables: []string{".sst"},
}

type colonnadeStore struct {
	db  *engine.DB
	ids []engine.PartitionID
}

// otherMemory is the memory beside the budgets of the store, the keys that reads ask for included.
// Options.MemtableBytes tells embedding programs to set such a limit. Without it, garbage may double
// the memory.
const otherMemory = 64 << 20

func openColonnade(dir string, c Config) (Store, error) {
	debug.SetMemoryLimit(c.memtables() + c.Cache + otherMemory)
	db, err := engine.Open(filepath.ToSlash(dir), engine.Options{
		FS: vfs.OS, Clock: clock.System,
		MemtableBytes: c.memtables(),
		CacheBytes:    c.Cache,
		LogBytes:      max(2*c.memtables(), 8*c.scaled(16<<20, 256<<10)),
		SegmentBytes:  c.scaled(16<<20, 256<<10),
		FileBytes:     c.scaled(32<<20, 64<<10),
	})
	if err != nil {
		return nil, err
	}
	s := &colonnadeStore{db: db, ids: make([]engine.PartitionID, c.Spaces)}
	names := make(map[string]int, c.Spaces)
	var missing []string
	for i := range c.Spaces {
		name := fmt.Sprintf("space-%04d", i)
		names[name] = i
		missing = append(missing, name)
	}
	if list := db.Partitions(); len(list) > 0 {
		missing = nil
		for _, p := range list {
			s.ids[names[p.Name]] = p.ID
		}
	}
	if len(missing) > 0 {
		if s.ids, err = db.CreatePartitions(missing...); err != nil {
			return nil, err
		}
	}
	for _, id := range s.ids { // families are never dropped, so sequence numbers may become 0 in the last level, as in Pebble
		if err := db.SetPolicies(id, nil); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *colonnadeStore) Flush() error { return s.db.Flush(context.Background()) }
func (s *colonnadeStore) Close() error { return s.db.Close() }

func (s *colonnadeStore) Writer() Writer { return &colonnadeWriter{s: s} }

type colonnadeWriter struct {
	s     *colonnadeStore
	batch engine.Batch
}

func (w *colonnadeWriter) Set(space int, row []byte, c *cell.Cell) {
	w.batch.Add(w.s.ids[space], row, c)
}

var rowTombstone = cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime}

func (w *colonnadeWriter) DeleteRow(space int, row []byte, _ []cell.Cell) {
	w.batch.Add(w.s.ids[space], row, &rowTombstone)
}

func (w *colonnadeWriter) Commit() error {
	_, err := w.s.db.Commit(context.Background(), &w.batch)
	w.batch.Reset()
	return err
}

func (s *colonnadeStore) Reader() Reader { return &colonnadeReader{s: s} }

type colonnadeReader struct {
	s   *colonnadeStore
	end []byte
}

func (r *colonnadeReader) Row(space int, row []byte) (Answer, error) {
	r.end = append(append(r.end[:0], row...), 0)
	return r.read(space, engine.ScanOptions{Start: row, End: r.end, FillCache: true}, 1, nil)
}

// Scan fills the cache, as the iterators of the peers do. A scan that is asked for once uses the
// engine's default instead.
func (r *colonnadeReader) Scan(q Query) (Answer, error) {
	o := engine.ScanOptions{Start: q.Start, FillCache: !q.Once}
	if q.Family != "" {
		o.Columns = cell.NewColumns(cell.FamilyRange([]byte(q.Family)))
	}
	return r.read(q.Space, o, q.Rows, q.Visit)
}

func (r *colonnadeReader) read(space int, o engine.ScanOptions, limit int, visit func([]byte, *cell.Cell)) (a Answer, err error) {
	id := r.s.ids[space]
	scan, err := r.s.db.Scan(id, o)
	if err != nil {
		return a, err
	}
	defer scan.Close()
	for (limit == 0 || a.Rows < limit) && scan.NextRow() {
		before := a.Cells
		for list := scan.Cells(); len(list) > 0; list = scan.Cells() {
			a.Cells += len(list)
			for i := range list {
				a.Bytes += int64(len(list[i].Column)) + touch(list[i].Value)
				if visit != nil {
					visit(scan.Row(), &list[i])
				}
			}
		}
		if a.Cells > before {
			a.Rows++
		}
	}
	return a, scan.Err()
}
