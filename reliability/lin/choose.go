package lin

import (
	"fmt"
	"strings"
)

// So many sets of each kind are in use: few, so that clients meet.
const (
	singles  = 16 // sets of one row
	octets   = 3  // sets of eight
	named    = 4  // tables
	counters = 3
)

func single(i int) string  { return fmt.Sprintf("single%02d", i) }
func octet(i int) string   { return fmt.Sprintf("octet%02d", i) }
func name(i int) string    { return fmt.Sprintf("table%02d", i) }
func counter(i int) string { return fmt.Sprintf("counter%02d", i) }

// all returns the rows that a set has.
func (in input) all() uint8 {
	if strings.HasPrefix(in.set, "octet") {
		return 1<<setSize - 1
	}
	return 1
}

func (in input) prefix() string   { return in.set + "/" }
func (in input) key(i int) string { return fmt.Sprintf("%s%d", in.prefix(), i) }

// keys returns the keys of the rows of an operation.
func (in input) keys() (keys []string) {
	for i := range setSize {
		if in.rows&(1<<i) != 0 {
			keys = append(keys, in.key(i))
		}
	}
	return keys
}

func (v verb) ofTables() bool {
	switch v {
	case create, drop, describe, writeRow, readRow:
		return true
	}
	return false
}

func (v verb) ofCounters() bool {
	switch v {
	case increment, assign, claim, wipe, turn, look:
		return true
	}
	return false
}

// takesKey reports whether the verb can have an idempotency key. On few rows, so that
// a request which is applied again changes what others have seen meanwhile.
func (v verb) takesKey() bool { return v.changes() && !v.ofTables() }

// changes reports whether the verb does more than to read.
func (v verb) changes() bool {
	switch v {
	case read, count, describe, readRow, look:
		return false
	}
	return true
}

// choose says what a client does next.
func (c *client) choose() input {
	switch dice := c.rnd.IntN(100); {
	case dice < 6:
		return c.chooseOfTable(name(c.rnd.IntN(named)))
	case dice < 31:
		return c.chooseOfCounter(counter(min(c.rnd.IntN(counters), c.rnd.IntN(counters))))
	case dice < 62:
		// Some are met more often than others.
		return c.chooseOfRows(input{set: single(min(c.rnd.IntN(singles), c.rnd.IntN(singles))), rows: 1})
	default:
		return c.chooseOfRows(input{set: octet(c.rnd.IntN(octets)), rows: uint8(1 + c.rnd.IntN(1<<setSize-1))})
	}
}

func (c *client) chooseOfRows(in input) input {
	switch dice := c.rnd.IntN(100); {
	case dice < 40:
		in.verb, in.version = write, c.life.version.Add(1)
	case dice < 50:
		in.verb, in.rows = remove, in.rows&-in.rows
	case dice < 60:
		in.verb, in.rows = count, 0
	case dice < 80:
		in.verb, in.rows = read, in.all()
	default:
		in.verb = read
	}
	return in
}

func (c *client) chooseOfTable(set string) input {
	switch dice := c.rnd.IntN(100); {
	case dice < 25:
		return input{verb: create, set: set}
	case dice < 45:
		return input{verb: drop, set: set}
	case dice < 55:
		return input{verb: describe, set: set}
	case dice < 80:
		return input{verb: writeRow, set: set, version: c.life.version.Add(1)}
	default:
		return input{verb: readRow, set: set}
	}
}

func (c *client) chooseOfCounter(name string) input {
	in := input{set: name, version: c.life.version.Add(1)}
	switch dice := c.rnd.IntN(100); {
	case dice < 50:
		in.verb = increment
	case dice < 58:
		in.verb = assign
	case dice < 66:
		in.verb = claim
	case dice < 73:
		in.verb = wipe
	case dice < 80:
		in.verb = turn
	default:
		return input{verb: look, set: name}
	}
	return in
}

// readAll reads every set once.
func readAll() (list []input) {
	for i := range singles {
		list = append(list, input{verb: read, set: single(i), rows: 1})
	}
	for i := range octets {
		list = append(list, input{verb: read, set: octet(i), rows: 1<<setSize - 1})
	}
	for i := range counters {
		list = append(list, input{verb: look, set: counter(i)})
	}
	for i := range named {
		list = append(list, input{verb: readRow, set: name(i)})
	}
	return list
}
