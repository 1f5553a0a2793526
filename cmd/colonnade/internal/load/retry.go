package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/colonnade-db/colonnade/client"
	"github.com/colonnade-db/colonnade/internal/backoff"
)

// The first wait between two attempts is about firstWait. Each later one is up to twice as long, and at
// most maxWait unless the server asks for more.
const (
	firstWait = 100 * time.Millisecond
	maxWait   = 10 * time.Second
)

// retrier repeats a request while its failure may be temporary. Every cell is sent with a time, so applying
// a write twice is the same as once: an attempt without a response may have arrived or not.
type retrier struct {
	limit  time.Duration // from the first failure to giving up
	notice func(wait time.Duration, err error)
	now    func() time.Time
	sleep  func(ctx context.Context, d time.Duration) error
	jitter func(d time.Duration) time.Duration
}

func newRetrier(limit time.Duration, notice func(time.Duration, error)) retrier {
	return retrier{limit: limit, notice: notice, now: time.Now, sleep: backoff.Sleep, jitter: backoff.Jitter}
}

// do calls send until it succeeds, fails for good, or the limit is reached. It makes no more attempts once
// ctx is done.
func (r *retrier) do(ctx context.Context, send func() error) error {
	var failing time.Time
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		err := send()
		if err == nil || !passing(err) {
			return err
		}
		now := r.now()
		if failing.IsZero() {
			failing = now
		}
		pause := r.jitter(wait)
		var answer *client.Error
		if errors.As(err, &answer) {
			pause = max(pause, answer.RetryAfter)
		}
		if failing.Add(r.limit).Before(now.Add(pause)) {
			return fmt.Errorf("given up after %v: %w", now.Sub(failing).Round(time.Millisecond), err)
		}
		r.notice(pause, err)
		if r.sleep(ctx, pause) != nil {
			return err
		}
	}
}

// passing reports whether a failure may be temporary. A full disk (507), damage (500) and a read-only store
// need an operator.
func passing(err error) bool { return errors.Is(err, client.ErrUnavailable) }
