// Package lsmstore is the widecol.Store on the engine: the embedded default.
//
// A table has three kinds of partition: _man_<table> holds its metadata as rows, _dat_<table> the families
// without a locality group, and one _lg_<id> the families of each group. A family belongs to exactly one of
// them, or, while it moves, to two; only schema.family knows which. A write is one batch over all of them, so it
// is atomic whatever the grouping.
//
// One more partition, _keys, records the idempotency keys of all tables and their outcomes.
//
// A whole Write is atomic, not only each of its rows as widecol.Store promises. A View is safe for concurrent use, but for
// Close, and any number of its Rows may be open.
package lsmstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/keyspace"
	"github.com/colonnade-db/colonnade/widecol"
)

// Options configure a Store.
type Options struct {
	Dir    string         // the data directory
	Engine engine.Options // FS and Clock are required
	// MaxValue bounds a value, in bytes. Default and maximum widecol.MaxValue.
	MaxValue int
	// MoveBytes bounds a step of a move. Default 256 KiB.
	MoveBytes int
	// StepMoves has families move in MoveStep alone, for tests that must be the same each time.
	StepMoves bool
}

// Store implements widecol.Store.
type Store struct {
	db        *engine.DB
	opt       Options
	maxValue  int
	keys      keyring
	mover     mover
	compactor compactor
	sampler   *keyspace.Sampler

	// calls counts the calls under way, so that Close can wait for them.
	calls sync.WaitGroup

	mu      sync.RWMutex // guards the fields below
	closed  bool
	tables  map[string]*table
	dropped TableCounts // of tables that were dropped
}

var _ widecol.Store = (*Store)(nil)

// Open opens the store in opt.Dir and creates it if there is none. It returns a *vfs.LockedError if another
// process has it open.
func Open(opt Options) (*Store, error) {
	db, err := engine.Open(opt.Dir, opt.Engine)
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, opt: opt, maxValue: opt.MaxValue, tables: make(map[string]*table)}
	s.sampler = keyspace.New(uint64(opt.Engine.Clock.Now())) // any seed will do, but another than before
	if s.maxValue <= 0 || s.maxValue > widecol.MaxValue {
		s.maxValue = widecol.MaxValue
	}
	if err := s.load(); err != nil {
		db.Close()
		return nil, fmt.Errorf("open store %s: %w", opt.Dir, err)
	}
	s.startMover()
	s.startCompactor()
	return s, nil
}

var (
	_ widecol.HealthReporter = (*Store)(nil)
	_ widecol.DamageReporter = (*Store)(nil)
)

// Health implements widecol.HealthReporter.
func (s *Store) Health() error { return failure(s.db.Health()) }

// Damage implements widecol.DamageReporter. It returns the damaged or unreadable files found since the store was
// opened. The store serves everything else.
func (s *Store) Damage() []error {
	var list []error
	for _, err := range s.db.Damage() {
		list = append(list, describeDamage(err))
	}
	return list
}

func describeDamage(err error) error {
	var corrupt *engine.CorruptError
	switch {
	case !errors.As(err, &corrupt):
		return widecol.Errorf(widecol.Internal, "internal", "a file cannot be read")
	case corrupt.Partition == "":
		return widecol.Errorf(widecol.Corrupt, "corruption", "the log or the manifest was damaged, and has been written anew from memory")
	}
	return describeFailure(corrupt)
}

// Engine returns the engine, for maintenance calls.
func (s *Store) Engine() *engine.DB { return s.db }

// Close implements widecol.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errClosed
	}
	s.closed = true
	s.mu.Unlock()
	s.mover.stop()
	s.compactor.stop()
	s.calls.Wait()
	return s.db.Close()
}

// begin counts a call as under way. A begin that returns nil is followed by s.calls.Done.
func (s *Store) begin() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return errClosed
	}
	s.calls.Add(1)
	return nil
}

// beginOn is begin for a call about a table, which it returns. Without one it counts nothing.
func (s *Store) beginOn(name string) (*table, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, errClosed
	}
	t, err := s.tableLocked(name)
	if err == nil {
		s.calls.Add(1)
	}
	return t, err
}

// table returns a table, or UnknownTable.
func (s *Store) table(name string) (*table, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tableLocked(name)
}

