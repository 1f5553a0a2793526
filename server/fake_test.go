package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// fakeStore is a memstore whose writes and scans a test can replace. It counts
// the views and answers that are open.
type fakeStore struct {
	widecol.Store
	onWrite func(ctx context.Context) error
	// afterWrite is onWrite for when the write is done.
	afterWrite func(ctx context.Context) error
	onScan     func(ctx context.Context) *fakeRows
	scanFails  error // unless nil, of every scan
	onTable    func(*widecol.Table)
	parts      int // that a query is divided into
	again      int // that each part is divided into
	onDivide   func(q *widecol.Query)
	onPart     func(part int, answer *fakeRows) // unless nil, of a query that was divided
	health     error
	damage     []error

	open   atomic.Int64
	early  atomic.Bool   // a view was closed before an answer of it
	closed chan struct{} // gets a value when the last one was closed
}

func newFakeStore() *fakeStore {
	return &fakeStore{Store: memstore.New(memstore.Options{}), closed: make(chan struct{}, 100)}
}

// Health says that the store is read-only when health is set.
func (s *fakeStore) Health() error { return s.health }

// Damage says what is damaged.
func (s *fakeStore) Damage() []error { return s.damage }

func (s *fakeStore) close() {
	if s.open.Add(-1) == 0 {
		s.closed <- struct{}{}
	}
}

func (s *fakeStore) Write(ctx context.Context, table string, mutations []widecol.Mutation, key string) (int64, error) {
	if s.onWrite != nil {
		if err := s.onWrite(ctx); err != nil {
			return 0, err
		}
	}
	time, err := s.Store.Write(ctx, table, mutations, key)
	if err == nil && s.afterWrite != nil {
		err = s.afterWrite(ctx)
	}
	return time, err
}

func (s *fakeStore) Table(ctx context.Context, name string) (widecol.Table, error) {
	table, err := s.Store.Table(ctx, name)
	if err == nil && s.onTable != nil {
		s.onTable(&table)
	}
	return table, err
}

func (s *fakeStore) View(ctx context.Context, table string) (widecol.View, error) {
	view, err := s.Store.View(ctx, table)
	if err != nil {
		return nil, err
	}
	s.open.Add(1)
	return &fakeView{View: view, store: s}, nil
}

type fakeView struct {
	widecol.View
	store *fakeStore
	mu    sync.Mutex // of View, which is for one goroutine

	answers atomic.Int64 // that are open
}

func (v *fakeView) Scan(ctx context.Context, q *widecol.Query) (widecol.Rows, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.store.scanFails != nil {
		return nil, v.store.scanFails
	}
	rows, err := v.View.Scan(ctx, q)
	if err != nil || v.store.onScan == nil {
		return rows, err
	}
	rows.Close()
	v.mu.Unlock()
	defer v.mu.Lock()
	fake := v.store.onScan(ctx) // may panic
	if part, ok := strings.CutPrefix(startOf(q), "part"); ok {
		fake.prefix = part + "/"
		if v.store.onPart != nil {
			i, _ := strconv.Atoi(part[:2])
			v.store.onPart(i, fake)
		}
	}
	fake.ctx, fake.view, fake.yield = ctx, v, q.Yield
	v.store.open.Add(1)
	v.answers.Add(1)
	return fake, nil
}

// startOf returns the start of a query's first range, "" if it has none.
func startOf(q *widecol.Query) string {
	if len(q.Rows) == 0 {
		return ""
	}
	return string(q.Rows[0].Start)
}

// Divide divides a query into parts that all ask for the same, and each of those into the number again.
func (v *fakeView) Divide(q *widecol.Query, _ int64) []widecol.Query {
	if v.store.onDivide != nil {
		v.store.onDivide(q)
	}
	n, name := v.store.parts, "part%02d"
	switch len(startOf(q)) {
	case 0:
	case len("part00"):
		n, name = v.store.again, startOf(q)+".%d"
	default:
		n = 1
	}
	if n <= 1 {
		return []widecol.Query{*q}
	}
	parts := slices.Repeat([]widecol.Query{*q}, n)
	for i := range parts {
		parts[i].SetRange(fmt.Appendf(nil, name, i), nil)
		if q.Explain != nil {
			parts[i].Explain = new(widecol.Explain)
		}
	}
	return parts
}

func (v *fakeView) Close() {
	if v.answers.Load() > 0 {
		v.store.early.Store(true)
	}
	v.View.Close()
	v.store.close()
}

// fakeRows makes up rows of two chunks with ten cells in all.
type fakeRows struct {
	rows  int   // how many, -1 for no end
	err   error // what comes after them
	panic bool  // panic instead
	empty bool  // no row matches the query
	short bool  // the values lack a byte
	large int   // rows have one more value now and then, of so many bytes
	apart int   // chunks between two of these

	made *atomic.Int64 // counts the chunks, unless nil

	prefix string // of the keys

	ctx   context.Context
	view  *fakeView
	yield func() error
	// looked counts the chunks, those that do not match too.
	looked int
	chunk  int
	row    []byte
	cells  []cell.Cell
	spoil  []byte
	fails  error
}

func (r *fakeRows) Next() bool {
	for i := range r.spoil {
		r.spoil[i] = 0xdb
	}
	for {
		if r.fails = r.ctx.Err(); r.fails != nil {
			return false
		}
		if r.looked++; r.looked%widecol.YieldEvery == 0 {
			if r.fails = r.yield(); r.fails != nil {
				return false
			}
		}
		if !r.empty {
			break
		}
	}
	if r.rows >= 0 && r.chunk/2 >= r.rows {
		if r.panic {
			panic("the store has a bug")
		}
		r.fails = r.err
		return false
	}
	r.row = fmt.Appendf(r.row[:0], "%srow%08d", r.prefix, r.chunk/2)
	r.cells, r.spoil = r.cells[:0], r.spoil[:0]
	for i := range 5 {
		start := len(r.spoil)
		r.spoil = fmt.Appendf(r.spoil, "f%d\x00q", r.chunk%2)
		column := len(r.spoil)
		r.spoil = binary.LittleEndian.AppendUint64(r.spoil, uint64(r.chunk))
		value := r.spoil[column:]
		if r.short {
			value = value[1:]
		}
		r.cells = append(r.cells, cell.Cell{Column: r.spoil[start:column], Value: value, Time: int64(5 - i), Type: cell.I64})
	}
	if r.large > 0 && r.chunk%r.apart == 1 {
		r.cells = append(r.cells, cell.Cell{Column: []byte("f2\x00q"), Value: bytes.Repeat([]byte{byte(r.chunk)}, r.large), Type: cell.Bytes})
	}
	if r.made != nil {
		r.made.Add(1)
	}
	r.chunk++
	return true
}

func (r *fakeRows) First() bool                           { return r.chunk%2 == 1 }
func (r *fakeRows) Row() []byte                           { return r.row }
func (r *fakeRows) Cells() []cell.Cell                    { return r.cells }
func (r *fakeRows) Labels() []string                      { return nil }
func (r *fakeRows) Err() error                            { return r.fails }
func (r *fakeRows) More() (p widecol.Position, more bool) { return p, false }
func (r *fakeRows) Stats() widecol.Stats {
	return widecol.Stats{Rows: int64(r.chunk / 2), Cells: int64(r.chunk * 5)}
}
func (r *fakeRows) Close() {
	r.view.answers.Add(-1)
	r.view.store.close()
}
