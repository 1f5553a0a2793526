package lin

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"colonnade/reliability/remote"
)

// client does one thing after the other until the server is gone.
type client struct {
	life   *life
	number int
	rnd    *rand.Rand
}

func (c *client) work(ctx context.Context) error {
	for {
		in := c.choose()
		do := c.do
		if in.verb == create {
			do = c.twice
		}
		over, err := do(ctx, in)
		if over || err != nil {
			return err
		}
		if c.life.left.Add(-1) == 0 {
			c.life.finish()
		}
	}
}

// twice does the same twice at once.
func (c *client) twice(ctx context.Context, in input) (over bool, err error) {
	other := &client{life: c.life, number: c.number + 100, rnd: rand.New(rand.NewPCG(c.rnd.Uint64(), 0))}
	var otherOver bool
	var otherErr error
	var running sync.WaitGroup
	running.Go(func() { otherOver, otherErr = other.do(ctx, in) })
	over, err = c.do(ctx, in)
	running.Wait()
	return over || otherOver, errors.Join(err, otherErr)
}

// do does one operation, and writes down what came of it. It is over when the
// server does not answer any more.
func (c *client) do(ctx context.Context, in input) (over bool, err error) {
	h := c.life.history
	limited, cancel := c.patience(ctx, in)
	defer cancel()
	call := h.now()
	out, err := c.ask(limited, in)
	outcome := remote.OutcomeOf(err)
	switch outcome {
	case remote.Wrong:
		return true, err
	case remote.Refused:
		c.life.section.Add("refused", 1)
		return false, nil
	case remote.Done:
		h.answered(c.number, in, out, call)
		if in.verb == create && out.there {
			c.life.section.Add("create_conflicts", 1)
		}
	default:
		if !in.verb.changes() {
			break
		}
		h.unanswered(c.number, in, call)
		c.life.section.Add("unknown", 1)
	}
	c.life.section.Add("operations", 1)
	return outcome == remote.Lost && limited.Err() == nil, nil
}

// patience is mostly without an end, but a few changes are given up soon.
func (c *client) patience(ctx context.Context, in input) (context.Context, context.CancelFunc) {
	if !in.verb.changes() || c.rnd.IntN(50) > 0 || !c.life.history.room(in.set) {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Duration(c.rnd.IntN(3000))*time.Microsecond)
}

// ask sends the request of an operation.
func (c *client) ask(ctx context.Context, in input) (out output, err error) {
	connection := c.rnd.IntN(2)
	if in.verb.ofTables() {
		return askTable(ctx, c.life.table(connection, in.set), in)
	}
	t := c.life.rows(connection)
	keys := in.keys()
	switch in.verb {
	case write:
		err = t.Write(ctx, in.version, keys...)
	case remove:
		var deleted int64
		deleted, err = t.DeleteRow(ctx, keys[0])
		out.there = deleted > 0
		if err == nil && deleted != 0 && deleted != remote.RowCells {
			err = fmt.Errorf("torn: deleting row %s has removed %d cells, and a row has %d", keys[0], deleted, remote.RowCells)
		}
	case read:
		var got map[string]int64
		if in.rows == in.all() && c.rnd.IntN(2) == 0 {
			got, err = t.Scan(ctx, in.prefix())
		} else {
			got, err = t.Get(ctx, keys...)
		}
		for i := range out.versions {
			out.versions[i] = got[in.key(i)]
		}
	case count:
		var n int64
		n, err = t.Count(ctx, in.prefix())
		out.count = int(n)
	}
	return out, err
}

// askTable sends the request of an operation on a table. That the table is there
// or not is an answer.
func askTable(ctx context.Context, t remote.Table, in input) (out output, err error) {
	const key = "row"
	out.there = true
	switch in.verb {
	case create:
		out.there = false
		err = t.Create(ctx, 1)
		if remote.Says(err, "table_exists") {
			return output{there: true}, nil
		}
	case drop:
		err = t.Drop(ctx)
	case describe:
		err = t.Describe(ctx)
	case writeRow:
		err = t.Write(ctx, in.version, key)
	case readRow:
		var got map[string]int64
		got, err = t.Get(ctx, key)
		out.versions[tableRow] = got[key]
	}
	if remote.Says(err, "unknown_table") {
		return output{}, nil
	}
	return out, err
}
