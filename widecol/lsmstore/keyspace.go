package lsmstore

import (
	"context"
	"math/bits"

	"github.com/colonnade-db/colonnade/keyspace"
	"github.com/colonnade-db/colonnade/widecol"
)

var _ widecol.KeySpaceReporter = (*Store)(nil)

// dataParts is into about how many parts of similar size an answer divides the data, so that rows without load are seen
// in it, too.
const dataParts = 32

// KeySpace implements widecol.KeySpaceReporter.
func (s *Store) KeySpace(ctx context.Context, name string, times widecol.TimeRange) (widecol.KeySpace, error) {
	t, err := s.beginOn(name)
	if err != nil {
		return widecol.KeySpace{}, err
	}
	defer s.calls.Done()
	v, err := s.viewOf(t)
	if err != nil {
		return widecol.KeySpace{}, err
	}
	defer v.Close()
	return t.load.KeySpace(v.now, times, v.dataBounds()), nil
}

// dataBounds returns row keys that divide the data of the largest partition.
func (v *view) dataBounds() (bounds [][]byte) {
	for _, id := range v.schema.stores {
		stats, err := v.store.db.Stats(id)
		if err != nil || stats.DiskBytes < dataParts {
			continue
		}
		if found := v.snap.Divide(id, nil, nil, stats.DiskBytes/dataParts); len(found) > len(bounds) {
			bounds = found
		}
	}
	return bounds
}

// sampling says which rows of a query are sampled for the key space. Most queries have none.
type sampling struct {
	at   int64    // the number of the row at which sample is called
	rate int64    // what it is sampled for, at first
	rows *sampled // nil until there is one
}

// sampled follows a query with rows that are sampled.
type sampled struct {
	draw  keyspace.Draw
	open  bool   // key is of a row that is sampled, and not passed yet
	key   []byte // memory for it
	rows  int64  // scanned when something was done last
	bytes int64  // the same
}

// sample is called at the row that is sampled, and at the one behind it: then its bytes are known.
func (r *rows) sample(row []byte) {
	r.endSampling()
	s, n := r.sampled(), r.stats.RowsScanned-1
	s.rows, s.bytes = n, r.bytesScanned()
	if r.sampling.at = s.draw.Next(); r.sampling.at == n {
		s.open, s.key, r.sampling.at = true, append(s.key[:0], row...), n+1
	}
}

func (r *rows) sampled() *sampled {
	if s := &r.sampling; s.rows == nil {
		s.rows = &sampled{draw: r.view.table.load.Reads.Draw(s.at, s.rate, uint(r.view.snap.Shard()))}
	}
	return r.sampling.rows
}

// endSampling adds the row that is sampled, when it is passed.
func (r *rows) endSampling() {
	if s := r.sampling.rows; s != nil && s.open {
		bytes := r.bytesScanned()
		s.draw.Add(r.view.time(), s.key, 1, bytes-s.bytes)
		s.open, s.rows, s.bytes = false, r.stats.RowsScanned, bytes
	}
}

// sampleStep is called when rows that were taken in one step have one that is sampled. They count at the first of them,
// with what a row has had on average since something was done last.
func (r *rows) sampleStep(row []byte) {
	s, rows, bytes := r.sampled(), r.stats.RowsScanned, r.bytesScanned()
	if s.draw.Next() < rows {
		s.draw.AddUntil(r.view.time(), row, rows, 1, (bytes-s.bytes)/(rows-s.rows))
	}
	r.sampling.at, s.rows, s.bytes = s.draw.Next(), rows, bytes
}

// bytesScanned returns what the query has stepped over so far.
func (r *rows) bytesScanned() int64 {
	n := r.stats
	for i := range r.parts {
		n.AddScanned(r.parts[i].scan.Scanned())
	}
	return n.BytesScanned
}

// time returns the time of now: a scan can take long.
func (v *view) time() int64 { return v.store.opt.Engine.Clock.Now() }

// What a batch that is durable has written is sampled by what its request has of it: mutations, or lists of them, or
// rows. A deletion of a range of rows has neither, and looks at no row, so it does not count.

// sampleMutations samples by mutation: each stands for its part of the rows of the batch.
func (w *writer) sampleMutations(now int64, mutations []widecol.Mutation) {
	n := int64(len(mutations))
	w.sample(now, n, func(i int64) (row []byte, rows float64, bytes int64) {
		m := &mutations[i]
		return m.Row, float64(w.rows) / float64(n), mutationBytes(m)
	})
}

// sampleLists samples by list, each of a row.
func (w *writer) sampleLists(now int64, lists [][]widecol.Mutation) {
	w.sample(now, int64(len(lists)), func(i int64) (row []byte, rows float64, bytes int64) {
		for j := range lists[i] {
			bytes += mutationBytes(&lists[i][j])
		}
		return lists[i][0].Row, 1, bytes
	})
}

// sampleRows samples by row, each with its part of the bytes of the batch.
func (w *writer) sampleRows(now int64, rows ...[]byte) {
	n := int64(len(rows))
	w.sample(now, n, func(i int64) ([]byte, float64, int64) { return rows[i], 1, int64(w.batch.Bytes()) / n })
}

// sample samples n things of a batch.
func (w *writer) sample(now, n int64, thing func(i int64) (row []byte, rows float64, bytes int64)) {
	shard := uint(bits.TrailingZeros64(w.locks.shared | w.locks.alone))
	load := &w.table.load.Writes
	next, rate := load.First(now, shard)
	if next >= n {
		return
	}
	for d := load.Draw(next, rate, shard); d.Next() < n; {
		row, rows, bytes := thing(d.Next())
		d.Add(now, row, rows, bytes)
	}
}

// mutationBytes returns the bytes that a read counts for what a mutation writes: row key, column key, time and value.
func mutationBytes(m *widecol.Mutation) int64 {
	return int64(len(m.Row) + len(m.Family) + 1 + len(m.Qualifier) + 8 + len(m.Value))
}
