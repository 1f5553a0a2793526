package overload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/colonnade-db/colonnade/reliability/remote"
)

const (
	badClients = 10_000
	// mostSuffering is how much longer point reads may take among bad clients, in percent of the time without.
	// The goal is twice as long, but the bad clients use the same cores. Reads faster than tolerable always pass.
	mostSuffering = 1000
	tolerable     = 500 * time.Millisecond
	// mostIdleMiB bounds the memory of an idle server.
	mostIdleMiB = 200
	// headLimit is how long a server may wait for the head of a request: 5 s, and as long again on a busy machine.
	headLimit = 10 * time.Second
)

// badConnections opens idle and very slow connections while others read rows.
func badConnections(ctx context.Context, r *run) error {
	n, err := r.start(ctx, "connections", 1, nil)
	if err != nil {
		return err
	}
	defer n.end()
	if err := n.Do(ctx, http.MethodPost, table+"/write", batch("r", 100, 1, 30), nil); err != nil {
		return err
	}
	conns := wires(n.address(), 8)
	defer hangUp(conns)
	reads := load{path: table + "/rows", bodies: [][]byte{rowOf("r00001")}, long: 2 * time.Second}
	before := reads.run(ctx, conns)

	slow := make(chan error, 1)
	go func() { slow <- r.slowHeads(ctx, n.address()) }()
	arrived := make(chan *outcome, 1)
	newcomers := load{path: reads.path, bodies: reads.bodies, long: 4 * time.Second, pause: 10 * time.Millisecond, once: true}
	go func() {
		conns := wires(n.address(), 2)
		defer hangUp(conns)
		arrived <- newcomers.run(ctx, conns)
	}()
	reads.long = 4 * time.Second
	among := reads.run(ctx, conns)
	err = errors.Join(<-slow, r.arrived(<-arrived))
	r.Largest("slow_heads_p99_percent", percent(float64(quantile(among.answered, 0.99)), float64(quantile(before.answered, 0.99))))
	return errors.Join(err, suffered(before, among), r.idle(n), n.alive(ctx))
}

// arrived checks that new clients got in among slow heads.
func (r *run) arrived(o *outcome) error {
	r.Add("newcomers", int64(len(o.answered)))
	if len(o.answered) < 9*(len(o.wrong)+len(o.refused)) || len(o.answered) == 0 {
		return fmt.Errorf("of those who came among bad clients only %d were answered, and %d not: %w", len(o.answered), len(o.wrong)+len(o.refused), errors.Join(o.wrong[:min(1, len(o.wrong))]...))
	}
	return nil
}

// suffered checks that good clients did not notice the bad ones.
func suffered(before, among *outcome) error {
	worse := percent(float64(quantile(among.answered, 0.99)), float64(quantile(before.answered, 0.99)))
	switch {
	case len(among.wrong)+len(among.refused) > 0:
		return fmt.Errorf("among bad clients %d reads failed and %d were refused: %w", len(among.wrong), len(among.refused), errors.Join(among.wrong[:min(1, len(among.wrong))]...))
	case len(among.answered) == 0:
		return errors.New("among bad clients nobody was answered")
	case worse > mostSuffering && quantile(among.answered, 0.99) > tolerable:
		return fmt.Errorf("among bad clients the slowest reads took %d %% of the time before, want at most %d %%", worse, mostSuffering)
	}
	return nil
}

// slowHeads opens connections that send a byte of a head every second, and waits
// until the server has closed all of them.
func (r *run) slowHeads(ctx context.Context, address string) error {
	open, err := dial(address, badClients)
	if err != nil {
		return err
	}
	defer closeAll(open)
	r.Add("slow_heads", int64(len(open)))
	var closed []time.Duration
	var mu sync.Mutex
	var wait sync.WaitGroup
	for _, c := range open {
		wait.Go(func() {
			begin := time.Now()
			for i := 0; time.Since(begin) < 3*headLimit && ctx.Err() == nil; i++ {
				if _, err := c.Write([]byte("GET /healthz HTTP/1.1\r\n"[i%20 : i%20+1])); err != nil {
					break
				}
				_ = c.SetReadDeadline(time.Now().Add(time.Second))
				if _, err := c.Read(make([]byte, 1)); !isTimeout(err) {
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			closed = append(closed, time.Since(begin))
		})
	}
	wait.Wait()
	r.Largest("slow_head_closed_ms", slices.Max(closed).Milliseconds())
	if longest := slices.Max(closed); longest > headLimit {
		return fmt.Errorf("a connection that sends a byte a second was kept for %v, want it closed after %v", longest, headLimit)
	}
	return nil
}

// idle opens connections, uses each once, and keeps them.
func (r *run) idle(n *node) error {
	open, err := dial(n.address(), badClients)
	if err != nil {
		return err
	}
	defer closeAll(open)
	kept := 0
	var mu sync.Mutex
	each(open, func(c net.Conn) {
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			return
		}
		if _, err := c.Read(make([]byte, 1)); err != nil {
			return // closed by the limit
		}
		mu.Lock()
		defer mu.Unlock()
		kept++
	})
	now, _, err := n.resident()
	if err != nil {
		return err
	}
	r.Add("idle_connections", int64(kept))
	r.Largest("idle_mib", now)
	if now > mostIdleMiB {
		return fmt.Errorf("%d idle connections take %d MiB, want at most %d MiB", kept, now, mostIdleMiB)
	}
	return nil
}

// dial opens the given number of connections, some at a time.
func dial(address string, connections int) (open []net.Conn, err error) {
	var mu sync.Mutex
	each(make([]struct{}, connections), func(struct{}) {
		c, dialErr := net.DialTimeout("tcp", address, 10*time.Second)
		mu.Lock()
		defer mu.Unlock()
		if dialErr != nil {
			err = dialErr
			return
		}
		open = append(open, c)
	})
	if len(open) < connections/2 {
		closeAll(open)
		return nil, fmt.Errorf("only %d of %d connections could be opened: %w", len(open), connections, err)
	}
	return open, nil
}

// each calls f for all of a list, some at a time.
func each[T any](list []T, f func(T)) {
	var wait sync.WaitGroup
	next := make(chan T)
	for range 16 {
		wait.Go(func() {
			for v := range next {
				f(v)
			}
		})
	}
	for _, v := range list {
		next <- v
	}
	close(next)
	wait.Wait()
}

func closeAll(open []net.Conn) {
	for _, c := range open {
		_ = c.Close()
	}
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// alive checks that the server works normally.
func (n *node) alive(ctx context.Context) error {
	c := remote.NewClient(n.url, 1)
	defer c.Close()
	end := time.Now().Add(10 * time.Second)
	for {
		err := c.Do(ctx, http.MethodPost, table+"/write", batch("alive", 1, 1, 10), nil)
		if err == nil {
			return c.Do(ctx, http.MethodPost, table+"/rows", rowOf("alive00000"), nil)
		}
		if time.Now().After(end) {
			return fmt.Errorf("10 s after the trouble the server still does not work: %w", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
