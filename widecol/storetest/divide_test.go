package storetest

import (
	"context"
	"testing"

	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// dividingStore is a memstore whose views divide a query at one row, unless a test puts a bug there.
type dividingStore struct {
	*memstore.Store
	divide func(q *widecol.Query) []widecol.Query
	scan   func(v widecol.View, q *widecol.Query) (widecol.Rows, error)
}

func (s *dividingStore) View(ctx context.Context, table string) (widecol.View, error) {
	v, err := s.Store.View(ctx, table)
	return &dividingView{v, s}, err
}

type dividingView struct {
	widecol.View
	store *dividingStore
}

func (v *dividingView) Divide(q *widecol.Query, least int64) []widecol.Query {
	if q.RowLimit >= 0 || q.CellLimit >= 0 || q.Offset > 0 || q.Sample < 1 || least > 1 || len(q.Rows) != 1 {
		return []widecol.Query{*q}
	}
	return v.store.divide(q)
}

// Scan reads in a view of its own: a view of memstore has one Rows at a time.
func (v *dividingView) Scan(ctx context.Context, q *widecol.Query) (widecol.Rows, error) {
	if v.store.scan != nil {
		return v.store.scan(v.View, q)
	}
	own, err := v.store.Store.View(ctx, "t")
	if err != nil {
		return nil, err
	}
	return own.Scan(ctx, q)
}

// inHalves divides a query at the given row: the first part ends at end, the second starts at start.
func inHalves(q *widecol.Query, end, start string) []widecol.Query {
	first, second := *q, *q
	first.SetRange(q.Rows[0].Start, []byte(end))
	second.SetRange([]byte(start), q.Rows[0].End)
	return []widecol.Query{first, second}
}

// TestDivideCases: the cases accept a good Divider and refuse each bad one.
func TestDivideCases(t *testing.T) {
	good := func(q *widecol.Query) []widecol.Query { return inHalves(q, "row01000", "row01000") }
	for _, e := range []struct {
		name   string
		ok     bool
		divide func(q *widecol.Query) []widecol.Query
		scan   func(v widecol.View, q *widecol.Query) (widecol.Rows, error)
	}{
		{"good", true, good, nil},
		{"a row is missing", false, func(q *widecol.Query) []widecol.Query { return inHalves(q, "row01000", "row01001") }, nil},
		{"a row comes twice", false, func(q *widecol.Query) []widecol.Query { return inHalves(q, "row01001", "row01000") }, nil},
		{"out of order", false, func(q *widecol.Query) []widecol.Query {
			halves := good(q)
			return []widecol.Query{halves[1], halves[0]}
		}, nil},
		{"no part", false, func(*widecol.Query) []widecol.Query { return nil }, nil},
		{"one Rows at a time", false, good, func(v widecol.View, q *widecol.Query) (widecol.Rows, error) { return v.Scan(background, q) }},
	} {
		open := func(env *Env) (*Subject, error) {
			return &Subject{Store: &dividingStore{memstore.New(memstore.Options{Now: env.Now}), e.divide, e.scan}}, nil
		}
		failures := failuresOf(t, &divideCases[0], open, modes[0])
		if ok := len(failures) == 0; ok != e.ok {
			t.Errorf("%s: got the failures %v", e.name, failures)
		}
	}
	whole := func(env *Env) (*Subject, error) {
		return &Subject{Store: &alwaysDividing{memstore.New(memstore.Options{Now: env.Now})}}, nil
	}
	if len(failuresOf(t, &divideCases[1], whole, modes[0])) == 0 {
		t.Error("a query with a limit may be divided")
	}
}

// alwaysDividing divides queries with limits, too.
type alwaysDividing struct{ *memstore.Store }

func (s *alwaysDividing) View(ctx context.Context, table string) (widecol.View, error) {
	v, err := s.Store.View(ctx, table)
	return alwaysDivided{v}, err
}

type alwaysDivided struct{ widecol.View }

func (v alwaysDivided) Divide(q *widecol.Query, _ int64) []widecol.Query {
	return inHalves(q, "row01000", "row01000")
}
