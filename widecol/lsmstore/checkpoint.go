package lsmstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol"
)

var _ widecol.Checkpointer = (*Store)(nil)

// Checkpoint implements widecol.Checkpointer. The partition of the idempotency keys is part of it only if all tables
// are: its entries are of all of them.
func (s *Store) Checkpoint(ctx context.Context, names []string) (widecol.Checkpoint, error) {
	var none widecol.Checkpoint
	if err := s.begin(); err != nil {
		return none, err
	}
	defer s.calls.Done()
	snap, tables, err := s.snapshotOf(ctx, names)
	if err != nil {
		return none, err
	}
	defer snap.Close()
	at := s.db.LastTime()
	id, err := s.newCheckpointID()
	if err != nil {
		return none, err
	}
	files, err := snap.Checkpoint(ctx, id)
	if err != nil {
		return none, failure(err)
	}
	store := s.db.ID()
	c := widecol.Checkpoint{
		ID: id, Store: hex.EncodeToString(store[:]), Path: s.db.CheckpointPath(id), Tables: tables,
		Timeline: fmt.Sprintf("%016x", s.db.Timeline()), Sequence: snap.Seq(), Time: at,
	}
	for _, f := range files {
		c.Files = append(c.Files, widecol.CheckpointFile(f))
	}
	return c, nil
}

// newCheckpointID returns 128 random bits: nobody takes the directory of a checkpoint for that of another store.
func (s *Store) newCheckpointID() (string, error) {
	from := s.opt.Engine.Rand
	if from == nil {
		from = rand.Reader
	}
	b := make([]byte, 16)
	if _, err := io.ReadFull(from, b); err != nil {
		return "", failure(err)
	}
	return hex.EncodeToString(b), nil
}

// snapshotOf takes a snapshot of tables, all if there are no names, while no schema of theirs changes.
func (s *Store) snapshotOf(ctx context.Context, names []string) (*engine.Snapshot, []widecol.CheckpointTable, error) {
	shared := make(map[*table]bool)
	defer func() {
		for t := range shared {
			t.changing.endShare()
		}
	}()
	for {
		list, err := s.tablesNamed(names)
		if err != nil {
			return nil, nil, err
		}
		for _, t := range list {
			if shared[t] {
				continue
			}
			if err := t.changing.share(ctx); err != nil {
				return nil, nil, err
			}
			shared[t] = true
		}
		snap, tables, err := s.snapshotIfAll(names, shared)
		if snap != nil || err != nil {
			return snap, tables, err
		}
	}
}

// tablesNamed returns tables, in the order of their names: all who wait for several do so in the same order.
func (s *Store) tablesNamed(names []string) (list []*table, err error) {
	if len(names) > 0 {
		for _, name := range names {
			t, err := s.table(name)
			if err != nil {
				return nil, err
			}
			list = append(list, t)
		}
	} else {
		s.mu.RLock()
		defer s.mu.RUnlock()
		for _, t := range s.tables {
			if t.damage != nil {
				return nil, failure(t.damage) // a backup without it would look whole
			}
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *table) int { return cmp.Compare(a.name, b.name) })
	return slices.Compact(list), nil
}

// snapshotIfAll takes a snapshot if the names still mean the shared tables, and no others. Otherwise it returns nil.
func (s *Store) snapshotIfAll(names []string, shared map[*table]bool) (*engine.Snapshot, []widecol.CheckpointTable, error) {
	s.mu.RLock() // no table comes or goes
	defer s.mu.RUnlock()
	var ids []engine.PartitionID
	var tables []widecol.CheckpointTable
	for _, t := range s.tables {
		switch named := slices.Contains(names, t.name); {
		case len(names) > 0 && !named:
			continue
		case !shared[t]:
			return nil, nil, nil
		case t.exists() != nil: // it is being created or dropped: that has not been answered yet
			if named {
				return nil, nil, widecol.UnknownTable(t.name)
			}
			ids = append(ids, t.filling...) // the log that follows the checkpoint has only the rest
			continue
		}
		c := widecol.CheckpointTable{Name: t.name}
		for _, id := range t.partitions() {
			ids = append(ids, id)
			c.Partitions = append(c.Partitions, uint64(id))
		}
		tables = append(tables, c)
	}
	for _, name := range names {
		if s.tables[name] == nil {
			return nil, nil, widecol.UnknownTable(name)
		}
	}
	if id := s.keys.found(); id != 0 && len(names) == 0 {
		ids = append(ids, id)
	}
	slices.SortFunc(tables, func(a, b widecol.CheckpointTable) int { return strings.Compare(a.Name, b.Name) })
	snap, err := s.db.NewSnapshot(ids...)
	return snap, tables, failure(err)
}

// OpenCheckpoint implements widecol.Checkpointer.
func (s *Store) OpenCheckpoint(id, file string) (widecol.CheckpointFileReader, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	f, err := s.db.OpenCheckpoint(id, file)
	if err != nil {
		return nil, failure(err)
	}
	return f, nil
}

// RemoveCheckpoint implements widecol.Checkpointer.
func (s *Store) RemoveCheckpoint(id string) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.calls.Done()
	return failure(s.db.RemoveCheckpoint(id))
}
