package admission

import (
	"context"
	"sync/atomic"
	"time"
)

// Request is what one request holds of the limits. It is for one goroutine, but for Charge. The zero value, with
// a Control, holds nothing.
type Request struct {
	Control *Control
	charged atomic.Int64
	scan    bool
}

// Charge takes n bytes of the memory that all requests share, until Close. It reports whether
// they were there.
func (r *Request) Charge(n int64) bool {
	if !r.Control.memory.Take(n) {
		return false
	}
	r.charged.Add(n)
	return true
}

// TooLarge reports whether n bytes more than the request has would be too much even if no other request had any.
func (r *Request) TooLarge(n int64) bool { return r.charged.Load()+n > r.Control.memory.Size() }

// Refund gives back n bytes that were charged, before Close.
func (r *Request) Refund(n int64) {
	r.charged.Add(-n)
	r.Control.memory.Give(n)
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
