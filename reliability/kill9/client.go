package kill9

import (
	"context"
	"math/rand/v2"

	"github.com/colonnade-db/colonnade/reliability/remote"
)

// client writes its own rows and reads all rows, one request after the other, until the server is gone.
type client struct {
	riot   *riot
	number int
	rnd    *rand.Rand
}

// work returns an error for a wrong response. No response is not an error.
func (c *client) work(ctx context.Context) error {
	for {
		select {
		case <-c.riot.over:
			return nil
		default:
		}
		over, err := c.step(ctx)
		if over || err != nil {
			return err
		}
	}
}

// step makes one request. over means that the server does not respond any more.
func (c *client) step(ctx context.Context) (over bool, err error) {
	if c.number < watchers {
		return c.read(ctx)
	}
	switch dice := c.rnd.IntN(100); {
	case dice < 8:
		return c.read(ctx)
	case dice < 18:
		return c.write(ctx, &attempt{deletes: true, rows: c.pick(1)})
	case dice < 23:
		return c.write(ctx, &attempt{rows: c.pick(rowsPerClient)})
	default:
		return c.write(ctx, &attempt{rows: c.pick(1 + c.rnd.IntN(10))})
	}
}

// pick returns n of the client's rows.
func (c *client) pick(n int) (keys []string) {
	for _, i := range c.rnd.Perm(rowsPerClient)[:n] {
		keys = append(keys, rowKey(c.number, i))
	}
	return keys
}

func (c *client) write(ctx context.Context, a *attempt) (over bool, err error) {
	r := c.riot
	a.version = r.version.Add(1)
	r.history.begin(a)
	if err := r.log.begin(a); err != nil {
		return true, err
	}
	r.section.Add("attempts", 1)
	err = a.send(ctx, r.tables.of(c.number))
	switch remote.OutcomeOf(err) {
	case remote.Done:
		r.log.note("acked %d", a.version)
		r.history.end(a, acked)
		r.acks.Add(1)
		r.section.Add("acked_rows", int64(len(a.rows)))
		return false, nil
	case remote.Refused:
		r.log.note("refused %d", a.version)
		r.history.end(a, refused)
		r.section.Add("refused", 1)
		return false, nil
	case remote.Lost:
		return true, nil
	}
	return true, err
}

// read reads a row of some client, or, half of the time, all of its rows: a row that is visible too early is so
// only for a moment.
func (c *client) read(ctx context.Context) (over bool, err error) {
	whose := watchers + c.rnd.IntN(c.riot.clients-watchers)
	key := rowKey(whose, c.rnd.IntN(rowsPerClient))
	var got map[string]int64
	if c.rnd.IntN(2) == 0 {
		got, err = c.riot.tables.of(whose).Scan(ctx, clientPrefix(whose))
	} else {
		got, err = c.riot.tables.of(whose).Get(ctx, key)
	}
	switch remote.OutcomeOf(err) {
	case remote.Refused:
		return false, nil
	case remote.Lost:
		return true, nil
	case remote.Unknown, remote.Wrong:
		return true, err
	}
	c.riot.section.Add("reads", 1)
	if _, there := got[key]; !there {
		got[key] = gone
	}
	return false, c.note(got, whose == c.number)
}

// note records the result of a read.
func (c *client) note(got map[string]int64, own bool) error {
	for key, version := range got {
		news, err := c.riot.history.read(key, version, own)
		if err != nil {
			return err
		}
		if news {
			c.riot.log.note("read %d %s", version, key)
		}
	}
	return nil
}
