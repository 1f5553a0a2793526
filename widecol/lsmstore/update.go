package lsmstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol"
)

// viewOfEntered opens a view of what has entered, durable or not, for rows that the caller has locked. It keeps
// the promises of engine.DB.TakeEntered.
func (s *Store) viewOfEntered(t *table) (*view, error) {
	snap, err := s.db.TakeEntered(t.stores()...)
	if err != nil {
		return nil, failure(err)
	}
	return s.viewOn(t, snap), nil
}

// CheckAndMutate implements widecol.Store.
func (s *Store) CheckAndMutate(ctx context.Context, name string, c *widecol.CheckAndMutate, key string) (bool, int64, error) {
	t, done, err := s.beginChange(ctx, name)
	if err != nil {
		return false, 0, err
	}
	defer done()
	if key == "" {
		return s.checkAndMutate(ctx, t, c, nil)
	}
	o, err := s.once(ctx, t, key, fingerprintOfCheck(c), func(e *entry) (o outcome, err error) {
		matched, time, err := s.checkAndMutate(ctx, t, c, e)
		return outcome{time: time, number: checkNumber(matched, time)}, err
	})
	if o.number&2 == 0 {
		o.time = 0
	}
	return o.number&1 != 0, o.time, err
}

// checkNumber is the stored number of an outcome: bit 0 for matched, bit 1 for a mutation.
func checkNumber(matched bool, time int64) (n int64) {
	if matched {
		n |= 1
	}
	if time != 0 {
		n |= 2
	}
	return n
}

func (s *Store) checkAndMutate(ctx context.Context, t *table, c *widecol.CheckAndMutate, e *entry) (matched bool, time int64, err error) {
	w := newWriter(s, t)
	defer w.release()
	if err := c.Check(s.maxValue); err != nil {
		return false, 0, err
	}
	all := slices.Concat(c.Then, c.Else)
	if _, err := w.check(all); err != nil {
		return false, 0, err
	}
	w.locks.takeAlone(c.Row)
	w.lock()
	found, err := s.holds(ctx, t, c)
	if err != nil {
		return false, 0, err
	}
	matched = found != c.Not
	mutations := c.Else
	if matched {
		mutations = c.Then
	}
	if err := w.addOrdered(ctx, mutations); err != nil {
		return false, 0, err
	}
	w.rows = min(len(mutations), 1)
	e.add(&w.batch, outcome{number: checkNumber(matched, int64(len(mutations)))})
	if w.batch.Len() == 0 {
		return matched, 0, w.commitNothing(ctx)
	}
	commit, err := w.commit(ctx)
	if err == nil {
		w.sampleMutations(commit.Time, mutations)
	}
	if len(mutations) == 0 {
		commit.Time = 0
	}
	return matched, commit.Time, err
}

// holds reports whether the row has a cell that the condition selects. The row is locked.
func (s *Store) holds(ctx context.Context, t *table, c *widecol.CheckAndMutate) (bool, error) {
	v, err := s.viewOfEntered(t)
	if err != nil {
		return false, err
	}
	defer v.Close()
	q := c.If
	q.SetKey(c.Row)
	q.KeysOnly = true
	rows, err := v.Scan(ctx, &q)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	found := rows.Next()
	return found, rows.Err()
}

