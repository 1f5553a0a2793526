// Package backoff is the pause between two attempts of a request.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Jitter returns a random wait from half of d to d, so that requests that failed together do not come again
// together.
func Jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2) }

// Sleep waits for d. If ctx ends before, it returns its error.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
