package kill9

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
)

// client writes its own rows and reads everybody's, one request after the
// other, until the server is gone.
type client struct {
	run    *run
	api    *api
	number int
	stop   <-chan struct{} // closed when the server has ended
	rnd    *rand.Rand
}

// work returns what is wrong with an answer. That there is none is not wrong.
func (c *client) work(ctx context.Context) error {
	for {
		select {
		case <-c.stop:
			return nil
		default:
		}
		over, err := c.step(ctx)
		if over || err != nil {
			return err
		}
	}
}

// step does one thing. It is over when the server does not answer any more.
func (c *client) step(ctx context.Context) (over bool, err error) {
	if c.number < watchers {
		return c.read(ctx)
	}
	switch dice := c.rnd.IntN(100); {
	case dice < 10:
		return c.read(ctx)
	case dice < 20:
		return c.write(ctx, &attempt{deletes: true, rows: c.pick(1)})
	default:
		return c.write(ctx, &attempt{rows: c.pick(1 + c.rnd.IntN(3))})
	}
}

func (c *client) owns(key string) bool {
	return strings.HasPrefix(key, rowKey(c.number, 0)[:len("client00")])
}

// pick returns n of the client's rows.
func (c *client) pick(n int) (keys []string) {
	for _, i := range c.rnd.Perm(rowsPerClient)[:n] {
		keys = append(keys, rowKey(c.number, i))
	}
	return keys
}

func (c *client) write(ctx context.Context, a *attempt) (over bool, err error) {
	a.version = c.run.version.Add(1)
	c.run.history.begin(a)
	c.run.count.attempts.Add(1)
	err = c.api.send(ctx, a)
	switch kind(err) {
	case answered:
		c.run.count.acked.Add(1)
		c.run.history.end(a, acked)
		return false, nil
	case turnedAway:
		c.run.count.refused.Add(1)
		c.run.history.end(a, refused)
		return false, nil
	case lost:
		return true, nil
	}
	return true, err
}

// read reads a row of some client, or, half of the time, all rows of up to ten
// clients: what shows too early does so for a moment only.
func (c *client) read(ctx context.Context) (over bool, err error) {
	owner := c.rnd.IntN(maxClients)
	key := rowKey(owner, c.rnd.IntN(rowsPerClient))
	var got map[string]int64
	if c.rnd.IntN(2) == 0 {
		got, err = c.api.scan(ctx, key[:len("client0")])
	} else {
		got, err = c.api.get(ctx, key)
	}
	switch kind(err) {
	case turnedAway:
		return false, nil
	case lost:
		return true, nil
	case wrong:
		return true, err
	}
	c.run.count.reads.Add(1)
	if _, there := got[key]; !there {
		got[key] = gone
	}
	for key, version := range got {
		if err := c.run.history.read(key, version, c.owns(key)); err != nil {
			return true, err
		}
	}
	return false, nil
}

// answerKind is what a client learns from how a request ends.
type answerKind int

const (
	answered   answerKind = iota
	turnedAway            // nothing was done
	lost                  // there is no answer, as of a server that was killed
	wrong                 // an answer that does not belong here
)

func kind(err error) answerKind {
	if err == nil {
		return answered
	}
	var noAnswer *lostError
	if errors.As(err, &noAnswer) {
		return lost
	}
	var status *statusError
	if errors.As(err, &status) && (status.status == http.StatusServiceUnavailable || status.status == http.StatusTooManyRequests) {
		return turnedAway
	}
	return wrong
}
