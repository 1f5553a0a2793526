package http1

import (
	"io"
	"sync"
	"time"
)

// watch notices that a client goes away while its request is handled. It needs a goroutine that reads
// the connection, which costs more than most requests. So it starts only when a request takes long.
//
//	off ── start ──► armed ── after watchAfter ──► looking ──► off
//	 ▲                 │                              │
//	 └────── stop ─────┴── stop ends the read, waits ─┘
//
// While it looks, it is the only reader of the connection: the body has ended, and stop comes before the
// next head.
type watch struct {
	c *conn

	mu      sync.Mutex
	changed sync.Cond // when it stops looking
	state   watchState
	begun   uint64 // how often it was armed
	bell    uint64 // begun when the timer was set; 0 for no timer
	stopped bool   // stop ended the look
}

type watchState uint8

const (
	watchOff watchState = iota
	watchArmed
	watchLooking
)

// watchAfter is how long a request has to take after it is read. It may be twice as long: the timer of
// one request is not stopped at its end, but set again for the request that it finds.
const watchAfter = 10 * time.Millisecond

func (w *watch) init(c *conn) {
	w.c = c
	w.changed.L = &w.mu
}

// start arms the watch. The request is read to its end.
func (w *watch) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state, w.stopped = watchArmed, false
	w.begun++
	if w.bell == 0 {
		w.setBellLocked()
	}
}

func (w *watch) setBellLocked() {
	w.bell = w.begun
	w.c.server.Clock.AfterFunc(watchAfter, w.ring)
}

// stop ends the watch, if there is one.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.state {
	case watchArmed:
		w.state = watchOff
	case watchLooking:
		w.stopped = true
		_ = w.c.reads.exactly(time.Unix(1, 0)) // long past, to end the read; the next request sets its own
		for w.state == watchLooking {
			w.changed.Wait()
		}
	}
}

// setReadDeadline sets the deadline of a body's reads. From its end on, the deadline belongs to the watch.
func (w *watch) setReadDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state != watchOff || w.c.body.shut {
		return nil
	}
	now := w.c.server.Now()
	if !t.After(now) { // there is none, or it has passed
		return w.c.reads.exactly(t)
	}
	return w.c.reads.after(now, t.Sub(now))
}

// ring handles the timer: it looks, if the timer was set for the current request.
func (w *watch) ring() {
	w.mu.Lock()
	defer w.mu.Unlock()
	same := w.bell == w.begun
	w.bell = 0
	switch {
	case w.state != watchArmed:
	case same:
		w.lookLocked()
	default:
		w.setBellLocked()
	}
}

// lookLocked waits, with mu released, until the client sends something or goes away.
func (w *watch) lookLocked() {
	w.state = watchLooking
	_ = w.c.reads.exactly(time.Time{})
	w.mu.Unlock()
	err := w.peek()
	w.mu.Lock()
	w.state = watchOff
	w.changed.Signal()
	if err != nil && !w.stopped {
		w.c.cancel()
	}
}

// peek waits for a byte.
func (w *watch) peek() (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.c.report(p)
			err = io.ErrUnexpectedEOF
		}
	}()
	_, err = w.c.in.Peek(1)
	return err
}
