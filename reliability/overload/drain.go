package overload

import (
	"context"
	"fmt"
	"time"
)

const (
	drainClients = 16
	// mostDrain bounds the stop of a server under load: 10 s for requests under way, and some to close its files.
	mostDrain = 20 * time.Second
)

// drain stops a server under load. It must end well, and acknowledged writes must be there afterwards.
func drain(ctx context.Context, r *run) error {
	n, err := r.start(ctx, "drain", drainClients, nil)
	if err != nil {
		return err
	}
	defer n.end()
	done := make(chan *acked, 1)
	ctxLoad, stop := context.WithTimeout(ctx, mostDrain)
	defer stop()
	go func() { done <- write(ctxLoad, n.Client, drainClients) }()
	time.Sleep(500*time.Millisecond + time.Duration(r.Seed%8)*50*time.Millisecond) // lets them write
	begin := time.Now()
	err = n.Terminate(0)
	took := time.Since(begin)
	stop()
	got := <-done
	r.Add("drained_acked_rows", got.rows())
	r.Largest("drain_ms", took.Milliseconds())
	if err != nil {
		return err
	}
	if took > mostDrain {
		return fmt.Errorf("the server has taken %v to end, want at most %v", took, mostDrain)
	}
	again, err := r.start(ctx, "drain", drainClients, nil)
	if err != nil {
		return err
	}
	defer again.end()
	return got.check(ctx, again.Client)
}
