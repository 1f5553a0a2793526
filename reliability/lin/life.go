package lin

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/colonnade-db/colonnade/reliability/remote"
)

// life is the clients of one life of the server.
type life struct {
	*run
	clients int
	// connections are two clients of HTTP, so that what one of ours does next may
	// go over another connection.
	connections [2]*remote.Client

	left   atomic.Int64  // operations until it is enough
	enough chan struct{} // closed then, or when a client has found something
	once   sync.Once
}

func newLife(r *run, url string, clients int, operations int64) *life {
	l := &life{run: r, clients: clients, enough: make(chan struct{})}
	for i := range l.connections {
		l.connections[i] = remote.NewClient(url, clients)
	}
	l.left.Store(operations)
	return l
}

func (l *life) close() {
	for _, c := range l.connections {
		c.Close()
	}
}

func (l *life) finish() { l.once.Do(func() { close(l.enough) }) }

// rows is the table that has the sets of rows, over one of the connections.
func (l *life) rows(connection int) remote.Table { return l.table(connection, "lin") }

func (l *life) table(connection int, name string) remote.Table {
	return remote.Table{Client: l.connections[connection], Name: name}
}

// start starts the clients, and moves families beside them. wait returns what they have found, once they have
// ended.
func (l *life) start(ctx context.Context) (wait func() error) {
	failures := make(chan error, l.clients+1)
	var running sync.WaitGroup
	for i := range l.clients {
		c := &client{life: l, number: i, rnd: rand.New(rand.NewPCG(l.rnd.Uint64(), uint64(i)))}
		running.Go(func() {
			defer l.finish() // without its clients a life has no end
			if err := c.work(ctx); err != nil {
				failures <- err
			}
		})
	}
	rnd := rand.New(rand.NewPCG(l.rnd.Uint64(), 0))
	running.Go(func() {
		if err := l.move(ctx, rnd); err != nil {
			l.finish()
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

// move moves the families of the table there and back until the server is gone.
func (l *life) move(ctx context.Context, rnd *rand.Rand) error {
	for {
		err := l.rows(0).Move(ctx, rnd.IntN(3), rnd.IntN(2) == 0)
		switch remote.OutcomeOf(err) {
		case remote.Done:
			l.section.Add("moves", 1)
		case remote.Lost:
			return nil
		case remote.Wrong:
			return err
		}
		time.Sleep(time.Duration(rnd.IntN(10_000)) * time.Microsecond) // a move's time, of few rows
	}
}
