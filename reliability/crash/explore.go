package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/reliability/ledger"
	"github.com/colonnade-db/colonnade/reliability/report"
	"github.com/colonnade-db/colonnade/reliability/script"
	"github.com/colonnade-db/colonnade/vfs"
)

// explorer takes and judges the images of one workload.
type explorer struct {
	*workload
	seed uint64
	ctx  context.Context
	env  report.Env
	s    *report.Section

	// reading is held while the workload is in a call that locks out readers.
	reading sync.RWMutex
	store   script.Store // nil while there is none to read from

	mu   sync.Mutex
	seen map[sight]bool
	kept int // images of the workload, each seen for the first time

	points, images, nested, second, depth, reads, moved atomic.Int64
}

// sight identifies images that need to be judged once: equal content, with nothing more acknowledged than
// before.
type sight struct {
	content  uint64
	strength int64
	killed   bool
	history  uint64 // of the crashes before, when this is not the first
}

// image is the result of a crash, and what must be in it.
type image struct {
	fs     *vfs.Mem
	debts  ledger.Debts
	from   string // how it came to be
	killed bool   // the process ended, not the power: what is read may not be durable
	more   int    // how many crashes shall follow
	nested bool   // it is from the middle of a recovery
	depth  int    // crashes so far
	mark   uint64 // of the content
}

// explore runs a workload once and takes every image. turn distinguishes it from others of the round.
func explore(ctx context.Context, w *workload, env report.Env, turn uint64, s *report.Section) {
	x := &explorer{workload: w, seed: env.Seed<<8 | turn, ctx: ctx, env: env, s: s, seen: make(map[sight]bool)}
	fs := vfs.NewMem()
	l := ledger.New(w.mix.Writers)
	fs.SetHook(x.hook(fs, l))
	if err := x.live(fs, l); err != nil {
		x.fail("without a crash", err)
	}
	s.Add("crash_points", x.points.Load())
	s.Add("operations", fs.Ops())
	s.Add("images", x.images.Load())
	s.Add("nested_images", x.nested.Load())
	s.Add("second_crashes", x.second.Load())
	s.Add("reads_before_crash", x.reads.Load())
	s.Add("move_steps", x.moved.Load())
	s.Largest("max_depth", x.depth.Load())
}

// over reports whether the exploration should end.
func (x *explorer) over() bool { return x.ctx.Err() != nil || x.env.First && x.s.Failed() }

func (x *explorer) fail(from string, err error) {
	x.s.Fail(x.env.Repeat("crash"), "%s: %s: %v", x.name, from, err)
}

// live runs the workload.
func (x *explorer) live(fs *vfs.Mem, l *ledger.Ledger) error {
	for range x.lives {
		store, err := x.level(fs, x.size)
		if err != nil {
			return err
		}
		x.show(store)
		err = x.write(store, l)
		x.show(nil)
		if closeErr := store.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// show sets the store from which the hook reads.
func (x *explorer) show(store script.Store) {
	x.reading.Lock()
	defer x.reading.Unlock()
	x.store = store
}

// write runs all writers at once, after the first one has created the shared space.
func (x *explorer) write(store script.Store, l *ledger.Ledger) error {
	if err := x.next(l, store, 0); err != nil {
		return err
	}
	failures := make(chan error, x.mix.Writers)
	for w := range x.mix.Writers {
		go func() {
			for range x.steps {
				if err := x.next(l, store, w); err != nil {
					failures <- fmt.Errorf("writer %d: %w", w, err)
					return
				}
			}
			failures <- nil
		}()
	}
	var first error
	for range x.mix.Writers {
		if err := <-failures; err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (x *explorer) next(l *ledger.Ledger, store script.Store, writer int) error {
	if x.over() {
		return nil
	}
	return x.mix.Next(x.seed, l, gate{store, &x.reading}, writer)
}

// gate keeps the hook's reader out of calls that hold the locks which the reader needs.
type gate struct {
	script.Store
	reading *sync.RWMutex
}

func (g gate) Create(space string) error {
	g.reading.Lock()
	defer g.reading.Unlock()
	return g.Store.Create(space)
}

func (g gate) Drop(space string) error {
	g.reading.Lock()
	defer g.reading.Unlock()
	return g.Store.Drop(space)
}

// hook returns the function to call around every operation of the workload.
func (x *explorer) hook(fs *vfs.Mem, l *ledger.Ledger) func(vfs.Op, bool) {
	rnd := rand.New(rand.NewPCG(x.seed, 0))
	strength, ops := int64(-1), int64(-1)
	return func(op vfs.Op, done bool) {
		if x.over() {
			return
		}
		x.points.Add(1)
		from := fmt.Sprintf("%s %v", when(done), op)
		x.read(l, from)
		debts := l.Debts()
		if !done && ops == op.N && strength == debts.Strength {
			return // nothing has happened since the operation before
		}
		strength, ops = debts.Strength, op.N+1
		for _, k := range kinds(fs, rnd) {
			x.take(fs, k, image{debts: debts, from: from, more: 1, depth: 1})
		}
	}
}

// read reads everything while something is being made durable. All that it sees must be durable already.
func (x *explorer) read(l *ledger.Ledger, from string) {
	if !x.reading.TryRLock() {
		return
	}
	defer x.reading.RUnlock()
	if x.store == nil {
		return
	}
	before := l.Debts()
	found, err := x.split(x.store)
	if err == nil {
		err = l.Seen(before, found)
	}
	if err != nil {
		x.fail("read "+from, err)
	}
	x.reads.Add(1)
}

func (x *explorer) split(store script.Store) ([]ledger.Cells, error) {
	found, err := store.Read()
	if err != nil {
		return nil, err
	}
	return script.Split(found, x.mix.Writers)
}
