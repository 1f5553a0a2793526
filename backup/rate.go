package backup

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/colonnade-db/colonnade/clock"
)

// rateLimit bounds how fast bytes are read, by several goroutines together.
type rateLimit struct {
	clock clock.Clock
	rate  int64 // bytes a second

	mu   sync.Mutex
	free time.Duration // Clock.Elapsed when what was read before has taken its time
}

func newRateLimit(c clock.Clock, rate int64) *rateLimit {
	return &rateLimit{clock: c, rate: rate, free: c.Elapsed()}
}

// take waits until n bytes may be read: as long as those before them take.
func (l *rateLimit) take(ctx context.Context, n int) error {
	l.mu.Lock()
	now := l.clock.Elapsed()
	wait := l.free - now
	l.free = max(l.free, now) + time.Duration(float64(n)/float64(l.rate)*float64(time.Second))
	l.mu.Unlock()
	if wait <= 0 {
		return ctx.Err()
	}
	return sleep(ctx, l.clock, wait)
}

// limitedReader reads at most at the rate of a limit.
type limitedReader struct {
	ctx   context.Context
	limit *rateLimit // nil for none
	r     io.Reader
}

func (r limitedReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if r.limit == nil || n == 0 {
		return n, err
	}
	if late := r.limit.take(r.ctx, n); late != nil {
		return n, late
	}
	return n, err
}
