// Package clock is time as the rest of the program sees it, so that a test can
// decide what time it is.
package clock

import (
	"sync"
	"time"
)

// Clock tells the time and calls back later. It is safe for concurrent use.
type Clock interface {
	// Now returns the time in microseconds since the Unix epoch. It may step
	// back.
	Now() int64
	// Elapsed returns how much time has passed since some moment before. It
	// never steps back, and is more than 0.
	Elapsed() time.Duration
	// AfterFunc calls f in a goroutine of its own once d has passed. The
	// returned function cancels the call and reports whether it came in time.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// System is the clock of the machine.
var System Clock = system{}

type system struct{}

func (system) Now() int64 { return time.Now().UnixMicro() }

var began = time.Now()

func (system) Elapsed() time.Duration { return time.Since(began) + 1 }

func (system) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

// Manual is a clock that moves only when told to.
type Manual struct {
	mu      sync.Mutex
	now     int64
	elapsed time.Duration
	pending []*call
}

type call struct {
	at int64
	f  func()
}

// NewManual returns a clock that stands at now.
func NewManual(now int64) *Manual { return &Manual{now: now, elapsed: 1} }

// Now implements Clock.
func (m *Manual) Now() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Elapsed implements Clock.
func (m *Manual) Elapsed() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.elapsed
}

// AfterFunc implements Clock. The call comes from the Advance that reaches it.
func (m *Manual) AfterFunc(d time.Duration, f func()) func() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &call{at: m.now + d.Microseconds(), f: f}
	m.pending = append(m.pending, c)
	return func() bool { return m.cancel(c) }
}

func (m *Manual) cancel(c *call) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, p := range m.pending {
		if p == c {
			m.pending = append(m.pending[:i], m.pending[i+1:]...)
			return true
		}
	}
	return false
}

// Pending returns how many calls are to come.
func (m *Manual) Pending() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.pending)
}

// Advance moves the clock by d, and starts the calls that have come due. A
// negative d steps it back: no time passes.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	m.now += d.Microseconds()
	m.elapsed += max(d, 0)
	var due []*call
	rest := m.pending[:0]
	for _, c := range m.pending {
		if c.at <= m.now {
			due = append(due, c)
		} else {
			rest = append(rest, c)
		}
	}
	m.pending = rest
	m.mu.Unlock()
	for _, c := range due {
		go c.f()
	}
}
