// Package lsmtest opens an lsmstore for package storetest. Its file system is in memory, and can
// lose power, fail and be slow. Its options differ from one open to the next. No option may change
// a result.
package lsmtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
	"github.com/colonnade-db/colonnade/widecol/storetest"
)

// subject is a store with the hooks of storetest.
type subject struct {
	env  *storetest.Env
	rnd  *rand.Rand    // of the caller's goroutine
	ids  *rand.ChaCha8 // for random ids
	fs   *vfs.Mem      // the file system below the faults
	disk *disk         // faults and delays
	at   atomic.Pointer[lsmstore.Store]
}

// dir is the data directory.
const dir = "data"

// Open opens a new, empty store. It is a storetest.Open.
func Open(env *storetest.Env) (*storetest.Subject, error) {
	var key [32]byte
	for i := range 8 {
		key[i] = byte(env.Seed >> (8 * i))
	}
	s := &subject{
		env: env, rnd: rand.New(rand.NewPCG(env.Seed, 0)), ids: rand.NewChaCha8(key),
		fs: vfs.NewMem(), disk: newDisk(env.Seed),
	}
	store, err := s.open()
	if err != nil {
		return nil, err
	}
	return &storetest.Subject{
		Store: store, Flush: s.flush, Compact: s.compact, Step: s.step, Verify: s.verify,
		Reopen: s.reopen, Crash: s.crash, Fault: s.fault, Hold: s.disk.hold,
	}, nil
}

func (s *subject) open() (widecol.Store, error) {
	store, err := lsmstore.Open(lsmstore.Options{
		Dir: dir, MaxValue: s.env.MaxValue, Engine: s.options(), StepMoves: true, MoveBytes: s.moveBytes(),
	})
	if err != nil {
		return nil, err
	}
	s.at.Store(store)
	return store, nil
}

func (s *subject) flush() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.at.Load().Engine().Flush(ctx)
}

// compact rewrites all partitions, sometimes while the caller goes on.
func (s *subject) compact() error {
	db := s.at.Load().Engine()
	if s.rnd.IntN(2) > 0 {
		return compactAll(db)
	}
	go compactAll(db) // ends when the store is closed, at the latest
	return nil
}

func compactAll(db *engine.DB) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, p := range db.Partitions() {
		if err := db.Compact(ctx, p.ID); err != nil {
			return err
		}
	}
	return nil
}

func (s *subject) step() (more bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.at.Load().MoveStep(ctx)
}

// verify checks the state that a kill of the process at this moment would leave, and that nothing
// has failed so far.
func (s *subject) verify() error {
	var damage error
	_, err := engine.Check(s.fs.Crash(vfs.KeepAll, 0), dir, func(e *engine.CorruptError) { damage = errors.Join(damage, e) })
	if err := errors.Join(damage, err, s.at.Load().Health()); err != nil {
		return err
	}
	db := s.at.Load().Engine()
	for _, p := range db.Partitions() {
		if stats, err := db.Stats(p.ID); err == nil && stats.Damage != nil {
			return fmt.Errorf("partition %s: %w", p.Name, stats.Damage)
		}
	}
	return nil
}

func (s *subject) reopen() (widecol.Store, error) {
	if err := s.at.Load().Close(); err != nil {
		return nil, err
	}
	return s.open()
}

// crash opens the store that a power loss at this moment leaves. Sometimes power fails again as
// soon as the store has recovered.
func (s *subject) crash() (widecol.Store, error) {
	for {
		model := s.model()
		image := s.fs.Crash(model, s.rnd.Uint64())
		s.disk.heal()
		s.at.Load().Close() // on the old file system
		s.fs = image
		store, err := s.open()
		if err != nil {
			return nil, fmt.Errorf("power loss that leaves %v: %w", model, err)
		}
		if s.rnd.IntN(4) > 0 {
			return store, nil
		}
	}
}

// model picks what a power loss leaves.
func (s *subject) model() vfs.Model {
	models := []vfs.Model{vfs.DropAll, vfs.DropAll, vfs.KeepAll, vfs.Subset, vfs.Garbage, vfs.SizeNoData}
	if n := len(s.fs.Pending()); n > 0 {
		at := s.rnd.IntN(n)
		models = append(models, vfs.Prefix(at, s.rnd.IntN(1<<10)), vfs.AllButOne(at), vfs.OnlyOne(at))
	}
	return models[s.rnd.IntN(len(models))]
}

// fault makes one of the next operations that change the file system fail, or several from there
// on.
func (s *subject) fault() { s.disk.fail(s.rnd) }
