// Package load writes a stream of rows into a table of a running server. It collects rows into write requests,
// sends several at once, and retries each while its failure is temporary. Export is the way back. A line is here
// what package format reads a row from: a line of JSON or CSV, or a record of Parquet.
//
// The loader, not the server, sets the time of cells without one: Options.Time plus the number of the
// line. Only so does a repeated request leave the same versions after its response was lost. Of two lines
// that write the same cell, the later one also has the newer version, whatever the order of their
// requests. If lines have times themselves, two that write the same version of the same cell may arrive
// in either order, unless Options.Parallel is 1.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/colonnade-db/colonnade/cmd/colonnade/internal/format"
	"github.com/colonnade-db/colonnade/internal/poison"
)

// Options configure a load.
type Options struct {
	Server
	Table string
	Name  string // of the input, for messages

	CreateTable    bool
	CreateFamilies bool       // those that lines mention, as they come
	Groups         [][]string // families to create in locality groups of their own

	Parallel   int // requests under way at once
	BatchCells int // cells in a request, give or take a line
	// SkipBad leaves out wrong lines. Otherwise the first one ends the load: the requests before its own
	// are written, and nothing of its own.
	SkipBad bool
	// Time is the base of the time of cells without one; see the package comment. In microseconds since
	// the Unix epoch.
	Time int64
	// RetryFor bounds how long a request is retried before the load ends.
	RetryFor time.Duration

	// Journal remembers how far the load has come, and where it begins. It may be nil.
	Journal *Journal

	// Events get the events of the load, one at a time.
	Events Events
}

// Events are the callbacks of a load. They may be nil.
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

// maxBatchBytes is the size at which a request ends, however few cells it has. It is large enough to hide
// the round trip, and small beside the server's limit.
const maxBatchBytes = 4 << 20

// loader is one load under way.
type loader struct {
	o       Options
	target  *target
	retrier retrier

	batches chan *batch // cut, waiting for a sender
	free    chan *batch // done, to be used again

	mu   sync.Mutex // guards what follows and the calls of o.Events
	done Progress
	err  error // the first failure
	stop context.CancelFunc

	in format.Reader
}

// Run loads in. It returns after the last request has ended. The Progress counts what was acknowledged,
// also after a failure. Once ctx is done it sends no more requests.
func Run(ctx context.Context, in format.Reader, o Options) (Progress, error) {
	t, err := newTarget(&o)
	if err != nil {
		return Progress{}, err
	}
	l := &loader{o: o, target: t, batches: make(chan *batch), free: make(chan *batch, o.Parallel+1)}
	l.retrier = newRetrier(o.RetryFor, l.retrying)
	return l.run(ctx, in)
}

func (l *loader) run(ctx context.Context, in format.Reader) (Progress, error) {
	l.in = in
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
				err := l.send(ctx, b)
				if err == nil {
					err = l.o.Journal.done(b.order, b.reached)
				}
				l.fail(err)
				l.recycle(b)
			}
		})
	}
	err = l.read(ctx, families)
	close(l.batches)
	senders.Wait()
	l.fail(err) // not before: a bad line does not take back the batches in front of it

	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done, l.err
}

// fail ends the load if err is not nil. Run returns the first failure.
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

// read divides the input into batches.
func (l *loader) read(ctx context.Context, families *families) error {
	at, err := l.o.Journal.skip(ctx, l.in)
	if err != nil {
		return err
	}
	var o outliner
	if l.o.CreateFamilies {
		o.family = families.want
	}
	for b := l.fresh(0); ; {
		row, err := l.in.Next()
		if err == io.EOF {
			return l.pass(ctx, b, at, families)
		}
		var bad *format.RowError
		if err != nil && !errors.As(err, &bad) {
			return fmt.Errorf("%s: %w", l.o.Name, err)
		}
		if err == nil {
			if l.o.Journal != nil {
				at.add(row.Item)
			}
			if err := o.scan(row.Item, l.o.Time+row.First); err != nil {
				bad = &format.RowError{First: row.First, Last: row.Last, Cause: err}
			}
		}
		if bad != nil {
			if err := l.bad(&LineError{l.o.Name, bad.First, bad.Last, bad.Cause}); err != nil {
				return err
			}
			continue
		}
		b.add(row.First, row.Last, &o)
		if b.cells >= int64(l.o.BatchCells) || b.bytes >= maxBatchBytes {
			if err := l.pass(ctx, b, at, families); err != nil {
				return err
			}
			b = l.fresh(b.order + 1)
		}
	}
}

// pass gives a batch to a sender after it has created the families that it needs.
func (l *loader) pass(ctx context.Context, b *batch, at position, families *families) error {
	if len(b.lines) == 0 {
		return nil
	}
	b.seal()
	b.offset, b.reached = l.in.Offset(), at
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

// fresh returns an empty batch, the one behind order others.
func (l *loader) fresh(order int64) *batch {
	select {
	case b := <-l.free:
		*b = batch{body: b.body, lines: b.lines[:0], order: order}
		return b
	default:
		return &batch{order: order}
	}
}

// recycle makes a batch available again, unless it may still be read.
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

// bad returns the error of a wrong line, to end the load. With SkipBad it sends an event and returns nil.
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

// acknowledged counts a written batch.
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
