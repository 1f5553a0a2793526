package lin

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/colonnade-db/colonnade/reliability/remote"
)

// client does one thing after the other until the server is gone.
type client struct {
	life   *life
	number int
	rnd    *rand.Rand
}

func (c *client) work(ctx context.Context) error {
	for {
		if s, ok := c.life.sent.take(); ok && c.rnd.IntN(again) == 0 {
			if over, err := c.send(ctx, s); over || err != nil {
				return err
			}
		} else if ok {
			c.life.sent.put(s)
		}
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
	s := sent{input: in, client: c.number, call: c.life.history.now()}
	if in.verb.takesKey() && c.rnd.IntN(2) == 0 {
		s.key = fmt.Sprintf("lin-%d", c.life.keys.Add(1))
	}
	return c.send(ctx, s)
}

// send sends an operation, perhaps again. One that has a key and no answer will be sent
// once more: it is one operation from its first request to its answer.
func (c *client) send(ctx context.Context, s sent) (over bool, err error) {
	h := c.life.history
	limited, cancel := c.patience(ctx, s.input)
	defer cancel()
	out, err := c.ask(limited, s)
	outcome := remote.OutcomeOf(err)
	late := outcome == remote.Lost || outcome == remote.Unknown
	if s.again && (outcome == remote.Refused || remote.Says(err, "idempotency_key_in_use")) || s.late == c.life && refused(s.input, out, err) {
		outcome = remote.Unknown // as what became of it the first time
	}
	switch outcome {
	case remote.Wrong:
		return true, err
	case remote.Refused:
		c.life.section.Add("refused", 1)
		return false, nil
	case remote.Done:
		h.answered(s.client, s.input, out, s.call)
		if s.verb == create && out.there {
			c.life.section.Add("create_conflicts", 1)
		}
		switch {
		case s.verb == increment && !out.there:
			c.life.section.Add("no_numbers", 1)
			fallthrough
		case s.verb.ofCounters() && s.verb.changes():
			c.life.section.Add("updates", 1)
		}
		if s.again {
			c.life.section.Add("sent_again", 1)
		}
	default:
		over = outcome == remote.Lost && limited.Err() == nil
		switch {
		case !s.verb.changes():
		case s.key != "":
			if s.again = true; late {
				s.late = c.life
			}
			c.life.sent.put(s)
			return over, nil
		default:
			h.unanswered(s.client, s.input, s.call)
			c.life.section.Add("unknown", 1)
		}
	}
	c.life.section.Add("operations", 1)
	return over, nil
}

// refused reports whether an increment was answered that it cannot be. A key does not remember that: the request
// that was sent before and has no answer may still be on its way, and find a number.
func refused(in input, out output, err error) bool {
	return err == nil && in.verb == increment && !out.there
}

// patience is mostly without an end, but a few changes are given up soon, unless nobody else is there.
func (c *client) patience(ctx context.Context, in input) (context.Context, context.CancelFunc) {
	if !in.verb.changes() || c.life.clients == 1 || c.rnd.IntN(50) > 0 || !c.life.history.room(in.set) {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Duration(c.rnd.IntN(3000))*time.Microsecond)
}

// ask sends the request of an operation.
func (c *client) ask(ctx context.Context, s sent) (out output, err error) {
	in := s.input
	connection := c.rnd.IntN(2)
	if in.verb.ofTables() {
		return askTable(ctx, c.life.table(connection, in.set), in)
	}
	t := c.life.rows(connection)
	t.Key = s.key
	if in.verb.ofCounters() {
		return askCounter(ctx, t, in)
	}
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

// askCounter sends the request of an operation on a counter. That it is no number is an answer.
func askCounter(ctx context.Context, t remote.Table, in input) (out output, err error) {
	switch in.verb {
	case increment:
		var sum int64
		sum, err = t.Increment(ctx, in.set, in.version)
		if remote.Says(err, "not_a_number") {
			return output{}, nil
		}
		out = output{there: true, versions: counterOf(isNumber, sum)}
	case assign:
		err = t.SetNumber(ctx, in.set, in.version)
	case claim:
		out.there, err = t.CreateNumber(ctx, in.set, in.version)
	case wipe:
		out.there, err = t.Clear(ctx, in.set)
	case turn:
		out.there, err = t.Turn(ctx, in.set, in.version)
	case look:
		var c remote.Counter
		c, err = t.Counter(ctx, in.set)
		switch {
		case c.Text:
			out.versions = counterOf(isText, c.Value)
		case c.There:
			out.versions = counterOf(isNumber, c.Value)
		}
	}
	return out, err
}
