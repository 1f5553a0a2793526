package kill9

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/colonnade-db/colonnade/internal/process"
	"github.com/colonnade-db/colonnade/reliability/remote"
)

// riot is the clients of one life at work.
type riot struct {
	*run
	process *process.Process
	tables  *tables
	clients int
	history *history
	log     *clientLog
	over    chan struct{} // closed when the server has ended
}

// riot runs the clients until the server has ended, and does now and then what
// must not disturb them.
func (r *run) riot(ctx context.Context, number int, p *process.Process, tables *tables, clients int) error {
	log, err := createLog(r.logPath())
	if err != nil {
		return err
	}
	t := &riot{run: r, process: p, tables: tables, clients: clients, history: newHistory(r.settled), log: log, over: make(chan struct{})}
	wait := t.start(ctx)
	t.wait()
	copied := filepath.Join(r.Dir, "copy")
	var taken *census
	switch number % 30 {
	case 4, 19:
		err = t.intrude()
	case 9, 24:
		taken = t.history.census()
		err = copyTree(r.data, copied, r.rnd)
	}
	err = errors.Join(err, r.end(number, p))
	close(t.over)
	err = errors.Join(err, wait(), log.close())
	if err == nil && number%50 == 7 {
		err = r.check()
	}
	if err == nil && taken != nil {
		err = errors.Join(t.checkCopy(ctx, copied, taken), os.RemoveAll(copied))
	}
	return err
}

// start starts the clients. wait returns what they have found, once they have
// ended.
func (t *riot) start(ctx context.Context) (wait func() error) {
	failures := make(chan error, t.clients+1)
	var running sync.WaitGroup
	for i := range t.clients {
		c := &client{riot: t, number: i, rnd: rand.New(rand.NewPCG(t.Seed, t.rnd.Uint64()))}
		running.Go(func() {
			if err := c.work(ctx); err != nil {
				failures <- err
			}
		})
	}
	mover := rand.New(rand.NewPCG(t.Seed, t.rnd.Uint64()))
	running.Go(func() {
		if err := t.moveFamilies(ctx, mover); err != nil {
			failures <- err
		}
	})
	return func() (err error) {
		running.Wait()
		close(failures)
		for f := range failures {
			err = errors.Join(err, f)
		}
		return err
	}
}

// moveFamilies moves families of all tables, there and back, until the server is gone.
func (t *riot) moveFamilies(ctx context.Context, rnd *rand.Rand) error {
	for {
		select {
		case <-t.over:
			return nil
		case <-time.After(time.Duration(rnd.IntN(10_000)) * time.Microsecond):
		}
		table := t.tables[rnd.IntN(len(t.tables))]
		err := table.Move(ctx, rnd.IntN(3), rnd.IntN(2) == 0)
		switch remote.OutcomeOf(err) {
		case remote.Done:
			t.section.Add("moves", 1)
		case remote.Lost:
			return nil
		case remote.Wrong:
			return err
		}
	}
}

// wait lets 20 to 120 ms pass, and then more until there are enough
// acknowledgements, within reason.
func (t *riot) wait() {
	const (
		step  = time.Millisecond
		limit = 5 * time.Second
	)
	start := t.acks.Load()
	time.Sleep(20*step + time.Duration(t.rnd.IntN(100_000))*time.Microsecond)
	for waited := time.Duration(0); waited < limit && t.acks.Load() < start+minAcks; waited += step {
		time.Sleep(step)
	}
	time.Sleep(time.Duration(t.rnd.IntN(3_000)) * time.Microsecond) // a kill follows no answer more closely than another
}
