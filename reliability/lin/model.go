package lin

import (
	"fmt"
	"math/bits"

	"github.com/anishathalye/porcupine"
)

// setSize is the largest number of rows in a set.
const setSize = 8

// state is what a set holds: the version of each row, 0 for none. For a set that
// is a table it is whether there is the table, and the version of its only row. For
// a counter it is what it is, and its value.
type state [setSize]int64

// The places of a table's state.
const (
	tableExists = iota // 1 or 0
	tableRow
)

// The places of a counter's state.
const (
	counterKind = iota // absent, or one of the below
	counterValue
)

const (
	absent = iota
	isNumber
	isText
)

// counterOf returns the state of a counter.
func counterOf(kind, value int64) state { return state{counterKind: kind, counterValue: value} }

// verb is what an operation does.
type verb string

const (
	write  verb = "write"  // gives all rows a version
	remove verb = "remove" // deletes the row, and says whether it was there
	read   verb = "read"   // returns the versions of the rows
	count  verb = "count"  // returns how many rows of the set there are

	create   verb = "create" // a table, unless it is there
	drop     verb = "drop"
	describe verb = "describe" // says whether the table is there
	writeRow verb = "write row"
	readRow  verb = "read row"

	increment verb = "increment" // adds the version, and returns the sum; fails for a text
	assign    verb = "assign"    // a number
	claim     verb = "claim"     // sets, if it is absent, and says whether it was
	wipe      verb = "wipe"      // deletes, if it is there, and says whether it was
	turn      verb = "turn"      // into a text, if it is there, otherwise sets; says whether it was
	look      verb = "look"
)

// input is an operation on a set.
type input struct {
	verb    verb
	set     string
	rows    uint8 // a bit for each row
	version int64 // to write
}

// output is its answer.
type output struct {
	unknown  bool  // there is none: it is applied as a whole, or not
	versions state // read; of the table's row, in the place of that, readRow; of the counter
	there    bool  // remove: the row was there; verbs of tables: the table was; increment: done; claim: it was not there
	count    int   // count
}

// only returns what s has in the given rows.
func (s state) only(rows uint8) (part state) {
	for i := range s {
		if rows&(1<<i) != 0 {
			part[i] = s[i]
		}
	}
	return part
}

// with returns s with a version in the given rows.
func (s state) with(rows uint8, version int64) state {
	for i := range s {
		if rows&(1<<i) != 0 {
			s[i] = version
		}
	}
	return s
}

func (s state) hash() (h uint64) {
	for _, version := range s {
		h = (h + uint64(version)) * 0x9e3779b97f4a7c15
	}
	return h
}

// answer returns what an operation on s answers, and the state behind it.
func (s state) answer(in input) (out output, next state) {
	exists := s[tableExists] == 1
	switch in.verb {
	case write:
		return output{}, s.with(in.rows, in.version)
	case remove:
		return output{there: s.only(in.rows) != state{}}, s.with(in.rows, 0)
	case read:
		return output{versions: s.only(in.rows)}, s
	case count:
		n := 0
		for _, version := range s {
			if version != 0 {
				n++
			}
		}
		return output{count: n}, s
	case create:
		return output{there: exists}, s.with(1<<tableExists, 1)
	case drop:
		return output{there: exists}, state{}
	case describe:
		return output{there: exists}, s
	case writeRow:
		if exists {
			s[tableRow] = in.version
		}
		return output{there: exists}, s
	case readRow:
		return output{there: exists, versions: s.only(1 << tableRow)}, s
	}
	return s.answerOfCounter(in)
}

func (s state) answerOfCounter(in input) (out output, next state) {
	there := s[counterKind] != absent
	switch in.verb {
	case increment:
		if s[counterKind] == isText {
			return output{}, s
		}
		next = counterOf(isNumber, s[counterValue]+in.version)
		return output{there: true, versions: next}, next
	case assign:
		return output{}, counterOf(isNumber, in.version)
	case claim:
		if there {
			return output{}, s
		}
		return output{there: true}, counterOf(isNumber, in.version)
	case wipe:
		return output{there: there}, state{}
	case turn:
		if there {
			return output{there: true}, counterOf(isText, in.version)
		}
		return output{}, counterOf(isNumber, in.version)
	case look:
		return output{versions: s}, s
	}
	panic("there is no " + in.verb)
}

// step returns the states that a set can have after an operation.
func step(before, in, out any) []any {
	answer, next := before.(state).answer(in.(input))
	if out.(output).unknown {
		return []any{before, next}
	}
	if answer != out.(output) {
		return nil
	}
	return []any{next}
}

// model is the sequential specification of a set.
var model = (&porcupine.NondeterministicModel{
	Init:              func() []any { return []any{state{}} },
	Step:              step,
	Hash:              func(s any) uint64 { return s.(state).hash() },
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%v: %v", in, out) },
}).ToModel()

func (in input) String() string {
	text := string(in.verb) + " " + in.set
	if in.rows != 0 {
		text += " rows"
		for rows := in.rows; rows != 0; rows &= rows - 1 {
			text += fmt.Sprintf(" %d", bits.TrailingZeros8(rows))
		}
	}
	if in.version != 0 {
		text += fmt.Sprintf(" version %d", in.version)
	}
	return text
}

func (out output) String() string {
	if out.unknown {
		return "unknown"
	}
	return fmt.Sprintf("%v, there %v, count %d", out.versions, out.there, out.count)
}
