package flip

import (
	"sync"
	"time"
)

// timers is a clock that stands still, and whose calls come when fire is called:
// so a store grows the same way each time.
type timers struct {
	mu    sync.Mutex
	calls []func()
}

// began is when every clock stands still, in microseconds.
const began = 1_700_000_000_000_000

// Now implements clock.Clock.
func (t *timers) Now() int64 { return began }

// AfterFunc implements clock.Clock. Nothing that is waited for here has to be
// called off.
func (t *timers) AfterFunc(_ time.Duration, f func()) func() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, f)
	return func() bool { return true }
}

// fire makes the calls that are due, and reports whether there were any.
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
