package lsmstore_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"colonnade/clock"
	"colonnade/engine"
	"colonnade/vfs"
	"colonnade/widecol"
	"colonnade/widecol/lsmstore"
	"colonnade/widecol/storetest"
)

// testClock tells the time of the environment; its timers are real.
type testClock struct{ now func() int64 }

func (c testClock) Now() int64 { return c.now() }

func (c testClock) AfterFunc(d time.Duration, f func()) func() bool {
	return clock.System.AfterFunc(d, f)
}

// subject is a store in memory that can lose power.
type subject struct {
	t   testing.TB
	env *storetest.Env
	rnd *rand.Rand
	fs  *vfs.Mem
	at  *lsmstore.Store

	failure atomic.Pointer[vfs.Failure]
}

func open(t testing.TB, env *storetest.Env) *storetest.Subject {
	s := &subject{t: t, env: env, rnd: rand.New(rand.NewPCG(env.Seed, 0)), fs: vfs.NewMem()}
	store, err := s.open()
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return &storetest.Subject{
		Store: store, Flush: s.flush, Compact: s.compact, Reopen: s.reopen, Crash: s.crash, Fault: s.fault,
	}
}

// open opens the store with options that differ from one time to the next.
func (s *subject) open() (widecol.Store, error) {
	pick := func(n ...int64) int64 { return n[s.rnd.IntN(len(n))] }
	store, err := lsmstore.Open(lsmstore.Options{
		Dir: "data", MaxValue: s.env.MaxValue,
		Engine: engine.Options{
			FS: vfs.Inject(s.fs, s.rule), Clock: testClock{s.env.Now},
			MemtableBytes: pick(4<<20, 64<<20), CacheBytes: pick(1, 1<<20), SegmentBytes: pick(16<<10, 256<<10),
			FileBytes: pick(1, 4<<10, 1<<20), BlockBytes: int(pick(1, 512, 32<<10)),
			StallTimeout: 20 * time.Second, ReserveBytes: -1,
		},
	})
	if err != nil {
		return nil, err
	}
	s.at = store
	return store, nil
}

func (s *subject) flush() error { return s.at.Engine().Flush(context.Background()) }

func (s *subject) compact() error {
	db := s.at.Engine()
	for _, p := range db.Partitions() {
		if err := db.Compact(context.Background(), p.ID); err != nil {
			return err
		}
	}
	return nil
}

func (s *subject) reopen() (widecol.Store, error) {
	if err := s.at.Close(); err != nil {
		return nil, err
	}
	return s.open()
}

// rule is that of the file system.
func (s *subject) rule(op vfs.Op) vfs.Fault {
	if f := s.failure.Load(); f != nil {
		return f.Rule(op)
	}
	return vfs.Fault{}
}

// fault makes one of the next operations that change something fail, or all
// from there on.
func (s *subject) fault() {
	errnos := []error{syscall.EIO, syscall.ENOSPC}
	effects := []vfs.Effect{vfs.None, vfs.Half, vfs.Full}
	s.failure.Store(&vfs.Failure{
		At:     s.rnd.Int64N(8),
		Sticky: s.rnd.IntN(2) == 0,
		Match:  func(op vfs.Op) bool { return op.Kind.Changes() },
		Fault:  vfs.Fault{Err: errnos[s.rnd.IntN(len(errnos))], Effect: effects[s.rnd.IntN(len(effects))]},
	})
}

// crash goes on with what a power loss at this moment leaves.
func (s *subject) crash() (widecol.Store, error) {
	models := []vfs.Model{vfs.DropAll, vfs.KeepAll, vfs.Subset, vfs.Garbage, vfs.SizeNoData}
	image := s.fs.Crash(models[s.rnd.IntN(len(models))], s.rnd.Uint64())
	s.at.Close() // on the file system that is no more
	s.failure.Store(nil)
	s.fs = image
	return s.open()
}

func TestConformance(t *testing.T) { storetest.Run(t, open) }

func TestRandom(t *testing.T) {
	for seed := range uint64(10) {
		storetest.Random(t, open, seed, 300)
	}
}
