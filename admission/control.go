package admission

import (
	"sync"
	"sync/atomic"
)

// Control holds the limits of a server. It is safe for concurrent use.
type Control struct {
	memory   *Budget // bytes of request bodies
	scans    *Budget // open scans, whether they work or wait for their clients
	limiters Limiters

	entered atomic.Int64 // requests under way, and draining once Drain was called
	left    chan struct{}
	drained func() // closes left

	mu      sync.Mutex
	onDrain []func() // nil once Drain was called; guarded by mu
}

// draining is more than all requests that can be under way.
const draining = 1 << 62

// New returns a Control with limits, of which limiters have the slots.
func New(l Limits, limiters Limiters) *Control {
	l = l.WithDefaults()
	left := make(chan struct{})
	return &Control{
		memory: NewBudget(l.Memory), scans: NewBudget(l.Scans), limiters: limiters,
		left: left, drained: sync.OnceFunc(func() { close(left) }),
	}
}

// SetLimits changes the limits of a Control in use. What requests have taken stays taken, so a lower
// limit holds once enough of them have ended.
func (c *Control) SetLimits(l Limits) {
	l = l.WithDefaults()
	c.memory.Resize(l.Memory)
	c.scans.Resize(l.Scans)
	for class, slots := range l.slots() {
		if limiter := c.limiters[class]; limiter != nil {
			limiter.resize(slots)
		}
	}
}

// Limiter returns the limiter of a class, nil for Quick.
func (c *Control) Limiter(class Class) *Limiter { return c.limiters[class] }

// Memory returns the budget of request bodies, in bytes.
func (c *Control) Memory() *Budget { return c.memory }

// Scans returns the budget of open scans.
func (c *Control) Scans() *Budget { return c.scans }

// Enter counts a request as under way, until Leave. It returns false once Drain was called.
func (c *Control) Enter() bool {
	if c.entered.Add(1) < draining {
		return true
	}
	c.Leave()
	return false
}

// Leave ends a request that has entered.
func (c *Control) Leave() {
	if c.entered.Add(-1) == draining {
		c.drained()
	}
}

// Drain lets no more requests in. The returned channel is closed when all that are under way
// have left.
func (c *Control) Drain() <-chan struct{} {
	if c.entered.Or(draining) == 0 {
		c.drained()
	}
	c.mu.Lock()
	calls := c.onDrain
	c.onDrain = nil
	c.mu.Unlock()
	for _, f := range calls {
		f()
	}
	return c.left
}

// OnDrain has the first Drain from now on call f, before it returns.
func (c *Control) OnDrain(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onDrain = append(c.onDrain, f)
}

// Draining reports whether Drain was called.
func (c *Control) Draining() bool { return c.entered.Load() >= draining }
