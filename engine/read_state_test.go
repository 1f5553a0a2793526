package engine

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/colonnade-db/colonnade/engine/manifest"
)

// holders counts the readers of a state, in tests without concurrent readers.
func (s *readState) holders() (n int) {
	for i := range s.readers {
		n += int(s.readers[i].Load())
	}
	return n
}

// newTestState returns a state with one file and the only reference to it.
func newTestState() *readState {
	t := new(tableRef)
	t.refs.Store(1)
	v := new(manifest.Version)
	v.Levels[1] = []*manifest.File{{Owner: t}}
	return &readState{version: v, obsolete: new(obsoleteFiles)}
}

// TestStateOutlivesReaders: replaced states keep their files while there are readers, and release
// them once.
func TestStateOutlivesReaders(t *testing.T) {
	p := new(partition)
	states := []*readState{newTestState()}
	p.state.Store(states[0])
	var over atomic.Bool
	var readers sync.WaitGroup
	for g := range uint64(8) {
		readers.Go(func() {
			rnd := rand.New(rand.NewPCG(g, 0))
			for !over.Load() {
				shard := rnd.Uint32N(shards)
				s := p.acquire(shard)
				for range rnd.IntN(50) {
					if s.released.Load() {
						t.Error("the files of a state are gone while it is read")
						return
					}
				}
				s.unref(shard)
			}
		})
	}
	for range 5_000 {
		s := newTestState()
		states = append(states, s)
		p.state.Swap(s).retire()
	}
	over.Store(true)
	readers.Wait()
	for i, s := range states {
		want := int32(0)
		if s == p.state.Load() {
			want = 1
		}
		if n := tableOf(s.version.Levels[1][0]).refs.Load(); n != want || s.holders() != 0 {
			t.Fatalf("state %d of %d has %d readers and %d references on its file, want none and %d", i, len(states), s.holders(), n, want)
		}
	}
}

// TestStateHeld: only the last reader releases the files of a replaced state, from whichever shard
// it leaves. No reader releases those of the current state.
func TestStateHeld(t *testing.T) {
	p, s := new(partition), newTestState()
	p.state.Store(s)
	file := tableOf(s.version.Levels[1][0])
	p.acquire(0).unref(0)
	for shard := range uint32(shards) {
		if p.acquire(shard) != s {
			t.Fatal("another state")
		}
	}
	p.state.Store(nil)
	s.retire()
	for shard := range uint32(shards) {
		if n := file.refs.Load(); n != 1 {
			t.Fatalf("%d references with %d readers", n, s.holders())
		}
		if p.acquire(shard) != nil {
			t.Fatal("a dropped partition has a state")
		}
		s.unref((shard + 5) % shards)
	}
	if n := file.refs.Load(); n != 0 {
		t.Errorf("%d references without readers", n)
	}
}
