package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/colonnade-db/colonnade/internal/backoff"
)

// opener opens a remote source from an offset on. It returns the size of all of it, -1 if unknown. Another attempt may
// succeed unless the error is final.
type opener func(ctx context.Context, offset int64) (io.ReadCloser, int64, error)

// final is an error that another attempt cannot mend.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// The first wait between two attempts is about firstWait, each later one up to twice as long, and at most maxWait.
const (
	firstWait = 100 * time.Millisecond
	maxWait   = 10 * time.Second
	// stallTimeout ends a connection on which nothing comes.
	stallTimeout = 2 * time.Minute
)

// steady reads a remote source. Where its connection breaks, it is opened again from there on.
type steady struct {
	ctx  context.Context
	stop context.CancelFunc
	open opener
	o    Options

	now   func() time.Time
	sleep func(ctx context.Context, d time.Duration) error

	body   io.ReadCloser // nil when it broke
	cancel context.CancelFunc
	stall  *time.Timer
	offset int64
	size   int64 // -1 if unknown

	// Since the last byte that came:
	failing time.Time // the first failure, zero for none
	wait    time.Duration
}

func newSteady(ctx context.Context, open opener, o Options) *steady {
	s := &steady{open: open, o: o, now: time.Now, sleep: backoff.Sleep, size: -1}
	s.ctx, s.stop = context.WithCancel(ctx)
	return s
}

// reopen makes a connection.
func (s *steady) reopen() error {
	ctx, cancel := context.WithCancel(s.ctx)
	stall := time.AfterFunc(stallTimeout, cancel)
	body, size, err := s.open(ctx, s.offset)
	if err != nil {
		stall.Stop()
		cancel()
		return err
	}
	if s.offset == 0 {
		s.size = size
	}
	s.body, s.cancel, s.stall = body, cancel, stall
	return nil
}

// Read reads on, through connections that break.
func (s *steady) Read(p []byte) (int, error) {
	for {
		if s.body == nil {
			return 0, io.ErrUnexpectedEOF
		}
		s.stall.Reset(stallTimeout)
		n, err := s.body.Read(p)
		s.offset += int64(n)
		if n > 0 || err == nil {
			s.failing = time.Time{}
			return n, nil // an error comes again
		}
		if s.size >= 0 && s.offset >= s.size || s.size < 0 && err == io.EOF {
			return 0, io.EOF
		}
		if err := s.again(err); err != nil {
			return 0, err
		}
	}
}

// again makes the connection again after a cause.
func (s *steady) again(cause error) error {
	s.closeBody()
	if s.failing.IsZero() {
		s.failing, s.wait = s.now(), firstWait
	}
	for {
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		pause := backoff.Jitter(s.wait)
		s.wait = min(2*s.wait, maxWait)
		if s.failing.Add(s.o.RetryFor).Before(s.now().Add(pause)) {
			return fmt.Errorf("given up at byte %d: %w", s.offset, cause)
		}
		if s.o.Retry != nil {
			s.o.Retry(pause, cause)
		}
		if err := s.sleep(s.ctx, pause); err != nil {
			return err
		}
		err := s.reopen()
		if err == nil || errors.As(err, new(final)) {
			return err
		}
		cause = err
	}
}

func (s *steady) closeBody() {
	if s.body != nil {
		s.stall.Stop()
		_ = s.body.Close()
		s.cancel()
		s.body = nil
	}
}

// Close ends the connection.
func (s *steady) Close() error {
	s.closeBody()
	s.stop()
	return nil
}

// withoutURL takes the URL out of an error: it may have secrets.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