// ReadModifyWrite implements widecol.Store.
func (s *Store) ReadModifyWrite(ctx context.Context, name string, u *widecol.ReadModifyWrite, key string) ([]cell.Cell, int64, error) {
	t, done, err := s.beginChange(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	defer done()
	if key == "" {
		return s.readModifyWrite(ctx, t, u, nil)
	}
	var written []cell.Cell
	o, err := s.once(ctx, t, key, fingerprintOfUpdate(u), func(e *entry) (o outcome, err error) {
		written, o.time, err = s.readModifyWrite(ctx, t, u, e)
		return o, err
	})
	if err == nil && written == nil {
		written, err = decodeWritten(o.result, o.time)
	}
	return written, o.time, err
}

func (s *Store) readModifyWrite(ctx context.Context, t *table, u *widecol.ReadModifyWrite, e *entry) ([]cell.Cell, int64, error) {
	w := newWriter(s, t)
	defer w.release()
	if err := u.Check(s.maxValue); err != nil {
		return nil, 0, err
	}
	for i := range u.Rules {
		f := t.schema.family(u.Rules[i].Family)
		if f == nil {
			return nil, 0, widecol.UnknownFamily(t.name, string(u.Rules[i].Family)).At(i)
		}
		if err := f.merge.CheckMerge(t.name, f.name, widecol.Set); err != nil {
			return nil, 0, err.At(i)
		}
	}
	w.locks.takeAlone(u.Row)
	w.lock()
	newest, now, err := s.newest(ctx, t, u)
	if err != nil {
		return nil, 0, err
	}
	written, refusal := applyRules(u, newest, now, s.maxValue)
	if refusal != nil {
		return nil, 0, cmp.Or(w.commitNothing(ctx), error(refusal))
	}
	for _, c := range newest { // NextTime has said that the time of the commit is above it, but the clock may step back
		if c != nil && c.Time < now {
			w.batch.After = max(w.batch.After, c.Time)
		}
	}
	w.rows = 1
	for i := range written {
		c := &written[i]
		family, _ := cell.SplitColumn(c.Column)
		w.add(t.schema.family(family), u.Row, c)
	}
	if e != nil {
		e.add(&w.batch, outcome{result: appendWritten(nil, written)})
	}
	commit, err := w.commit(ctx)
	if err != nil {
		return nil, commit.Time, err
	}
	w.sampleRows(commit.Time, u.Row)
	for i := range written {
		if written[i].Time == widecol.CommitTime {
			written[i].Time = commit.Time
		}
	}
	return written, commit.Time, nil
}

// applyRules returns the versions that the rules write, in order. newest has the newest version of each column of the
// rules, nil for none. It keeps their values.
func applyRules(u *widecol.ReadModifyWrite, newest map[string]*cell.Cell, now int64, maxValue int) ([]cell.Cell, *widecol.Error) {
	written := make([]cell.Cell, 0, len(newest))
	places := make(map[string]int, len(newest)) // in written, by column
	for i := range u.Rules {
		r := &u.Rules[i]
		column := cell.AppendColumn(nil, r.Family, r.Qualifier)
		old := newest[string(column)]
		time, e := u.NextTime(old, now)
		if e != nil {
			return nil, e.At(i)
		}
		at, again := places[string(column)]
		if again {
			old = &written[at]
		}
		typ, value, e := r.Apply(old, maxValue)
		if e != nil {
			return nil, e.At(i)
		}
		c := cell.Cell{Column: column, Time: time, Type: typ, Value: value}
		if again {
			written[at] = c
			continue
		}
		places[string(column)] = len(written)
		written = append(written, c)
	}
	slices.SortFunc(written, func(a, b cell.Cell) int { return bytes.Compare(a.Column, b.Column) })
	return written, nil
}

// newest returns the newest version of each column that the rules change, nil for none. It fails if they are more than a
// batch can have.
func (s *Store) newest(ctx context.Context, t *table, u *widecol.ReadModifyWrite) (cells map[string]*cell.Cell, now int64, err error) {
	v, err := s.viewOfEntered(t)
	if err != nil {
		return nil, 0, err
	}
	defer v.Close()
	cells = make(map[string]*cell.Cell)
	size := 0
	for i := range u.Rules {
		r := &u.Rules[i]
		column := cell.AppendColumn(nil, r.Family, r.Qualifier)
		if _, known := cells[string(column)]; known {
			continue
		}
		c, err := v.newestOf(ctx, u.Row, column)
		if err != nil {
			return nil, 0, err
		}
		if cells[string(column)] = c; c != nil {
			size += len(c.Value)
		}
		if size > engine.MaxBatch {
			return nil, 0, failure(engine.ErrTooLarge)
		}
	}
	return cells, v.now, nil
}

// newestOf returns a copy of the newest version of a column, nil for none. It reads no further: a counter may have
// as many versions as it was incremented.
func (v *view) newestOf(ctx context.Context, row, column []byte) (*cell.Cell, error) {
	family, qualifier := cell.SplitColumn(column)
	q := widecol.NewQuery()
	q.SetKey(row)
	q.Filter.Columns = cell.NewColumns(cell.ColumnRange(family, qualifier))
	q.RowCellLimit = 1
	rows, err := v.Scan(ctx, &q)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if !rows.Next() {
		return nil, rows.Err()
	}
	c := rows.Cells()[0]
	c.Column, c.Value = column, slices.Clone(c.Value)
	return &c, nil
}

// appendWritten appends versions as the entry of an idempotency key has them. This is part of the on-disk format,
// for each version:
//
//	+---------------+--------+------+------+--------------+-------+
//	| column length | column | time | type | value length | value |
//	+---------------+--------+------+------+--------------+-------+
//	  uvarint                  8      1      uvarint
//
//	time  little endian; -1 for that of the commit, which is the entry's
func appendWritten(b []byte, cells []cell.Cell) []byte {
	for i := range cells {
		c := &cells[i]
		b = binary.AppendUvarint(b, uint64(len(c.Column)))
		b = append(b, c.Column...)
		b = binary.LittleEndian.AppendUint64(b, uint64(c.Time))
		b = append(b, byte(c.Type))
		b = binary.AppendUvarint(b, uint64(len(c.Value)))
		b = append(b, c.Value...)
	}
	return b
}

// decodeWritten decodes what appendWritten has made.
func decodeWritten(b []byte, commit int64) (cells []cell.Cell, err error) {
	bad := &engine.CorruptError{Partition: keysPartition, Offset: -1, Reason: "the entry of an idempotency key has no list of versions"}
	field := func() []byte {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			err = bad
			return nil
		}
		f := b[size : size+int(n)]
		b = b[size+int(n):]
		return f
	}
	for len(b) > 0 {
		c := cell.Cell{Column: field()}
		if err != nil || len(b) < 9 {
			return nil, failure(bad)
		}
		if c.Time = int64(binary.LittleEndian.Uint64(b)); c.Time == widecol.CommitTime {
			c.Time = commit
		}
		c.Type, b = cell.Type(b[8]), b[9:]
		if c.Value = field(); err != nil || c.Check() != nil {
			return nil, failure(bad)
		}
		cells = append(cells, c)
	}
	return cells, nil
}
