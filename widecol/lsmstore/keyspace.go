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

// sampling follows a query for the sampler of its table.
type sampling struct {
	draw  keyspace.Draw
	at    int64  // the number of the row at which it does something
	open  bool   // key is of a row that is sampled, and not passed yet
	key   []byte // memory for it
	rows  int64  // scanned when something was done last
	bytes int64  // the same
}

func (r *rows) beginSampling() {
	r.sampling.draw = r.view.table.load.Reads.Begin(r.view.now, r.view.snap.Shard())
	r.sampling.at = r.sampling.draw.Next()
}

// sample is called at the row that is sampled, and at the one behind it: then its bytes are known.
func (r *rows) sample(row []byte) {
	r.endSampling()
	s := &r.sampling
	n := r.stats.RowsScanned - 1
	s.rows, s.bytes = n, r.bytesScanned()
	if s.at = s.draw.Next(); s.at == n {
		s.open, s.key, s.at = true, append(s.key[:0], row...), n+1
	}
}

// endSampling adds the row that is sampled, when it is passed.
func (r *rows) endSampling() {
	if s := &r.sampling; s.open {
		bytes := r.bytesScanned()
		s.draw.Add(r.view.time(), s.key, 1, bytes-s.bytes)
		s.open, s.rows, s.bytes = false, r.stats.RowsScanned, bytes
	}
}

// sampleStep is called when rows that were taken in one step have one that is sampled. They count at the first of them,
// with what a row has had on average since something was done last.
func (r *rows) sampleStep(row []byte) {
	s := &r.sampling
	rows, bytes := r.stats.RowsScanned, r.bytesScanned()
	if s.draw.Next() < rows {
		s.draw.AddUntil(r.view.time(), row, rows, 1, (bytes-s.bytes)/(rows-s.rows))
	}
	s.at, s.rows, s.bytes = s.draw.Next(), rows, bytes
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
	d := w.draw(now)
	for n := int64(len(mutations)); d.Next() < n; {
		m := &mutations[d.Next()]
		d.Add(now, m.Row, float64(w.rows)/float64(n), mutationBytes(m))
	}
}

// sampleLists samples by list, each of a row.
func (w *writer) sampleLists(now int64, lists [][]widecol.Mutation) {
	d := w.draw(now)
	for d.Next() < int64(len(lists)) {
		list, bytes := lists[d.Next()], int64(0)
		for i := range list {
			bytes += mutationBytes(&list[i])
		}
		d.Add(now, list[0].Row, 1, bytes)
	}
}

// sampleRows samples by row, each with its part of the bytes of the batch.
func (w *writer) sampleRows(now int64, rows ...[]byte) {
	d := w.draw(now)
	for n := int64(len(rows)); d.Next() < n; {
		d.Add(now, rows[d.Next()], 1, int64(w.batch.Bytes())/n)
	}
}

func (w *writer) draw(now int64) keyspace.Draw {
	return w.table.load.Writes.Begin(now, bits.TrailingZeros64(w.locks.shared|w.locks.alone))
}

// mutationBytes returns the bytes that a read counts for what a mutation writes: row key, column key, time and value.
func mutationBytes(m *widecol.Mutation) int64 {
	return int64(len(m.Row) + len(m.Family) + 1 + len(m.Qualifier) + 8 + len(m.Value))
}
