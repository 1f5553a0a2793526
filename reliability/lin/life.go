package lin

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"colonnade/reliability/remote"
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

// start starts the clients. wait returns what they have found, once they have
// ended.
func (l *life) start(ctx context.Context) (wait func() error) {
	failures := make(chan error, l.clients)
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
	return func() (err error) {
		running.Wait()
		close(failures)
		for f := range failures {
			err = errors.Join(err, f)
		}
		return err
	}
}
