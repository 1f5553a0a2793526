package admission

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"colonnade/clock"
	"colonnade/internal/cores"
)

// Class says which slots a request takes.
type Class uint8

const (
	Quick Class = iota // none: it only reads what is in memory
	Write
	Read
	Scan
)

const (
	// writesPerCore is large, because a write spends most of its time waiting for a sync
	// that it shares with all others that wait.
	writesPerCore = 32
	readsPerCore  = 8
	scansPerCore  = 2
	// MaxScans bounds the open scans. Each holds a snapshot, which holds memory and files.
	MaxScans = 256

	// longestWait is how long a request waits for its first slot at most.
	longestWait = time.Second
	// standingWait is how long it waits while a queue of writes or reads is a standing one.
	// With 400 connections that write on two cores, the queue is a quarter of that.
	standingWait = 100 * time.Millisecond
)

// Control holds the limits of a server. It is safe for concurrent use.
type Control struct {
	memory            *Budget // bytes of request bodies
	scans             *Budget // open scans, whether they work or wait for their clients
	write, read, scan *Limiter

	mu       sync.RWMutex
	draining bool           // guarded by mu; no request enters once it is set
	entered  sync.WaitGroup // Add only with mu held and draining not set
}

// New returns a Control whose requests may hold memory bytes of bodies together.
func New(memory int64, c clock.Clock) *Control {
	n := cores.Count()
	return &Control{
		memory: NewBudget(memory),
		scans:  NewBudget(MaxScans),
		write:  NewLimiter(writesPerCore*n, standingWait, longestWait, c),
		read:   NewLimiter(readsPerCore*n, standingWait, longestWait, c),
		// A slot of a scan comes free when another scan has collected a piece of its
		// answer. That takes longer than a whole read, and the wait is worth it.
		scan: NewLimiter(scansPerCore*n, longestWait, longestWait, c),
	}
}

// Limiter returns the limiter of a class, nil for Quick.
func (c *Control) Limiter(class Class) *Limiter {
	return [...]*Limiter{Quick: nil, Write: c.write, Read: c.read, Scan: c.scan}[class]
}

// Memory returns the budget of request bodies, in bytes.
func (c *Control) Memory() *Budget { return c.memory }

// Scans returns the budget of open scans.
func (c *Control) Scans() *Budget { return c.scans }

// Enter counts a request as under way, until Leave. It returns false once Drain was called.
func (c *Control) Enter() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.draining {
		return false
	}
	c.entered.Add(1)
	return true
}

// Leave ends a request that has entered.
func (c *Control) Leave() { c.entered.Done() }

// Drain lets no more requests in. The returned channel is closed when all that are under way
// have left.
func (c *Control) Drain() <-chan struct{} {
	c.mu.Lock()
	c.draining = true
	c.mu.Unlock()
	done := make(chan struct{})
	go func() { c.entered.Wait(); close(done) }()
	return done
}

// Draining reports whether Drain was called.
func (c *Control) Draining() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.draining
}

// Request is what one request holds of the limits. It is for one goroutine, but for Charge. The zero value,
// with a Control, holds nothing.
type Request struct {
	Control *Control
	charged atomic.Int64
	scan    bool
}

// Charge takes n bytes of the memory that all requests share, until Close. It reports whether
// they were there. Goroutines of the request may call it at the same time.
func (r *Request) Charge(n int64) bool {
	if !r.Control.memory.Take(n) {
		return false
	}
	r.charged.Add(n)
	return true
}

// Begin waits for the first slot of a request. It returns a *Refusal, or the error of the
// context, which also ends later waits of the slot.
func (r *Request) Begin(ctx context.Context, class Class) (Slot, error) {
	if class == Scan {
		if !r.Control.scans.Take(1) {
			return Slot{}, &Refusal{Reason: "too many scans are open", RetryAfter: time.Second}
		}
		r.scan = true
	}
	l := r.Control.Limiter(class)
	if l == nil {
		return Slot{ctx: ctx}, nil
	}
	if err := l.acquire(ctx); err != nil {
		return Slot{}, err
	}
	return Slot{ctx: ctx, limiter: l, held: true}, nil
}

// Close gives back what the request has taken, but for its slots.
func (r *Request) Close() {
	r.Control.memory.Give(r.charged.Load())
	if r.scan {
		r.Control.scans.Give(1)
	}
	*r = Request{Control: r.Control}
}

// Refusal says that a request found no room. Nothing has happened.
type Refusal struct {
	Reason     string
	RetryAfter time.Duration // until there is room, as far as can be told; at least a second
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s, try again in %v", r.Reason, r.RetryAfter) }

// longestRetry bounds RetryAfter: an estimate says little about later.
const longestRetry = 4 * time.Second

// refusal is for a request that would wait for the given microseconds.
func refusal(wait int64) *Refusal {
	after := time.Duration(wait) * time.Microsecond
	return &Refusal{Reason: "too many requests are under way", RetryAfter: min(max(after, time.Second), longestRetry)}
}

// SetLimiter replaces the limiter of a class, before the first request.
func (c *Control) SetLimiter(class Class, l *Limiter) {
	switch class {
	case Write:
		c.write = l
	case Read:
		c.read = l
	case Scan:
		c.scan = l
	}
}
