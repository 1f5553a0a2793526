package storetest

import (
	"context"
	"sync"
	"testing"

	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// openMem opens a memstore without any hooks.
func openMem(env *Env) (*Subject, error) {
	return &Subject{Store: memstore.New(memstore.Options{Now: env.Now, MaxValue: env.MaxValue})}, nil
}

// openHooked opens a memstore with all hooks. They keep everything, as they must.
func openHooked(env *Env) (*Subject, error) {
	f := &flaky{Store: memstore.New(memstore.Options{Now: env.Now, MaxValue: env.MaxValue})}
	nothing := func() error { return nil }
	again := func() (widecol.Store, error) {
		old := f
		f = &flaky{Store: old.Clone(), count: old.count}
		old.held.release()
		return f, nil
	}
	hold := func() (<-chan struct{}, func()) { return f.held.hold() }
	return &Subject{Store: f, Flush: nothing, Compact: nothing, Reopen: again, Crash: again, Fault: func() { f.fault = true }, Hold: hold}, nil
}

func TestRunPassesMemstore(t *testing.T) {
	t.Run("alone", func(t *testing.T) { Run(t, openMem) })
	t.Run("with hooks", func(t *testing.T) { Run(t, openHooked) })
}

func TestRandomPassesMemstore(t *testing.T) {
	for seed := range uint64(10) {
		Random(t, openMem, seed, 600)
		Random(t, openHooked, seed, 600)
	}
}

// TestRandomPassesReclaiming: Random allows what the contract leaves open. It does not fail a store
// that reclaims garbage.
func TestRandomPassesReclaiming(t *testing.T) {
	open := func(env *Env) (*Subject, error) {
		s, err := openHooked(env)
		s.Compact = func() error {
			for _, table := range tableNames {
				if err := reclaim(s.Store, table); err != nil {
					return err
				}
			}
			return nil
		}
		return s, err
	}
	for seed := range uint64(10) {
		Random(t, open, seed, 600)
	}
}

// reclaim removes the garbage of a table.
func reclaim(s widecol.Store, table string) error {
	a, err := askStore(s, table, everything())
	if widecol.KindOf(err) == widecol.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	for _, row := range rowKeys {
		if _, err := removeRow(s, table, row, widecol.Filter{}, ""); err != nil {
			return err
		}
	}
	w := write{table: table, versions: a.versions}
	if len(a.versions) > 0 {
		_, err = w.apply(s, nil, 0)
	}
	return err
}

func BenchmarkRandom(b *testing.B) {
	const ops = 1000
	seed := uint64(0)
	for b.Loop() {
		Random(b, openMem, seed, ops)
		seed++
	}
	b.ReportMetric(float64(Configurations*ops*b.N)/b.Elapsed().Seconds(), "ops/s")
}

// flaky is a memstore whose changes fail, while it has a fault, in all the ways that are allowed.
type flaky struct {
	*memstore.Store
	held  writeHold
	fault bool
	count int
}

// writeHold holds writes.
type writeHold struct {
	mu       sync.Mutex
	waiting  chan struct{}
	released chan struct{}
}

// hold holds the writes from here on. It is a Subject.Hold.
func (h *writeHold) hold() (waiting <-chan struct{}, release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting, h.released = make(chan struct{}, 1), make(chan struct{})
	return h.waiting, h.release
}

func (h *writeHold) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.released != nil {
		close(h.released)
		h.released = nil
	}
}

// pass waits while writes are held.
func (h *writeHold) pass() {
	h.mu.Lock()
	waiting, released := h.waiting, h.released
	h.mu.Unlock()
	if released == nil {
		return
	}
	select {
	case waiting <- struct{}{}:
	default:
	}
	<-released
}

// change makes a change or not, and may return an error in either case.
func (f *flaky) change(do func() error) error {
	unknown := widecol.Errorf(widecol.Unknown, "unknown_outcome", "the sync failed")
	if !f.fault {
		return do()
	}
	f.count++
	switch f.count % 4 {
	case 0:
		return do()
	case 1:
		if err := do(); err != nil {
			return err
		}
		return unknown
	case 2:
		return unknown
	default:
		return widecol.Errorf(widecol.DiskFull, "disk_full", "the disk is full")
	}
}

func (f *flaky) CreateTable(ctx context.Context, name string, spec widecol.TableSpec) error {
	return f.change(func() error { return f.Store.CreateTable(ctx, name, spec) })
}

func (f *flaky) DropTable(ctx context.Context, name string) error {
	return f.change(func() error { return f.Store.DropTable(ctx, name) })
}

func (f *flaky) CreateFamilies(ctx context.Context, table string, families []widecol.Family, group bool) error {
	return f.change(func() error { return f.Store.CreateFamilies(ctx, table, families, group) })
}

func (f *flaky) DropFamily(ctx context.Context, table, family string) error {
	return f.change(func() error { return f.Store.DropFamily(ctx, table, family) })
}

func (f *flaky) Write(ctx context.Context, table string, ms []widecol.Mutation, key string) (time int64, err error) {
	f.held.pass()
	err = f.change(func() (err error) { time, err = f.Store.Write(ctx, table, ms, key); return err })
	return time, err
}

func (f *flaky) Delete(ctx context.Context, table string, d *widecol.Deletion, key string) (n widecol.Deleted, err error) {
	err = f.change(func() (err error) { n, err = f.Store.Delete(ctx, table, d, key); return err })
	return n, err
}
