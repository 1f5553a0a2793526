package keyspace

import (
	"math"
	"sync"
	"sync/atomic"
)

// maxBytes bounds what the tables of a Sampler remember. A table under load all day takes 1 to 2 MiB.
const maxBytes = 16 << 20

// Sampler is what the tables of a store share. It is safe for concurrent use.
type Sampler struct {
	random [shards]random
	bytes  atomic.Int64 // that all tables remember

	mu     sync.Mutex // taken before that of a table
	tables map[*Table]struct{}
}

// New returns a Sampler. The seed decides which rows are sampled.
func New(seed uint64) *Sampler {
	s := &Sampler{tables: make(map[*Table]struct{})}
	for i := range s.random {
		seed += golden
		s.random[i].state.Store(mix(seed))
	}
	return s
}

// Table returns a Table without load. It takes memory until Drop.
func (s *Sampler) Table() *Table {
	t := &Table{sampler: s}
	t.Reads.init(t, reads)
	t.Writes.init(t, writes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables[t] = struct{}{}
	return t
}

// Drop forgets the load of the table, now and for ever.
func (t *Table) Drop() {
	s := t.sampler
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tables, t)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropped, t.windows, t.current = true, nil, window{}
	t.measured()
}

// shrink forgets the oldest windows while the tables remember too much. The caller holds no lock of a table.
func (s *Sampler) shrink() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.bytes.Load() > maxBytes {
		var oldest *Table
		first := int64(math.MaxInt64)
		for t := range s.tables {
			if start := t.oldest(); start < first {
				oldest, first = t, start
			}
		}
		if oldest == nil {
			return
		}
		oldest.forgetOldest()
	}
}

// Random numbers come from a state for each shard, so that cores do not share cache lines (SplitMix64).

const (
	shards = 8 // a power of two
	golden = 0x9e3779b97f4a7c15
)

type random struct {
	state atomic.Uint64
	_     [56]byte // it has a cache line of its own
}

func (s *Sampler) next(shard uint) uint64 { return mix(s.random[shard%shards].state.Add(golden)) }

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
