package admission

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/colonnade-db/colonnade/clock"
)

// Limiter is a concurrency limiter: it lets a number of requests work at a time. The others wait
// in a queue, first come, first served. It is safe for concurrent use.
//
// The queue is bounded by time, not by places, in the manner of CoDel (RFC 8289):
//
//  1. A request is refused at once if it would wait longer than its patience. The expected wait
//     is the length of the queue divided by the pace at which it moved lately, but at least the
//     time since it last moved.
//
//  2. Patience is normally long (interval): a burst may fill the queue, and is worked off.
//
//  3. When the expected wait has not been below half of target for an interval, the queue is a
//     standing one: more comes in than goes out. Patience is then short (target), so that the
//     requests that are let in do not all wait for an interval. A queue below half of target
//     ends that.
//
//  4. A request that has waited for a whole interval is refused then.
//
// The pace is known once a queue has stood for a while (window). Until then requests wait.
type Limiter struct {
	clock            clock.Clock
	target, interval int64 // in microseconds

	mu    sync.Mutex
	slots int
	free  int       // of the slots; at most 0 while a request waits, negative after a resize below what is taken
	queue list.List // of chan struct{}, closed when the request gets a slot
	pace  paceMeter // of the queue since it was last empty
	calm  int64     // when the expected wait was last below half of target
}

// NewLimiter returns a Limiter with a number of slots. target and interval are as in the type's
// comment; with target = interval patience is never short.
func NewLimiter(slots int, target, interval time.Duration, c clock.Clock) *Limiter {
	return &Limiter{clock: c, slots: slots, free: slots, target: target.Microseconds(), interval: interval.Microseconds(), calm: c.Now()}
}

// acquire takes a slot for a new request, and waits for it if need be. It returns a *Refusal, or
// the context's error.
func (l *Limiter) acquire(ctx context.Context) error {
	l.mu.Lock()
	if l.free > 0 {
		l.free--
		l.mu.Unlock()
		return nil
	}
	now := l.clock.Now()
	if wait, ok := l.admitLocked(now); !ok {
		l.mu.Unlock()
		return refusal(wait)
	}
	e := l.pushLocked(now)
	l.mu.Unlock()
	late := make(chan struct{})
	stop := l.clock.AfterFunc(time.Duration(l.interval)*time.Microsecond, func() { close(late) })
	defer stop()
	return l.wait(ctx, e, late)
}

// reacquire takes a slot for a request that had one before. It waits until the context is done.
func (l *Limiter) reacquire(ctx context.Context) error {
	l.mu.Lock()
	if l.free > 0 {
		l.free--
		l.mu.Unlock()
		return nil
	}
	e := l.pushLocked(l.clock.Now())
	l.mu.Unlock()
	return l.wait(ctx, e, nil)
}

// tryAcquire takes a slot if one is free.
func (l *Limiter) tryAcquire() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free <= 0 {
		return false
	}
	l.free--
	return true
}

// admitLocked reports whether a new request may join the queue, and its expected wait.
func (l *Limiter) admitLocked(now int64) (wait int64, ok bool) {
	wait = l.expectedLocked(now)
	if 2*wait <= l.target {
		l.calm = now
	}
	patience := l.interval
	if now-l.calm > l.interval {
		patience = l.target
	}
	return wait, wait <= patience
}

// expectedLocked returns how long a new request would wait, in microseconds.
func (l *Limiter) expectedLocked(now int64) int64 {
	if l.queue.Len() == 0 {
		return 0
	}
	return l.pace.wait(now, l.queue.Len())
}

func (l *Limiter) pushLocked(now int64) *list.Element {
	if l.queue.Len() == 0 {
		l.pace.reset(now)
	}
	return l.queue.PushBack(make(chan struct{}))
}

// wait waits for the slot of a request in the queue, until the context is done or late is closed.
func (l *Limiter) wait(ctx context.Context, e *list.Element, late <-chan struct{}) error {
	granted := e.Value.(chan struct{})
	var err error
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-late:
	}
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-granted: // it came in the last moment
		return nil
	default:
	}
	if err == nil {
		err = refusal(l.expectedLocked(now))
	}
	l.removeLocked(e, now)
	return err
}

// release gives a slot to the request that waits longest, or back.
func (l *Limiter) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free++
	l.grantLocked()
}

// grantLocked gives free slots to the requests that wait longest.
func (l *Limiter) grantLocked() {
	for l.free > 0 && l.queue.Len() > 0 {
		e := l.queue.Front()
		l.free--
		now := l.clock.Now()
		l.pace.count(now)
		l.removeLocked(e, now)
		close(e.Value.(chan struct{}))
	}
}

// resize changes the number of slots. Requests that have one keep it.
func (l *Limiter) resize(slots int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free += slots - l.slots
	l.slots = slots
	l.grantLocked()
}

// removeLocked takes a request out of the queue.
func (l *Limiter) removeLocked(e *list.Element, now int64) {
	l.queue.Remove(e)
	if l.queue.Len() == 0 {
		l.calm = now
	}
}

// contended reports whether a request waits.
func (l *Limiter) contended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue.Len() > 0
}

// Free returns the number of free slots, negative while more are taken than there are, for tests and metrics.
func (l *Limiter) Free() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.free
}

// Waiting returns the number of requests in the queue, for tests and metrics.
func (l *Limiter) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue.Len()
}
