package lsmstore

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/widecol"
)

// compactor compacts the partitions that somebody asks for whole, one after the other, so that their flushes and merges
// leave room for those that writes wait for. What it has not done when the Store is closed, or the process ends, is
// given up: until then each step is an ordinary compaction.
type compactor struct {
	wake   chan struct{}
	cancel context.CancelFunc
	done   chan struct{} // closed when its goroutine has ended

	mu      sync.Mutex
	waiting []engine.PartitionID // the first is next
	at      engine.PartitionID   // under way, if working
	working bool
}

func (s *Store) startCompactor() {
	ctx, cancel := context.WithCancel(context.Background())
	s.compactor.wake, s.compactor.cancel, s.compactor.done = make(chan struct{}, 1), cancel, make(chan struct{})
	go func() {
		defer close(s.compactor.done)
		s.runCompactor(ctx)
	}()
}

// stop ends the goroutine. The engine ends the step that is under way.
func (c *compactor) stop() {
	c.cancel()
	<-c.done
}

func (s *Store) runCompactor(ctx context.Context) {
	for ctx.Err() == nil {
		id, ok := s.compactor.next()
		if !ok {
			select {
			case <-s.compactor.wake:
			case <-ctx.Done():
			}
			continue
		}
		if err := s.db.Compact(ctx, id); err != nil && ctx.Err() == nil && !errors.Is(err, engine.ErrNoPartition) {
			s.opt.Engine.Log.Warn("compaction of a whole partition ends before its end", "partition", s.partitions()[id].Name, "cause", err)
		}
	}
}

// next returns the next partition, and ends the one before.
func (c *compactor) next() (id engine.PartitionID, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.working = len(c.waiting) > 0; !c.working {
		return id, false
	}
	c.at, c.waiting = c.waiting[0], c.waiting[1:]
	return c.at, true
}

// add adds partitions that do not wait already. One that is under way is compacted again: what was written since it
// began is no part of it.
func (c *compactor) add(ids []engine.PartitionID) {
	c.mu.Lock()
	for _, id := range ids {
		if !slices.Contains(c.waiting, id) {
			c.waiting = append(c.waiting, id)
		}
	}
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// has reports whether a partition waits or is under way.
func (c *compactor) has(id engine.PartitionID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.working && c.at == id || slices.Contains(c.waiting, id)
}

// Compact implements widecol.Store.
func (s *Store) Compact(_ context.Context, name string, place *string) error {
	t, err := s.beginOn(name)
	if err != nil {
		return err
	}
	defer s.calls.Done()
	ids, err := t.partitionsOf(place)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if stats, err := s.db.Stats(id); err == nil && stats.Damage != nil {
			return failure(stats.Damage)
		}
	}
	s.compactor.add(ids)
	return nil
}

// partitionsOf returns the partition of a place, or those of the whole table for nil.
func (t *table) partitionsOf(place *string) ([]engine.PartitionID, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if err := t.exists(); err != nil {
		return nil, err
	}
	switch {
	case place == nil:
		return t.partitions(), nil
	case *place == "":
		return []engine.PartitionID{t.data}, nil
	}
	at := slices.IndexFunc(t.schema.groups, func(g group) bool { return g.id == *place })
	if at < 0 {
		return nil, widecol.UnknownGroup(t.name, *place)
	}
	return []engine.PartitionID{t.schema.groups[at].partition}, nil
}
