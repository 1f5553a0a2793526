package http1

import (
	"io"
	"sync"
	"time"
)

// watch notices that a client goes away while its request is worked on. That takes a
// goroutine which reads the connection, and costs more than most requests do. So it
// begins only when a request has taken some time.
//
//	off ── start ──► armed ── after watchAfter ──► looking ──► off
//	 ▲                 │                              │
//	 └────── stop ─────┴── stop ends the read, waits ─┘
//
// While it looks, what is read of the connection is read by it alone: the body has come
// to its end, and stop comes before the next head.
type watch struct {
	c *conn

	mu      sync.Mutex
	changed sync.Cond // it looks no more
	state   watchState
	begun   uint64 // how often it was armed
	bell    uint64 // begun when the bell was set; 0 if none is
	stopped bool   // the look ends because of stop
}

type watchState uint8

const (
	watchOff watchState = iota
	watchArmed
	watchLooking
)

// watchAfter is how long a request has to take once it is read, and up to twice as much:
// a bell that was set for one request is not stopped at its end, but set again for the
// one that it finds.
const watchAfter = 10 * time.Millisecond

func (w *watch) init(c *conn) {
	w.c = c
	w.changed.L = &w.mu
}

// start begins the watch. Nothing more is read of the request.
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
		_ = w.c.reads.exactly(time.Unix(1, 0)) // long past; the next request sets its own
		for w.state == watchLooking {
			w.changed.Wait()
		}
	}
}

// ring is the bell: it looks, if the request is still the one for which it was set.
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

// lookLocked waits, with mu released, until the client sends something or goes.
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
