package admission

import "context"

// Slot is the permission to work of one goroutine of a request. It is for that goroutine. The zero
// value is for requests that need none: all its methods succeed at once.
type Slot struct {
	ctx     context.Context // ends its waits
	limiter *Limiter        // nil for a request that needs no slot
	held    bool
}

// Another returns a slot for one more goroutine of the request, if one is free and no request
// waits for it. ctx ends its waits.
func (s *Slot) Another(ctx context.Context) (more Slot, ok bool) {
	if s.limiter == nil || !s.limiter.tryAcquire() {
		return Slot{}, false
	}
	return Slot{ctx: ctx, limiter: s.limiter, held: true}, true
}

// Move returns the slot for another goroutine, whose waits ctx ends. What is left needs no slot.
func (s *Slot) Move(ctx context.Context) Slot {
	moved := Slot{ctx: ctx, limiter: s.limiter, held: s.held}
	*s = Slot{ctx: s.ctx}
	return moved
}

// Limited reports whether the request needs a slot.
func (s *Slot) Limited() bool { return s.limiter != nil }

// Contended reports whether other requests wait for a slot of this class.
func (s *Slot) Contended() bool { return s.limiter != nil && s.limiter.contended() }

// Release gives the slot up, if it is held.
func (s *Slot) Release() {
	if s.held {
		s.held = false
		s.limiter.release()
	}
}

// Reacquire waits for a slot after Release. It returns the error of the context when that ends
// the wait.
func (s *Slot) Reacquire() error {
	if s.limiter == nil || s.held {
		return nil
	}
	if err := s.limiter.reacquire(s.ctx); err != nil {
		return err
	}
	s.held = true
	return nil
}

// StepEvery is how many rounds of a long loop a request works before others get in between.
const StepEvery = 256

// Step lets waiting requests in between. Loops of any length call it in each round with the
// number of rounds so far; it does something every StepEvery rounds.
func (s *Slot) Step(n int) error {
	if n%StepEvery != 0 || !s.held || !s.limiter.contended() {
		return nil
	}
	s.Release()
	return s.Reacquire()
}
