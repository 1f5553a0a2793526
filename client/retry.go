package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// class says when a request may be sent again.
type class int

const (
	// read requests change nothing.
	read class = iota
	// keyedChange requests have an idempotency key: they are applied once, however often they arrive.
	keyedChange
	// once requests must not arrive twice.
	once
)

// verdict is what a failed attempt says about the next one.
type verdict int

const (
	final   verdict = iota // another attempt would fail alike
	refused                // nothing has happened, and another attempt may succeed
	lost                   // it may have happened, and another attempt may succeed
)

func judge(err error) verdict {
	var answer *Error
	var none *noAnswer
	switch {
	case errors.As(err, &answer):
		return answer.judge()
	case !errors.As(err, &none) || none.ended:
		return final
	case none.unsent:
		return refused
	}
	return lost
}

func (e *Error) judge() verdict {
	ours := e.Code != "" // else a proxy has answered, and the server may have got the request
	switch e.Status {
	case http.StatusTooManyRequests:
		return refused
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return lost
	case http.StatusServiceUnavailable:
		switch {
		case e.Code == "read_only": // until a restart
			return final
		case ours:
			return refused
		}
		return lost
	case http.StatusRequestTimeout:
		if ours {
			return refused
		}
		return lost
	case http.StatusConflict:
		if e.Code == "idempotency_key_in_use" {
			return refused
		}
	}
	return final
}

// The first pause between two attempts is about firstWait. Each later one is up to twice as long, and at
// most maxWait unless the server asks for more. A server that asks for more than maxRetryAfter is left
// to the caller.
const (
	firstWait     = 100 * time.Millisecond
	maxWait       = 10 * time.Second
	maxRetryAfter = time.Minute
)

// retry calls attempt until it succeeds, fails for good, or there is no attempt or no time left.
func (c *Client) retry(ctx context.Context, class class, attempt func() error) error {
	unknown := false // an attempt may have been applied
	for n, wait := 1, firstWait; ; n, wait = n+1, min(2*wait, maxWait) {
		err := attempt()
		if err == nil {
			return nil
		}
		v := judge(err)
		if class != read {
			unknown = v == lost || mayBeApplied(err) || unknown && !settles(err)
		}
		again := v == refused || v == lost && class != once
		pause, inTime := c.pause(ctx, wait, err)
		if again && inTime && n < c.opt.Attempts {
			if c.opt.OnRetry != nil {
				c.opt.OnRetry(err, pause)
			}
			ended := c.sleep(ctx, pause)
			if ended == nil {
				continue
			}
			err = fmt.Errorf("%w; %w while waiting to try again", err, ended)
		}
		if n > 1 {
			err = fmt.Errorf("attempt %d: %w", n, err)
		}
		if unknown {
			err = &unsettled{err}
		}
		return err
	}
}

// pause returns how long to wait after a failure. inTime is false if the context or the caller's patience
// ends before.
func (c *Client) pause(ctx context.Context, wait time.Duration, err error) (pause time.Duration, inTime bool) {
	pause = c.jitter(wait)
	var answer *Error
	if errors.As(err, &answer) {
		if answer.RetryAfter > maxRetryAfter {
			return 0, false
		}
		pause = max(pause, answer.RetryAfter)
	}
	deadline, ok := ctx.Deadline()
	return pause, ctx.Err() == nil && (!ok || time.Until(deadline) > pause)
}

// mayBeApplied reports whether a request that the caller's context ended may have arrived.
func mayBeApplied(err error) bool {
	var none *noAnswer
	return errors.As(err, &none) && none.ended && !none.unsent
}

// settles reports whether a failure proves that no attempt before it was applied: one that was is answered as
// before.
func settles(err error) bool {
	var answer *Error
	return errors.As(err, &answer) && answer.Status/100 == 4 && answer.judge() == final
}

// unsettled is the failure of a change of which an attempt may have been applied.
type unsettled struct{ cause error }

func (e *unsettled) Error() string { return e.cause.Error() + "; the change may be applied or not" }

func (e *unsettled) Unwrap() error { return e.cause }

func (e *unsettled) Is(target error) bool { return target == ErrOutcomeUnknown }

type keyOfContext struct{}

// WithIdempotencyKey gives one change of cells a key of the caller's instead of a random one. Who keeps the
// key with what is to be written can send the same change again after an ErrOutcomeUnknown, or after a crash
// of its own: within 24 hours it is applied once. Another change needs another key.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyOfContext{}, key)
}

// newUUID returns a random UUID (version 4).
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	text := hex.EncodeToString(b[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
