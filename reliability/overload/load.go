package overload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// load is a number of clients that send one request after the other.
type load struct {
	path   string // of the endpoint
	bodies [][]byte
	long   time.Duration
	pause  time.Duration // of a client that was refused
	once   bool          // each request has a connection of its own
}

// outcome is the result of a load.
type outcome struct {
	took     time.Duration
	answered []time.Duration // how long each answer took, sorted
	refused  []time.Duration // the same of those who shall come back later
	within   []time.Duration // how long the server says that it took to refuse them, sorted
	wrong    []error         // anything else
}

// run applies the load, with a client for each of the connections.
func (l load) run(ctx context.Context, conns []*wire) *outcome {
	var requests [][]byte
	for _, body := range l.bodies {
		requests = append(requests, request(l.path, body))
	}
	var all outcome
	var mu sync.Mutex
	var clients sync.WaitGroup
	begin := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	stop := time.AfterFunc(l.long, cancel)
	defer stop.Stop()
	for i, w := range conns {
		clients.Go(func() {
			own := l.client(ctx, w, func(n int) []byte { return requests[(i+n*len(conns))%len(requests)] })
			mu.Lock()
			defer mu.Unlock()
			all.answered = append(all.answered, own.answered...)
			all.refused = append(all.refused, own.refused...)
			all.within = append(all.within, own.within...)
			all.wrong = append(all.wrong, own.wrong...)
		})
	}
	clients.Wait()
	all.took = time.Since(begin)
	slices.Sort(all.answered)
	slices.Sort(all.refused)
	slices.Sort(all.within)
	return &all
}

// client sends requests until ctx is done, and waits for the last one.
func (l load) client(ctx context.Context, w *wire, request func(n int) []byte) (o outcome) {
	for n := 0; ctx.Err() == nil; n++ {
		if l.once {
			w.close()
		}
		begin := time.Now()
		err := answer(w.post(request(n)))
		var refused *refusal
		switch took := time.Since(begin); {
		case err == nil:
			o.answered = append(o.answered, took)
		case errors.As(err, &refused):
			o.refused = append(o.refused, took)
			o.within = append(o.within, refused.within)
			time.Sleep(l.pause)
		default:
			o.wrong = append(o.wrong, err)
			time.Sleep(l.pause)
		}
	}
	return o
}

// refusal is a response with Retry-After.
type refusal struct{ within time.Duration }

func (r *refusal) Error() string { return "refused" }

// answer turns a response into an error, nil for a success.
func answer(resp *http.Response, text []byte, err error) error {
	if err != nil {
		return err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		after, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if err != nil || after < 1 || after > 5 {
			return fmt.Errorf("status %d with Retry-After %q, want 1 to 5 s", resp.StatusCode, resp.Header.Get("Retry-After"))
		}
		ms, err := strconv.Atoi(resp.Header.Get("X-Took-Ms"))
		if err != nil {
			return fmt.Errorf("status %d with X-Took-Ms %q", resp.StatusCode, resp.Header.Get("X-Took-Ms"))
		}
		return &refusal{time.Duration(ms) * time.Millisecond}
	}
	return fmt.Errorf("status %d: %.200s", resp.StatusCode, text)
}

// rate is how many requests were answered in a second.
func (o *outcome) rate() float64 { return float64(len(o.answered)) / o.took.Seconds() }

// quantile returns a quantile of a sorted list.
func quantile(sorted []time.Duration, part float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(part*float64(len(sorted)-1))]
}

// percent returns a as a percentage of b.
func percent(a, b float64) int64 {
	if b == 0 {
		return 0
	}
	return int64(100 * a / b)
}
