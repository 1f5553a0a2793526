package lsmstore

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol"
)

var _ widecol.BulkLoader = (*Store)(nil)

// bulkLoad is a load of sorted cells into a table. Its cells go to the partitions of their families as these are when it
// begins. Whether they still are is asked again when it is switched in, with all writes and changes of the table kept
// away: so a row of several locality groups is one, and updates of rows see the load whole or not at all.
type bulkLoad struct {
	store  *Store
	table  *table
	schema *schema // when the load began
	load   *engine.Load
	used   []*family
	last   *family // the one found last

	row     []byte // of the last mutation, copied
	rows    uint64
	bytes   uint64
	cells   []cell.Cell
	columns []byte
	owner   atomic.Int32 // who may use load: see below
}

// The owners of a bulkLoad. Commit may return before the goroutine that switches the load in has ended, or begun.
const (
	ownedByCaller int32 = iota
	ownedBySwitch
	abandoned
)

// NewLoad implements widecol.BulkLoader.
func (s *Store) NewLoad(ctx context.Context, name string) (widecol.BulkLoad, error) {
	t, done, err := s.beginChange(ctx, name)
	if err != nil {
		return nil, err
	}
	defer done()
	load, err := s.db.NewLoad()
	if err != nil {
		return nil, failure(err)
	}
	return &bulkLoad{store: s, table: t, schema: t.schema, load: load}, nil
}

// Add implements widecol.BulkLoad.
func (b *bulkLoad) Add(mutations []widecol.Mutation) error {
	if err := b.store.begin(); err != nil {
		return err
	}
	defer b.store.calls.Done()
	b.cells, b.columns = b.cells[:0], b.columns[:0]
	from := 0 // the mutations from here on are in b.cells
	var id engine.PartitionID
	for i := range mutations {
		m := &mutations[i]
		f, err := b.check(m)
		if err != nil {
			return err.At(i)
		}
		if len(b.cells) > 0 && (f.partition != id || string(m.Row) != string(mutations[from].Row)) {
			if err := b.addCells(id, mutations, from); err != nil {
				return err
			}
			from = i
		} else if len(b.cells) == 0 {
			from = i
		}
		id = f.partition
		at := len(b.columns)
		b.columns = cell.AppendColumn(b.columns, m.Family, m.Qualifier)
		b.cells = append(b.cells, cell.Cell{Column: b.columns[at:], Value: m.Value, Time: m.Time, Kind: cell.Set, Type: m.Type})
		b.bytes += uint64(len(m.Row) + len(m.Family) + len(m.Qualifier) + len(m.Value) + 8)
		if string(m.Row) != string(b.row) {
			b.rows++
			b.row = append(b.row[:0], m.Row...)
		}
	}
	if len(b.cells) == 0 {
		return nil
	}
	return b.addCells(id, mutations, from)
}

// addCells adds b.cells, which are those of the mutations from an index on.
func (b *bulkLoad) addCells(id engine.PartitionID, mutations []widecol.Mutation, from int) error {
	err := b.load.Add(id, mutations[from].Row, b.cells)
	b.cells = b.cells[:0]
	if errors.Is(err, engine.ErrOutOfOrder) {
		return widecol.Errorf(widecol.Invalid, "unsorted_cells", "%v: rows must ascend, columns in their row, and times must descend in their column", err).At(from)
	}
	return b.failure(err)
}

// check checks a mutation and returns its family.
func (b *bulkLoad) check(m *widecol.Mutation) (*family, *widecol.Error) {
	if m.Op != widecol.Set || m.Time == widecol.CommitTime {
		return nil, widecol.Errorf(widecol.Invalid, "invalid_mutation", "a load has cells with times of their own, and nothing else")
	}
	if err := m.Check(b.store.maxValue); err != nil {
		return nil, err
	}
	if f := b.last; f != nil && f.name == string(m.Family) {
		return f, nil
	}
	f := b.schema.family(m.Family)
	if err := b.takes(f, string(m.Family)); err != nil {
		return nil, err
	}
	b.last = f
	for _, g := range b.used {
		if g == f {
			return f, nil
		}
	}
	b.used = append(b.used, f)
	return f, nil
}

// takes returns why a family, nil for none, cannot be loaded.
func (b *bulkLoad) takes(f *family, name string) *widecol.Error {
	switch {
	case f == nil:
		return widecol.UnknownFamily(b.table.name, name)
	case f.from != nil:
		return widecol.Errorf(widecol.Conflict, "family_moves", "column family %q of table %q is on its way to another locality group, and cannot be loaded until it is there", name, b.table.name)
	case f.merge != widecol.NoMerge:
		return f.merge.CheckMerge(b.table.name, name, widecol.Set)
	}
	return nil
}

// Commit implements widecol.BulkLoad.
func (b *bulkLoad) Commit(ctx context.Context) (commit int64, err error) {
	if err := b.store.begin(); err != nil {
		return 0, err
	}
	defer b.store.calls.Done()
	for {
		if err := b.load.Finish(ctx); err != nil { // not while the table's writes wait
			return 0, b.failure(err)
		}
		type outcome struct {
			time  int64
			again bool
		}
		outcomes := make(chan outcome, 1)
		err := b.store.change(ctx, b.table.name, func(t *table) error {
			if !b.owner.CompareAndSwap(ownedByCaller, ownedBySwitch) {
				return ctx.Err() // Commit has returned, and the caller has abandoned the load
			}
			c, err := b.commit(ctx, t)
			o := outcome{c.Time, errors.Is(err, engine.ErrOverloaded) && ctx.Err() == nil}
			if o.again {
				b.owner.Store(ownedByCaller)
			} else if err != nil {
				b.load.Abandon()
			}
			outcomes <- o
			return b.failure(err)
		})
		select {
		case o := <-outcomes:
			if !o.again {
				return o.time, err
			}
		default: // it was not begun, or goes on
			return 0, err
		}
	}
}

// failure is the failure of a call of the engine.
func (b *bulkLoad) failure(err error) error {
	if errors.Is(err, engine.ErrNoPartition) {
		return widecol.UnknownTable(b.table.name) // it was dropped, or the group of a family
	}
	return failure(err)
}

// commit switches the load in. t.changing is held.
func (b *bulkLoad) commit(ctx context.Context, t *table) (engine.Commit, error) {
	if t != b.table {
		return engine.Commit{}, widecol.UnknownTable(b.table.name)
	}
	for _, f := range b.used {
		now := t.schema.family([]byte(f.name))
		if err := b.takes(now, f.name); err != nil {
			return engine.Commit{}, err
		}
		if now.partition != f.partition {
			return engine.Commit{}, widecol.Errorf(widecol.Conflict, "family_moves", "column family %q of table %q has moved to another locality group meanwhile: load again", f.name, t.name)
		}
	}
	c, err := b.load.Commit(ctx)
	if err == nil {
		t.counters.countLoad(b)
	}
	return c, err
}

// Abandon implements widecol.BulkLoad.
func (b *bulkLoad) Abandon() {
	if b.owner.CompareAndSwap(ownedByCaller, abandoned) {
		b.load.Abandon()
	}
}
