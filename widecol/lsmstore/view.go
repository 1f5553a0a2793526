package lsmstore

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/rowfilter"
)

// view implements widecol.View.
type view struct {
	store  *Store
	table  *table
	schema *schema
	snap   *engine.Snapshot
	now    int64
	// policies are those of the partitions to read.
	policies map[engine.PartitionID]*engine.Policies
	// program is the compiled RowFilter of the last query that had one.
	program atomic.Pointer[rowfilter.Program]
}

// View implements widecol.Store.
func (s *Store) View(ctx context.Context, name string) (widecol.View, error) {
	t, err := s.beginOn(name)
	if err != nil {
		return nil, err
	}
	v, err := s.viewOf(t)
	if err != nil {
		s.calls.Done()
		return nil, err
	}
	t.counters[v.snap.Shard()].reads.Add(1)
	return openView{v}, nil
}

func (s *Store) viewOf(t *table) (*view, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if err := t.exists(); err != nil {
		return nil, err
	}
	return s.newView(t)
}

// newView opens a view. t.mu or t.changing is held.
func (s *Store) newView(t *table) (*view, error) {
	snap, err := s.db.NewSnapshot(t.stores()...)
	if errors.Is(err, engine.ErrNoPartition) { // a drop is durable, and about to be known
		return nil, widecol.UnknownTable(t.name)
	}
	if err != nil {
		return nil, failure(err)
	}
	return s.viewOn(t, snap), nil
}

func (s *Store) viewOn(t *table, snap *engine.Snapshot) *view {
	return &view{store: s, table: t, schema: t.schema, snap: snap, now: snap.Opened(), policies: t.schema.policies}
}

// Close implements widecol.View.
func (v *view) Close() { v.snap.Close() }

// openView is a view that counts as a call until it is closed.
type openView struct{ *view }

func (v openView) Close() {
	v.view.Close()
	v.store.calls.Done()
}

// fillRows bounds the rows of a query whose blocks go into the cache. A larger scan would only
// evict the blocks of other reads. Other bounds were not measured.
const fillRows = 4096

// Scan implements widecol.View.
func (v *view) Scan(ctx context.Context, q *widecol.Query) (widecol.Rows, error) {
	if err := v.schema.check(v.table.name, &q.Filter); err != nil {
		return nil, err
	}
	asked := q
	var filter *rowfilter.Eval
	var pushed widecol.QueryParts
	if q.RowFilter != nil {
		var err error
		if q, filter, pushed, err = v.filtered(ctx, q); err != nil {
			return nil, err
		}
	}
	columns := q.Filter.Columns
	partitions, counted := v.schema.holding(columns)
	r := &rows{ctx: ctx, q: q, view: v, ranges: q.Rows, partitions: partitions, counted: counted, filter: filter}
	r.parts = r.room[:0]
	r.selective = q.Times != widecol.AllTimes || q.Value != nil
	if v.schema.movesIn(columns) {
		r.merging = newMergingRows(v, r.selective)
		r.selective = false
	}
	if asked.Explain != nil {
		r.explainQuery(asked, pushed)
	}
	r.limits.init(q)
	r.sampling.at, r.sampling.rate = v.table.load.Reads.First(v.now, uint(v.snap.Shard()))
	if q.After != nil && q.After.Row != nil {
		r.resume()
	}
	if len(r.ranges) == 0 || r.limits.exhausted() {
		r.done = true
		return r, nil
	}
	r.stats.Partitions = int64(len(r.partitions))
	if err := r.openRange(); err != nil {
		return nil, err
	}
	return r, nil
}

// open opens scans of a query over a range of rows, one for each partition, and appends them to parts.
func (v *view) open(parts []part, ids []engine.PartitionID, q *widecol.Query, rows widecol.RowRange, e *explaining) ([]part, error) {
	var opt engine.ScanOptions // a literal would be made elsewhere and copied
	opt.Start, opt.End, opt.Columns, opt.Reverse = rows.Start, rows.End, q.Filter.Columns, q.Reverse
	opt.Now, opt.KeysOnly = v.now, leavesOutValues(q)
	if q.Times != widecol.AllTimes {
		opt.Times = &q.Times
	}
	opt.FillCache = opt.SingleRow() || q.RowLimit != widecol.NoLimit && q.RowLimit <= fillRows
	for i, id := range ids {
		opt.Policies = v.policies[id]
		if e != nil {
			opt.Counts = &e.counts[i]
		}
		scan, err := v.snap.Scan(id, opt)
		if err != nil {
			return parts, failure(err)
		}
		parts = append(parts, part{scan: scan})
	}
	return parts, nil
}

// leavesOutValues reports whether no value is needed to answer a query.
func leavesOutValues(q *widecol.Query) bool { return q.KeysOnly && q.Value == nil }

// part is a query's cursor in one partition.
type part struct {
	scan    *engine.Scan
	row     []byte      // nil when there is none left
	at      bool        // it has the row that the query is at
	cells   []cell.Cell // of that row, not returned yet
	drained bool        // it has no more cells of that row
}
