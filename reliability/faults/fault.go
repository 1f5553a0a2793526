package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/colonnade-db/colonnade/vfs"
)

// fault makes one operation fail, or all similar ones from there on until it is healed. It also watches what
// is then done to files that cannot be trusted any more. It is safe for concurrent use.
type fault struct {
	at     int64 // the operation, counted from 0
	effect vfs.Effect
	sticky bool
	turn   uint64 // decides on the error

	hit chan struct{} // closed when the operation fails

	mu      sync.Mutex
	seen    int64
	healed  bool
	errno   *errno // nil before the operation fails
	op      vfs.Op
	hits    int64
	writing map[string]bool  // files that are open for writing
	synced  map[string]int   // how often a file that is open for writing was synced
	suspect map[string]error // files whose content may not be what was written
	cut     error            // the log may lack what was written: nothing may be acknowledged
	wrong   error            // the first thing done that must not be
}

func newFault(at int64, effect vfs.Effect, sticky bool, turn uint64) *fault {
	return &fault{at: at, effect: effect, sticky: sticky, turn: turn,
		hit: make(chan struct{}), writing: make(map[string]bool), synced: make(map[string]int), suspect: make(map[string]error)}
}

// rule is the rule of the injected file system.
func (f *fault) rule(op vfs.Op) vfs.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watch(op)
	n := f.seen
	f.seen++
	switch {
	case n == f.at && !f.healed:
		f.errno, f.op = errnoFor(op.Kind, f.turn), op
		close(f.hit)
	case f.errno == nil, !f.sticky, f.healed, !f.errno.hits(op.Kind):
		f.done(op)
		return vfs.Fault{}
	}
	f.hits++
	f.failed(op)
	return vfs.Fault{Err: f.errno.number, Effect: f.effect}
}

// watch examines an operation before it happens.
func (f *fault) watch(op vfs.Op) {
	err := f.suspect[op.Name]
	switch op.Kind {
	case vfs.OpWrite, vfs.OpSync, vfs.OpRename, vfs.OpReuse:
		if err != nil && f.wrong == nil {
			f.wrong = fmt.Errorf("%v, after %w", op, err)
		}
	}
}

// done records an operation that succeeds.
func (f *fault) done(op vfs.Op) {
	switch op.Kind {
	case vfs.OpCreate:
		f.writing[op.Name] = true
		delete(f.suspect, op.Name)
	case vfs.OpReuse:
		f.writing[op.To] = true
		f.synced[op.To] = 0
		delete(f.suspect, op.To)
	case vfs.OpRemove:
		delete(f.suspect, op.Name)
	case vfs.OpClose:
		delete(f.writing, op.Name)
	case vfs.OpSync:
		f.synced[op.Name]++
	}
}

// failed records an operation that fails. A log segment that was synced more than once has batches, and is
// closed when it is full.
func (f *fault) failed(op vfs.Op) {
	err := fmt.Errorf("%v failed with %v", op, f.errno.number)
	switch op.Kind {
	case vfs.OpWrite:
		if !slices.Contains(passing, f.errno.number) {
			f.suspect[op.Name] = err
		}
	case vfs.OpSync:
		f.suspect[op.Name] = err
	case vfs.OpClose:
		if !f.writing[op.Name] {
			return
		}
		if isSegment(op.Name) && f.synced[op.Name] > 1 && f.suspect[op.Name] == nil && f.cut == nil {
			f.cut = err
		}
		f.suspect[op.Name] = err
		delete(f.writing, op.Name)
	}
}

// heal ends it.
func (f *fault) heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.healed = true
}

// restarted records that the process with the open files has ended. A recovery has copied the log then, and
// its files are overwritten.
func (f *fault) restarted() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cut = nil
	clear(f.writing)
	maps.DeleteFunc(f.suspect, func(name string, _ error) bool { return isSegment(name) })
}

func isSegment(name string) bool { return strings.HasSuffix(name, ".log") }

// happened returns the error of the operation that has failed, nil for none yet.
func (f *fault) happened() *errno {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.errno
}

// acknowledged judges an acknowledgement.
func (f *fault) acknowledged() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.wrong != nil:
		return f.wrong
	case f.cut != nil:
		return fmt.Errorf("acknowledged, after %w", f.cut)
	}
	return nil
}

// installed judges the files of a store at its end: no sorted file may be an untrusted one.
func (f *fault) installed(has func(name string) bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, err := range f.suspect {
		if strings.HasSuffix(name, ".sst") && has(name) {
			return fmt.Errorf("%s is part of the store, after %w", name, err)
		}
	}
	return nil
}

func (f *fault) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	how := "once"
	if f.sticky {
		how = "until healed"
	}
	if f.errno == nil {
		return fmt.Sprintf("no failure up to operation %d", f.seen)
	}
	return fmt.Sprintf("%v fails with %v, effect %d, %s", f.op, f.errno.number, f.effect, how)
}
