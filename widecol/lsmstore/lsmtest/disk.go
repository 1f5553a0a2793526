package lsmtest

import (
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/vfs"
)

// disk controls the file system: which operations fail, wait or are slow. It is safe for concurrent
// use.
type disk struct {
	seed    uint64
	slow    atomic.Int64 // operations per thousand
	failure atomic.Pointer[vfs.Failure]
	held    atomic.Pointer[held]
}

// held holds the syncs of the log.
type held struct {
	reached  sync.Once
	waiting  chan struct{} // closed when a sync waits
	released chan struct{}
}

func newDisk(seed uint64) *disk { return &disk{seed: seed} }

// rule decides the fate of an operation, for vfs.Inject.
func (d *disk) rule(op vfs.Op) vfs.Fault {
	if h := d.held.Load(); h != nil && op.Kind == vfs.OpSync && strings.HasPrefix(op.Name, dir+"/wal/") {
		h.reached.Do(func() { close(h.waiting) })
		return vfs.Fault{Hold: h.released}
	}
	if f := d.failure.Load(); f != nil {
		if f.Hits() == failures {
			f.Heal()
		}
		return f.Rule(op)
	}
	if slow := d.slow.Load(); slow > 0 {
		if rnd := rand.New(rand.NewPCG(d.seed, uint64(op.N))); rnd.Int64N(1000) < slow {
			return vfs.Fault{Hold: after(time.Duration(rnd.Int64N(int64(slowest))))}
		}
	}
	return vfs.Fault{}
}

// slowest is the longest delay of an operation.
const slowest = 2 * time.Millisecond

// delay makes perMille of a thousand operations slow from now on.
func (d *disk) delay(perMille int64) { d.slow.Store(perMille) }

// after returns a channel that is closed after t.
func after(t time.Duration) <-chan struct{} {
	over := make(chan struct{})
	clock.System.AfterFunc(t, func() { close(over) })
	return over
}

// hold makes the syncs of the log wait until release. It is a storetest.Subject.Hold.
func (d *disk) hold() (waiting <-chan struct{}, release func()) {
	h := &held{waiting: make(chan struct{}), released: make(chan struct{})}
	d.held.Store(h)
	return h.waiting, d.release
}

// release ends the hold.
func (d *disk) release() {
	if h := d.held.Swap(nil); h != nil {
		close(h.released)
	}
}

// failures bounds the operations that fail. A change of a table waits for disk space without limit,
// so the disk must have space in the end.
const failures = 5

// fail makes one of the next operations that change the file system fail, or all from there on,
// until heal or until failures of them have failed.
func (d *disk) fail(rnd *rand.Rand) {
	errnos := []error{syscall.EIO, syscall.ENOSPC}
	effects := []vfs.Effect{vfs.None, vfs.Half, vfs.Full}
	d.failure.Store(&vfs.Failure{
		At:     rnd.Int64N(8),
		Sticky: rnd.IntN(2) == 0,
		Match:  func(op vfs.Op) bool { return op.Kind.Changes() },
		Fault:  vfs.Fault{Err: errnos[rnd.IntN(len(errnos))], Effect: effects[rnd.IntN(len(effects))]},
	})
}

// failing reports whether operations may fail.
func (d *disk) failing() bool { return d.failure.Load() != nil }

// heal ends all faults and holds.
func (d *disk) heal() {
	d.failure.Store(nil)
	d.release()
}
