package rangedel

import (
	"sync"
	"sync/atomic"
)

// Growing is a set that tombstones are added to. Readers take no lock. The zero value is empty.
//
// It is a list of Sets, each more than twice as large as the next. A new tombstone is a Set of its own,
// which is merged with those before it that have become too small. So an addition costs a few
// tombstones on average, and a reader asks few Sets.
type Growing struct {
	adding sync.Mutex
	fresh  []Tombstone // since the last TakeNew; guarded by adding
	sets   atomic.Pointer[[]*Set]
	bytes  atomic.Int64
	count  atomic.Int64
}

// Add adds a tombstone, and keeps its keys.
func (g *Growing) Add(t Tombstone) {
	g.adding.Lock()
	defer g.adding.Unlock()
	sets, list := g.Sets(), []Tombstone{t}
	n := len(sets)
	for n > 0 && len(sets[n-1].list) <= 2*len(list) {
		n--
		list = append(list, sets[n].list...)
	}
	next := append(sets[:n:n], New(list))
	g.sets.Store(&next)
	g.fresh = append(g.fresh, t)
	g.bytes.Add(t.Bytes())
	g.count.Add(1)
}

// Sets returns the tombstones added so far. It must not be changed.
func (g *Growing) Sets() []*Set {
	if sets := g.sets.Load(); sets != nil {
		return *sets
	}
	return nil
}

// TakeNew returns the tombstones added since the last call.
func (g *Growing) TakeNew() []Tombstone {
	g.adding.Lock()
	defer g.adding.Unlock()
	fresh := g.fresh
	g.fresh = nil
	return fresh
}

// Bytes returns about how much memory the tombstones take.
func (g *Growing) Bytes() int64 { return g.bytes.Load() }

// Len returns the number of tombstones.
func (g *Growing) Len() int { return int(g.count.Load()) }
