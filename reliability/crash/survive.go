package crash

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/reliability/ledger"
	"github.com/colonnade-db/colonnade/reliability/script"
	"github.com/colonnade-db/colonnade/vfs"
)

const (
	// One first image in nestedEvery has its recovery crashed at every operation.
	nestedEvery = 1200
	// One first image in chainEvery crashes up to depth longest.
	chainEvery = 16
	longest    = 5
	// shortMemtable is the memtable budget of every other open. With it the log counts as long, and
	// recovery flushes everything.
	shortMemtable = 8 << 10
	// engine.Check examines one image in checkEvery.
	checkEvery = 16
)

// take takes an image and judges it, unless an equal one was taken before. Of the images of the workload, not those of
// later crashes, a short round judges every eighth.
func (x *explorer) take(fs *vfs.Mem, k kind, im image) {
	if x.over() {
		return
	}
	im.fs = k.crash(fs)
	im.killed = k.killed
	im.from = fmt.Sprintf("%v %s", k, im.from)
	history := im.mark
	im.mark = im.fs.Fingerprint()
	if !x.first(sight{content: im.mark, strength: im.debts.Strength, killed: im.killed, history: history}) || im.depth == 1 && !im.nested && !x.chosen() {
		return
	}
	x.judge(im)
}

func (x *explorer) first(s sight) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.seen[s] {
		return false
	}
	x.seen[s] = true
	return true
}

// chosen reports whether the round judges the next image of the workload.
func (x *explorer) chosen() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.kept++
	return x.env.Chosen(x.kept)
}

func (x *explorer) judge(im image) {
	switch {
	case im.nested:
		x.nested.Add(1)
	case im.depth == 1:
		x.images.Add(1)
	default:
		x.second.Add(1)
	}
	for d := x.depth.Load(); int64(im.depth) > d; d = x.depth.Load() {
		x.depth.CompareAndSwap(d, int64(im.depth))
	}
	if err := x.survive(im); err != nil {
		x.fail(im.from, err)
	}
}

// survive opens an image, judges its content, and goes on from it.
func (x *explorer) survive(im image) error {
	rnd := rand.New(rand.NewPCG(x.seed, im.mark))
	if rnd.IntN(checkEvery) == 0 {
		if err := check(im.fs.Clone()); err != nil {
			return fmt.Errorf("check: %w", err)
		}
	}
	if im.depth == 1 {
		if rnd.IntN(nestedEvery) == 0 {
			im.fs.SetHook(x.interrupt(im))
		}
		if rnd.IntN(chainEvery) == 0 {
			im.more = longest - 1
		}
	}
	size := x.size
	if rnd.IntN(2) == 0 {
		size.Memtable = shortMemtable
	}
	store, err := x.level(im.fs, size)
	im.fs.SetHook(nil)
	if err != nil {
		return err
	}
	err = x.goOn(im, store, rnd)
	if closeErr := store.Close(); err == nil {
		err = closeErr
	}
	return err
}

// goOn judges the content of an open store, writes, and crashes again.
func (x *explorer) goOn(im image, store script.Store, rnd *rand.Rand) error {
	found, err := x.split(store)
	if err != nil {
		return err
	}
	l, err := im.debts.Settle(found)
	if err != nil {
		return err
	}
	if im.killed {
		// Data that was read must be durable, though it may have been only in memory.
		x.take(im.fs, kind{model: vfs.DropAll}, im.followed("reading", l, 0))
	}
	if x.mix.Moves > 0 && rnd.IntN(4) == 0 {
		if err := x.arrive(store, l); err != nil {
			return err
		}
	}
	if im.more == 0 {
		return nil
	}
	return x.writeOn(im, store, l, rnd)
}

// arrive goes on with the moves of parts to their ends, and reads after each step.
func (x *explorer) arrive(store script.Store, l *ledger.Ledger) error {
	for {
		more, err := store.MoveSome()
		if err != nil {
			return fmt.Errorf("move: %w", err)
		}
		if !more {
			return nil
		}
		x.moved.Add(1)
		found, err := x.split(store)
		if err == nil {
			err = l.Shows(found)
		}
		if err != nil {
			return fmt.Errorf("after a step of a move: %w", err)
		}
	}
}

// followed describes a crash after im, with the number of crashes to follow.
func (im image) followed(by string, l *ledger.Ledger, more int) image {
	return image{debts: l.Debts(), from: fmt.Sprintf("%s after [%s]", by, im.from),
		more: more, nested: im.nested, depth: im.depth + 1, mark: im.mark}
}

// writeOn does some steps, and crashes at an operation of theirs, or at the end.
func (x *explorer) writeOn(im image, store script.Store, l *ledger.Ledger, rnd *rand.Rand) error {
	at, crashed := im.fs.Ops()+rnd.Int64N(12), false
	crash := func() {
		crashed = true
		x.take(im.fs, someKind(im.fs, rnd), im.followed("writing", l, im.more-1))
	}
	im.fs.SetHook(func(op vfs.Op, _ bool) {
		if !crashed && op.N >= at {
			crash()
		}
	})
	defer im.fs.SetHook(nil)
	for i := range 2 + rnd.IntN(3) {
		writer := 0 // comes first, as it makes the shared space
		if i > 0 {
			writer = rnd.IntN(x.mix.Writers)
		}
		if err := x.mix.Next(im.mark, l, store, writer); err != nil {
			return err
		}
	}
	im.fs.SetHook(nil)
	if !crashed {
		crash()
	}
	return nil
}

// check runs engine.Check on an image: a crash must not look like damage.
func check(fs *vfs.Mem) error {
	if m, err := fs.List("store"); err != nil || !slices.ContainsFunc(m, isManifest) {
		return nil // no store was made yet
	}
	var damage error
	_, err := engine.Check(fs, "store", func(e *engine.CorruptError) { damage = e })
	if err == nil {
		err = damage
	}
	return err
}

func isManifest(name string) bool {
	return strings.HasPrefix(name, "manifest-") && !strings.HasSuffix(name, ".tmp")
}

// interrupt returns a hook that crashes a recovery at every operation. The next recovery must find what an
// undisturbed one would have found.
func (x *explorer) interrupt(im image) func(vfs.Op, bool) {
	rnd := rand.New(rand.NewPCG(x.seed, im.mark+1))
	return func(op vfs.Op, done bool) {
		from := fmt.Sprintf("%s %v in the recovery after [%s]", when(done), op, im.from)
		for _, k := range []kind{{killed: true}, {model: vfs.DropAll}, {model: vfs.KeepAll}, someKind(im.fs, rnd)} {
			x.take(im.fs, k, image{debts: im.debts, from: from, more: rnd.IntN(2), nested: true, depth: im.depth + 1, mark: im.mark})
		}
	}
}

func when(done bool) string {
	if done {
		return "after"
	}
	return "before"
}