func (s *Store) tableLocked(name string) (*table, error) {
	t := s.tables[name]
	switch {
	case t == nil:
		return nil, widecol.UnknownTable(name)
	case t.damage != nil:
		return nil, failure(t.damage)
	}
	return t, nil
}

// Capabilities implements widecol.Store.
func (s *Store) Capabilities() widecol.Capabilities {
	return widecol.Capabilities{AtomicWrite: true, TableSnapshot: true}
}

// CacheStats implements widecol.Store.
func (s *Store) CacheStats() widecol.CacheStats {
	blocks, bytes := s.db.CacheStats()
	return widecol.CacheStats{BlockCount: int64(blocks), Bytes: bytes}
}

// Table implements widecol.Store.
func (s *Store) Table(ctx context.Context, name string) (widecol.Table, error) {
	t, err := s.beginOn(name)
	if err != nil {
		return widecol.Table{}, err
	}
	defer s.calls.Done()
	return s.describe(t, s.partitions())
}

// Tables implements widecol.Store.
func (s *Store) Tables(ctx context.Context) ([]widecol.Table, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	s.mu.RLock()
	list := slices.SortedFunc(maps.Values(s.tables), func(a, b *table) int { return strings.Compare(a.name, b.name) })
	s.mu.RUnlock()
	all := make([]widecol.Table, 0, len(list))
	infos := s.partitions()
	for _, t := range list {
		if t.damage != nil {
			info := infos[t.metadata]
			all = append(all, widecol.Table{Name: t.name, Partitions: []widecol.Partition{
				{Name: info.Name, Path: info.Path, Stats: widecol.PartitionStats{Err: t.damage}},
			}})
			continue
		}
		d, err := s.describe(t, infos)
		if widecol.KindOf(err) == widecol.NotFound {
			continue // dropped meanwhile
		}
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// partitions returns the engine's description of its partitions.
func (s *Store) partitions() map[engine.PartitionID]engine.PartitionInfo {
	infos := make(map[engine.PartitionID]engine.PartitionInfo)
	for _, info := range s.db.Partitions() {
		infos[info.ID] = info
	}
	return infos
}

// describe returns the description of a table. infos may be slightly older.
func (s *Store) describe(t *table, infos map[engine.PartitionID]engine.PartitionInfo) (widecol.Table, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if err := t.exists(); err != nil {
		return widecol.Table{}, err
	}
	d := widecol.Table{Name: t.name, Settings: t.settings}
	for _, f := range t.schema.sorted {
		d.Families = append(d.Families, f.describe())
	}
	for _, g := range t.schema.groups {
		d.Groups = append(d.Groups, widecol.Group{ID: g.id, Families: t.schema.inGroup(g.id)})
	}
	for _, f := range t.schema.moving {
		d.Moves = append(d.Moves, f.move())
	}
	for _, id := range t.partitions() {
		info, ok := infos[id]
		if !ok { // created since
			info = s.partitions()[id]
		}
		stats, err := s.db.Stats(id)
		if errors.Is(err, engine.ErrNoPartition) { // a drop is durable, and about to be known
			return widecol.Table{}, widecol.UnknownTable(t.name)
		}
		if err != nil {
			return widecol.Table{}, failure(err)
		}
		p := widecol.Partition{Name: info.Name, Path: info.Path, Stats: partitionStats(stats)}
		if s.compactor.has(id) && !p.Stats.Compacting { // it waits for others
			p.Stats.Compacting, p.Stats.CompactionLeft = true, stats.DiskBytes
		}
		d.Partitions = append(d.Partitions, p)
		d.DiskBytes += stats.DiskBytes
	}
	return d, nil
}

func partitionStats(e engine.PartitionStats) widecol.PartitionStats {
	s := widecol.PartitionStats{
		Cells: e.Entries, DiskBytes: e.DiskBytes, MemtableBytes: e.MemtableBytes, Compacting: e.Compacting, CompactionLeft: e.CompactionLeft, Err: e.Damage,
	}
	for _, l := range e.Levels {
		s.Levels = append(s.Levels, widecol.LevelStats{Files: l.Files, Bytes: l.Bytes})
	}
	return s
}
