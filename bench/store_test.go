package bench

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/bench/dataset"
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
)

// store is an engine in a directory of its own, with one partition.
type store struct {
	b   *testing.B
	dir string
	opt engine.Options
	fs  *traffic
	db  *engine.DB
	id  engine.PartitionID
}

// openStore makes a store on the machine's disk and with its clock. It is closed after the benchmark.
func openStore(b *testing.B, opt engine.Options) *store {
	b.Helper()
	return openStoreOn(b, vfs.OS, opt)
}

// openStoreOn makes a store on a file system.
func openStoreOn(b *testing.B, fs vfs.FS, opt engine.Options) *store {
	b.Helper()
	s := &store{b: b, dir: filepath.ToSlash(b.TempDir()), fs: &traffic{FS: fs}}
	opt.FS, opt.Clock = s.fs, clock.System
	s.opt = opt
	s.open()
	ids, err := s.db.CreatePartitions("bench")
	must(b, err)
	s.id = ids[0]
	must(b, s.db.SetPolicies(s.id, nil))
	b.Cleanup(s.close)
	return s
}

// open opens the store and declares that its partition drops no family, as an embedding program
// does. Without that, compactions keep all sequence numbers.
func (s *store) open() {
	db, err := engine.Open(s.dir, s.opt)
	must(s.b, err)
	s.db = db
	for _, p := range db.Partitions() {
		must(s.b, db.SetPolicies(p.ID, nil))
	}
}

// close closes the store if it is open.
func (s *store) close() {
	if s.db == nil {
		return
	}
	if err := s.db.Close(); err != nil {
		s.b.Error(err)
	}
	s.db = nil
}

// remove closes the store and deletes it.
func (s *store) remove() {
	s.close()
	must(s.b, os.RemoveAll(s.dir))
}

// commit writes one row in one batch.
func (s *store) commit(batch *engine.Batch, key []byte, cells []cell.Cell) error {
	batch.Reset()
	for i := range cells {
		batch.Add(s.id, key, &cells[i])
	}
	_, err := s.db.Commit(context.Background(), batch)
	return err
}

const (
	// loaders is the number of goroutines that load, loadRows the rows in one of their batches: 1,000
	// cells.
	loaders  = 4
	loadRows = 100
)

// load writes the rows of a table in order.
func (s *store) load(data *dataset.Table) latencies { return s.loadColumns(data, nil) }

// loadColumns writes the cells of a set of columns, nil for all.
func (s *store) loadColumns(data *dataset.Table, columns *cell.Columns) latencies {
	var next atomic.Int64
	var all sync.WaitGroup
	took := make(latencies, loaders)
	for g := range loaders {
		all.Go(func() {
			batch := new(engine.Batch)
			commit := took.timed(g, func() error {
				_, err := s.db.Commit(context.Background(), batch)
				return err
			})
			for {
				from := int(next.Add(1)-1) * loadRows
				if from >= data.Len() {
					return
				}
				s.fill(batch, data, from, columns)
				if err := commit(); err != nil {
					s.b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return took
}

// fill makes a batch of the next loadRows rows, with the cells of a set of columns, nil for all.
func (s *store) fill(batch *engine.Batch, data *dataset.Table, from int, columns *cell.Columns) {
	var room [16]cell.Cell
	batch.Reset()
	for i := from; i < min(from+loadRows, data.Len()); i++ {
		key, cells := data.Row(i, room[:0])
		for k := range cells {
			if columns.Contains(cells[k].Column) {
				batch.Add(s.id, key, &cells[k])
			}
		}
	}
}

// settle flushes, waits until nothing is left to compact, and returns the time at which the last of it
// was done.
func (s *store) settle() time.Time {
	must(s.b, s.db.Flush(context.Background()))
	return awaitQuiet(&s.fs.tableChange)
}

// compact compacts everything into the last level.
func (s *store) compact() {
	must(s.b, s.db.Compact(context.Background(), s.id))
	s.settle()
}

// scaled returns options whose sizes relate to a table as the defaults do to a million rows. So a small
// table has as many flushes and levels as a large one. Larger tables get the defaults.
func scaled(data *dataset.Table) engine.Options {
	part := func(bytes, least int64) int64 {
		return max(bytes*min(int64(data.Len()), 1_000_000)/1_000_000, least)
	}
	return engine.Options{
		MemtableBytes: part(128<<20, 1<<20),
		LogBytes:      part(512<<20, 4<<20),
		SegmentBytes:  part(16<<20, 256<<10),
		FileBytes:     part(32<<20, 64<<10),
	}
}
