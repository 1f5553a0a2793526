// Package kill9 kills a server again and again while clients write to it, and
// checks after every restart that nothing is lost, half done or come back:
//
//   - a row has the version of its last acknowledged request, or of one sent
//     after it whose outcome is not known;
//   - all cells of a row, which lie in three locality groups, are of one
//     version, and so are all rows of a request;
//   - a version that a client has read is still there;
//   - what one restart has shown, the next one shows as well.
//
// A killed process leaves its pages to the operating system, so this says
// nothing about a loss of power.
package kill9

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// Config says what to do to whom.
type Config struct {
	// Server returns the command that serves the directory under test. It
	// prints "listening on URL" when it is ready.
	Server func() *exec.Cmd
	Lives  int // restarts, each after a kill
	Seed   uint64
	Log    func(format string, args ...any)
}

// Result counts what has happened.
type Result struct {
	Kills, Terminations, KillsInRecovery int

	Attempts, Acked, Refused, Reads int64
	RowsVerified                    int64
}

// minAcks is how many acknowledgements a life has to have on average: with
// fewer, a run says little about losing them.
const minAcks = 50

// A client owns rowsPerClient rows, which nobody else writes. The first few
// clients only read.
const (
	minClients    = 8
	maxClients    = 32
	rowsPerClient = 4
	watchers      = 2
)

// run is a run of the harness.
type run struct {
	c       Config
	rnd     *rand.Rand
	history *history
	version atomic.Int64 // of the last attempt
	result  Result
	count   struct{ attempts, acked, refused, reads atomic.Int64 }
}

// Run lets the server live and die. The error says which promise was broken.
func Run(ctx context.Context, c Config) (Result, error) {
	r := &run{c: c, rnd: rand.New(rand.NewPCG(c.Seed, 0)), history: newHistory()}
	begin := time.Now()
	for life := range c.Lives + 1 { // the last one only verifies
		if err := r.life(ctx, life); err != nil {
			return r.result, fmt.Errorf("seed %d, life %d: %w", c.Seed, life, err)
		}
	}
	r.result.Attempts, r.result.Acked = r.count.attempts.Load(), r.count.acked.Load()
	r.result.Refused, r.result.Reads = r.count.refused.Load(), r.count.reads.Load()
	c.Log("%d lives in %v: %+v", c.Lives, time.Since(begin).Round(time.Millisecond), r.result)
	if r.result.Acked < int64(minAcks*c.Lives) {
		return r.result, fmt.Errorf("seed %d: only %d acknowledgements in %d lives: the run says too little, want %d a life",
			c.Seed, r.result.Acked, c.Lives, minAcks)
	}
	return r.result, nil
}

// life starts the server, verifies what is there, and, unless it is the last
// life, lets clients loose on it and ends it.
func (r *run) life(ctx context.Context, number int) error {
	for number > 0 && r.rnd.IntN(10) == 0 {
		if err := r.killInRecovery(); err != nil {
			return err
		}
	}
	p, err := startProcess(r.c.Server())
	if err != nil {
		return err
	}
	defer p.kill()
	url, err := p.url()
	if err != nil {
		return err
	}
	clients := minClients + r.rnd.IntN(maxClients-minClients+1)
	a := newAPI(url, clients)
	defer a.close()
	if number == 0 {
		if err := a.create(ctx); err != nil {
			return fmt.Errorf("create the table: %w", err)
		}
	}
	if err := r.verify(ctx, a); err != nil {
		return fmt.Errorf("%w\n%s", err, p.stderr.String())
	}
	if number == r.c.Lives {
		return p.terminate(0)
	}
	return r.riot(ctx, p, a, clients)
}

// killInRecovery starts the server and kills it soon.
func (r *run) killInRecovery() error {
	p, err := startProcess(r.c.Server())
	if err != nil {
		return err
	}
	time.Sleep(time.Duration(r.rnd.IntN(20_000)) * time.Microsecond)
	p.kill()
	r.result.KillsInRecovery++
	return nil
}

// verify reads everything.
func (r *run) verify(ctx context.Context, a *api) error {
	present, err := a.scan(ctx, "")
	if err != nil {
		return err
	}
	if err := r.history.verify(present); err != nil {
		return err
	}
	r.result.RowsVerified += int64(len(present))
	for range 8 {
		client := r.rnd.IntN(maxClients)
		key := rowKey(client, r.rnd.IntN(rowsPerClient))
		got, err := a.get(ctx, key)
		if err != nil {
			return err
		}
		if got[key] != present[key] {
			return fmt.Errorf("row %s has version %d by key and %d in a scan", key, got[key], present[key])
		}
	}
	return nil
}

// riot runs the clients until the server has ended.
func (r *run) riot(ctx context.Context, p *process, a *api, clients int) error {
	failures := make(chan error, clients)
	stop := make(chan struct{})
	var running sync.WaitGroup
	for i := range clients {
		c := &client{run: r, api: a, number: i, stop: stop, rnd: rand.New(rand.NewPCG(r.c.Seed, r.rnd.Uint64()))}
		running.Go(func() {
			if err := c.work(ctx); err != nil {
				failures <- err
			}
		})
	}
	r.wait()
	err := r.end(p)
	close(stop)
	running.Wait()
	close(failures)
	for f := range failures {
		err = errors.Join(err, f)
	}
	return err
}

// wait lets 20 to 120 ms pass, and then more until there are enough
// acknowledgements, within reason.
func (r *run) wait() {
	const (
		step  = time.Millisecond
		limit = 5 * time.Second
	)
	start := r.count.acked.Load()
	time.Sleep(20*step + time.Duration(r.rnd.IntN(100_000))*time.Microsecond)
	for waited := time.Duration(0); waited < limit && r.count.acked.Load() < start+minAcks; waited += step {
		time.Sleep(step)
	}
	time.Sleep(time.Duration(r.rnd.IntN(3_000)) * time.Microsecond) // a kill follows no answer more closely than another
}

// end ends the server: mostly by a kill, now and then by a request to end, and
// sometimes by a kill after that.
func (r *run) end(p *process) error {
	switch r.rnd.IntN(24) {
	case 0:
		r.result.Terminations++
		return p.terminate(0)
	case 1:
		r.result.Terminations++
		return p.terminate(time.Duration(1+r.rnd.IntN(5_000)) * time.Microsecond)
	}
	r.result.Kills++
	p.kill()
	return nil
}

func rowKey(client, n int) string { return fmt.Sprintf("client%02d/row%d", client, n) }
