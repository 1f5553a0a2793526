package admission

import "sync"

// Control holds the limits of a server. It is safe for concurrent use.
type Control struct {
	memory   *Budget // bytes of request bodies
	scans    *Budget // open scans, whether they work or wait for their clients
	limiters Limiters

	mu       sync.RWMutex
	draining bool           // guarded by mu; no request enters once it is set
	entered  sync.WaitGroup // Add only with mu held and draining not set
}

// New returns a Control with limits, of which limiters have the slots.
func New(l Limits, limiters Limiters) *Control {
	l = l.WithDefaults()
	return &Control{memory: NewBudget(l.Memory), scans: NewBudget(l.Scans), limiters: limiters}
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
