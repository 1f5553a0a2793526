package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// load is what clients ask of a server: some connections, each with one request at a
// time, for some time or until so many requests are made.
type load struct {
	connections int
	pick        func(*rand.Rand) *operation
	requests    int           // 0 for as many as go into the time
	time        time.Duration // if requests is 0
}

// sample is what one measurement has found.
type sample struct {
	requests, cells int64
	refused         int64 // requests that the server had no turn for
	errors          int64
	first           error // of the errors
	elapsed         time.Duration
	latency         *hdrhistogram.Histogram // in nanoseconds
	server, client  time.Duration           // of CPU time
	anonymous       int64                   // the most memory of the server, in bytes
}

// tooManyErrors ends a measurement that makes no sense any more.
const tooManyErrors = 100

// drive puts a load on a server. The bare one is asked for answers of the size that
// those of the real one had.
func drive(ctx context.Context, n *node, l load, bare bool) (*sample, error) {
	serverBefore, err := cpuTime(n.PID())
	if err != nil {
		return nil, err
	}
	clientBefore, err := cpuTime(os.Getpid())
	if err != nil {
		return nil, err
	}
	memory := watch(n.PID())
	s := l.run(ctx, n.address, bare)
	s.anonymous = memory()
	serverAfter, err1 := cpuTime(n.PID())
	clientAfter, err2 := cpuTime(os.Getpid())
	s.server, s.client = serverAfter-serverBefore, clientAfter-clientBefore
	return s, errors.Join(err1, err2, ctx.Err())
}

// run makes the requests.
func (l *load) run(ctx context.Context, address string, bare bool) *sample {
	total := &sample{latency: newHistogram()}
	var mu sync.Mutex // guards total
	var next atomic.Int64
	var all sync.WaitGroup
	begin := time.Now()
	for i := range l.connections {
		all.Go(func() {
			w := worker{
				client: newClient(address), bare: bare, rnd: rand.New(rand.NewPCG(uint64(i), 0)),
				s: sample{latency: newHistogram()},
			}
			defer w.client.close()
			for ctx.Err() == nil && w.s.errors < tooManyErrors {
				n := next.Add(1) - 1
				if l.requests > 0 && n >= int64(l.requests) || l.requests == 0 && time.Since(begin) >= l.time {
					break
				}
				w.request(l.pick(w.rnd), int(n))
			}
			mu.Lock()
			defer mu.Unlock()
			total.add(&w.s)
		})
	}
	all.Wait()
	total.elapsed = time.Since(begin)
	return total
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, int64(patience), 3)
}

func (s *sample) add(o *sample) {
	s.requests += o.requests
	s.cells += o.cells
	s.refused += o.refused
	s.errors += o.errors
	if s.first == nil {
		s.first = o.first
	}
	s.latency.Merge(o.latency)
}

// worker is one connection.
type worker struct {
	client *client
	bare   bool
	rnd    *rand.Rand
	body   []byte
	s      sample
}

// request makes a request and takes note of how it went.
func (w *worker) request(o *operation, n int) {
	var item []byte
	w.body, item = o.body(w.body[:0], n, w.rnd)
	path := o.path
	if w.bare {
		path = "/" + strconv.FormatInt(o.size.Load(), 10)
	}
	if o.keyed {
		w.client.nextKey()
		defer w.client.dropKey()
	}
	begin := time.Now()
	a, err := w.client.post(path, w.body, o.long)
	took := time.Since(begin)
	switch {
	case err != nil:
	case w.bare:
		err = o.matches(a)
	default:
		err = o.check(a, item)
	}
	if err == errRefused {
		w.s.refused++
		return
	}
	if err != nil {
		w.s.errors++
		if w.s.first == nil {
			w.s.first = err
		}
		return
	}
	if !w.bare {
		o.size.Store(a.size)
	}
	_ = w.s.latency.RecordValue(int64(min(took, patience))) // its range goes up to that
	w.s.requests++
	w.s.cells += int64(o.cells)
}

// matches says what is wrong with an answer of the bare server. Its size is that of
// any right answer: another connection may have changed it meanwhile.
func (o *operation) matches(a *answer) error {
	if a.size == o.size.Load() {
		return nil
	}
	return fmt.Errorf("wrong answer: the bare server has sent %d bytes of %d", a.size, o.size.Load())
}
