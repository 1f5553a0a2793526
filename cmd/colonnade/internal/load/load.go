// Package load writes a stream of rows into a table of a running server: lines
// of JSON, gathered into write requests of which several are under way at once,
// each sent again while it fails for reasons that pass.
//
// A cell without a time gets one here, Options.Time plus the number of its
// line, and not from the server: only then does a request whose answer was lost
// leave the same versions when it is sent again. The later of two lines that
// write the same cell is also the newer version, in whatever order their
// requests arrive. Where lines give times themselves, two that write the same
// version of the same cell may arrive in either order, unless Options.Parallel
// is 1.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"colonnade/internal/poison"
)

// Options of a load.
type Options struct {
	URL   string // of the server
	Table string
	Name  string // of the input, for messages

	CreateTable    bool
	CreateFamilies bool       // those that lines mention, as they come
	Groups         [][]string // families to create in locality groups of their own

	Parallel   int // requests under way at once
	BatchCells int // cells in a request, give or take a line
	// SkipBad leaves out lines that are wrong and goes on. Otherwise the first
	// one ends the load, and nothing of its request is written.
	SkipBad bool
	// Time stands in for the times that cells do not have; see the package
	// comment. In microseconds since the Unix epoch.
	Time int64
	// RetryFor is how long a request is tried again before the load ends.
	RetryFor time.Duration

	// Events are told of what happens, one at a time.
	Events Events
}

// Events hears of a load that is under way. Its functions may be nil.
type Events struct {
	Progress func(Progress)                        // a request has succeeded
	Bad      func(*LineError)                      // a line was left out
	Retry    func(wait time.Duration, cause error) // a request will be sent again
}

// Progress counts what the server has acknowledged.
type Progress struct {
	Rows, Cells int64
	Bytes       int64 // of the lines, decompressed
	Input       int64 // of the input up to the last of them, compressed as it is
	Skipped     int64 // bad lines left out
	// Stamped says that cells without a time were sent, acknowledged or not.
	Stamped bool
}

// LineError is a line that cannot be written.
type LineError struct {
	Name        string // of the input
	First, Last int64  // more than one line when it is not known which of them
	Cause       error
}

func (e *LineError) Error() string {
	if e.First < e.Last {
		return fmt.Sprintf("%s:%d: one of the lines up to %d: %v", e.Name, e.First, e.Last, e.Cause)
	}
	return fmt.Sprintf("%s:%d: %v", e.Name, e.First, e.Cause)
}

func (e *LineError) Unwrap() error { return e.Cause }

// maxBatchBytes is where a request ends however few cells it has: large enough
// that the round trip does not count, and small beside what a server takes.
const maxBatchBytes = 4 << 20

// loader is one load under way.
type loader struct {
	o       Options
	client  *client
	retrier retrier

	batches chan *batch // cut, waiting for a sender
	free    chan *batch // done, to be used again

	mu   sync.Mutex // guards what follows and the calls of o.Events
	done Progress
	err  error // the first failure
	stop context.CancelFunc
}

// Run loads in. It returns after the last request has ended, with what was
// acknowledged even if it then failed. Once ctx is done it sends nothing new.
func Run(ctx context.Context, in *Input, o Options) (Progress, error) {
	c, err := newClient(o.URL, o.Table, o.Parallel)
	if err != nil {
		return Progress{}, err
	}
	l := &loader{o: o, client: c, batches: make(chan *batch), free: make(chan *batch, o.Parallel+1)}
	l.retrier = newRetrier(o.RetryFor, l.retrying)
	return l.run(ctx, in)
}

func (l *loader) run(ctx context.Context, in *Input) (Progress, error) {
	ctx, l.stop = context.WithCancel(ctx)
	defer l.stop()
	families, err := l.prepare(ctx)
	if err != nil {
		return Progress{}, err
	}
	var senders sync.WaitGroup
	for range l.o.Parallel {
		senders.Go(func() {
			for b := range l.batches {
				l.fail(l.send(ctx, b))
				l.recycle(b)
			}
		})
	}
	l.fail(l.read(ctx, in, families))
	close(l.batches)
	senders.Wait()

	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done, l.err
}

// fail ends the load if err is not nil. The first failure is the one reported.
func (l *loader) fail(err error) {
	if err == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
	l.stop()
}

// read cuts the input into batches.
func (l *loader) read(ctx context.Context, in *Input, families *families) error {
	var o outliner
	if l.o.CreateFamilies {
		o.family = families.want
	}
	b := l.fresh()
	for number := int64(1); ; number++ {
		line, err := in.next()
		if err == io.EOF {
			return l.pass(ctx, b, in, families)
		}
		if err == nil && len(line) == 0 {
			continue
		}
		bad := errors.Is(err, errLongLine)
		if err == nil {
			err = o.scan(line, l.o.Time+number)
			bad = err != nil
		}
		switch {
		case bad:
			if err := l.bad(&LineError{l.o.Name, number, number, err}); err != nil {
				return err
			}
			continue
		case err != nil:
			return fmt.Errorf("%s: line %d: %w", l.o.Name, number, err)
		}
		b.add(number, &o)
		if b.cells >= int64(l.o.BatchCells) || b.bytes >= maxBatchBytes {
			if err := l.pass(ctx, b, in, families); err != nil {
				return err
			}
			b = l.fresh()
		}
	}
}

// pass hands a batch to a sender, after the families that it needs are there.
func (l *loader) pass(ctx context.Context, b *batch, in *Input, families *families) error {
	if len(b.lines) == 0 {
		return nil
	}
	b.seal()
	b.offset = in.offset()
	if err := families.create(ctx); err != nil {
		return err
	}
	if b.stamped {
		l.mu.Lock()
		l.done.Stamped = true
		l.mu.Unlock()
	}
	select {
	case l.batches <- b:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fresh returns an empty batch.
func (l *loader) fresh() *batch {
	select {
	case b := <-l.free:
		*b = batch{body: b.body, lines: b.lines[:0]}
		return b
	default:
		return &batch{}
	}
}

// recycle lets a batch be filled again, unless something may still read it.
func (l *loader) recycle(b *batch) {
	if b.lent {
		return
	}
	poison.Bytes(b.body)
	select {
	case l.free <- b:
	default:
	}
}

// bad reports a line that cannot be written: to the caller, who ends the load,
// or as an event when bad lines are left out.
func (l *loader) bad(e *LineError) error {
	if !l.o.SkipBad {
		return e
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done.Skipped++
	if l.o.Events.Bad != nil {
		l.o.Events.Bad(e)
	}
	return nil
}

func (l *loader) retrying(wait time.Duration, cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.o.Events.Retry != nil {
		l.o.Events.Retry(wait, cause)
	}
}

// acknowledged counts a batch that the server has taken.
func (l *loader) acknowledged(b *batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done.Rows += int64(len(b.lines))
	l.done.Cells += b.cells
	l.done.Bytes += b.bytes
	l.done.Input = max(l.done.Input, b.offset)
	if l.o.Events.Progress != nil {
		l.o.Events.Progress(l.done)
	}
}
