package flip

import (
	"sync"
	"time"
)

// timers is a clock that stands still and whose timers fire when fire is called, so that a store always grows the
// same way.
type timers struct {
	mu    sync.Mutex
	calls []func()
}

// began is the time of every clock, in microseconds.
const began = 1_700_000_000_000_000

// Now implements clock.Clock.
func (t *timers) Now() int64 { return began }

// Elapsed implements clock.Clock.
func (t *timers) Elapsed() time.Duration { return 1 }

// AfterFunc implements clock.Clock. Timers here are never cancelled.
func (t *timers) AfterFunc(_ time.Duration, f func()) func() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, f)
	return func() bool { return true }
}

// fire fires the timers that are due, and reports whether there were any.
func (t *timers) fire() bool {
	t.mu.Lock()
	due := t.calls
	t.calls = nil
	t.mu.Unlock()
	for _, f := range due {
		f()
	}
	return len(due) > 0
}
