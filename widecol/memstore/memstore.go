// Package memstore keeps tables in memory, for tests and as the executable specification of a
// widecol.Store: every other Store should return the same results for the same calls.
//
// It is simple on purpose. A table is one sorted slice of versions, every change makes a new slice,
// a delete removes versions, and a query follows the comment of widecol.Query step by step. It
// shares no code for filters and limits with another Store.
//
// It is as strict with its callers as the contract allows: chunks have few cells, and it overwrites
// the bytes of a chunk when they are no longer valid.
package memstore

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/colonnade-db/colonnade/widecol"
)

// Options configure a Store. The zero value is useful.
type Options struct {
	// Now is the clock, in microseconds since the Unix epoch. If it is nil, the time is always 0,
	// and commits have the times 1, 2, 3, …
	Now func() int64
	// ID returns a new id for a locality group. If it is nil, ids are 1, 2, 3, …
	ID func() string
	// MaxValue bounds a value, in bytes; 0 means widecol.MaxValue.
	MaxValue int
}

// Store is a widecol.Store in memory. It is safe for concurrent use.
type Store struct {
	opt Options // with defaults filled in

	mu     sync.Mutex
	closed bool
	tables map[string]*table
	last   int64 // the newest commit time
	next   int64 // the time of the next commit, 0 for any
}

var _ widecol.Store = (*Store)(nil)

// New returns an empty Store.
func New(opt Options) *Store {
	if opt.Now == nil {
		opt.Now = func() int64 { return 0 }
	}
	if opt.ID == nil {
		n := 0
		opt.ID = func() string { n++; return strconv.Itoa(n) }
	}
	if opt.MaxValue == 0 {
		opt.MaxValue = widecol.MaxValue
	}
	return &Store{opt: opt, tables: make(map[string]*table)}
}

// Clone returns an independent Store with the same content, options and commit
// time.
func (s *Store) Clone() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Store{opt: s.opt, closed: s.closed, tables: maps.Clone(s.tables), last: s.last}
}

// SetNextCommit gives the next commit a time, for a comparison with another Store. 0 takes it back.
func (s *Store) SetNextCommit(time int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = time
}

// Capabilities implements widecol.Store.
func (s *Store) Capabilities() widecol.Capabilities {
	return widecol.Capabilities{AtomicWrite: true, TableSnapshot: true}
}

// CacheStats returns zeros: there is no cache.
func (s *Store) CacheStats() widecol.CacheStats { return widecol.CacheStats{} }

// Close makes every later call fail with the kind Closed.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usableLocked(context.Background()); err != nil {
		return err
	}
	s.closed = true
	return nil
}

// usableLocked returns the reason why a call cannot start, or nil.
func (s *Store) usableLocked(ctx context.Context) error {
	if s.closed {
		return widecol.Errorf(widecol.Closed, "closed", "the store is closed")
	}
	return ctx.Err()
}

// findLocked returns the current state of a table.
func (s *Store) findLocked(ctx context.Context, name string) (*table, error) {
	if err := s.usableLocked(ctx); err != nil {
		return nil, err
	}
	t := s.tables[name]
	if t == nil {
		return nil, widecol.UnknownTable(name)
	}
	return t, nil
}

// update runs change on a copy of a table. The copy replaces the table unless change fails. All
// changes of tables use it, so they are atomic, and open views do not change.
func (s *Store) update(ctx context.Context, name string, change func(t *table) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.findLocked(ctx, name)
	if err != nil {
		return err
	}
	t := old.clone()
	if err := change(t); err != nil {
		return err
	}
	s.tables[name] = t
	return nil
}

// clone returns a copy that can be changed.
func (t *table) clone() *table {
	return &table{
		name:     t.name,
		settings: t.settings,
		families: maps.Clone(t.families),
		groups:   slices.Clone(t.groups),
		cells:    slices.Clone(t.cells),
		keys:     t.keys,
	}
}
