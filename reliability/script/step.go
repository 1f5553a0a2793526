package script

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"

	"github.com/colonnade-db/colonnade/reliability/ledger"
)

// Step is one call of a Store.
type Step struct {
	verb  verb
	space string
	rows  []Row // of a write; of a deletion the key alone
	part  int   // that moves
	place Place
}

type verb uint8

const (
	write verb = iota
	deleteRow
	create
	drop
	move
	moveSome
	flush
	compactAll
)

// Do makes the call.
func (s Step) Do(store Store) error {
	switch s.verb {
	case write:
		return store.Write(s.space, s.rows)
	case deleteRow:
		return store.Delete(s.space, s.rows[0].Key)
	case create:
		return store.Create(s.space)
	case drop:
		return store.Drop(s.space)
	case move:
		return store.Move(s.space, s.part, s.place)
	case moveSome:
		_, err := store.MoveSome()
		return err
	case flush:
		return store.Flush()
	default:
		return store.Compact()
	}
}

// After returns what the call leaves of a writer's cells.
func (s Step) After(cells ledger.Cells) ledger.Cells {
	after := maps.Clone(cells)
	switch s.verb {
	case write:
		for _, row := range s.rows {
			for part, value := range row.Values {
				if value != "" {
					after[place(s.space, row.Key, part)] = value
				}
			}
		}
	case deleteRow:
		for part := range Parts {
			delete(after, place(s.space, s.rows[0].Key, part))
		}
	case create:
		after[spacePlace(s.space)] = ""
	case drop:
		maps.DeleteFunc(after, func(at, _ string) bool { return strings.HasPrefix(at, spacePlace(s.space)) })
	}
	return after
}

// Maintains reports whether the call is one of the engine's, for maintenance.
func (s Step) Maintains() bool { return s.verb >= flush }

func (s Step) String() string {
	names := [...]string{"write", "delete", "create", "drop", "move", "move some", "flush", "compact"}
	text := names[s.verb]
	if s.space != "" {
		text += " " + s.space
	}
	if s.verb == move {
		text += fmt.Sprintf(" part %d to place %d", s.part, s.place)
	}
	for _, row := range s.rows {
		text += " " + row.Key
	}
	return text
}

// Mix is what a workload consists of.
type Mix struct {
	Writers int
	Rows    int   // of each writer
	Batch   int   // rows of one write, at most
	Values  []int // lengths, of which one is drawn for each value

	// Of a hundred steps, so many are of these kinds; the others write.
	Deletes, Flushes, Compacts, Remakes int
	Moves                               int // half of them begin to move a part or send it back, half move some rows

	// Plan has the verbs of a short workload, again and again, instead of drawing them: a letter each, w for write,
	// d delete, f flush, m move and s move some.
	Plan string
}

// Step returns the next step of a writer, given what its cells are. The first
// writer makes the shared space before anything else; the others must wait for
// that.
func (m *Mix) Step(seed uint64, writer, number int, cells ledger.Cells) Step {
	r := rand.New(rand.NewPCG(seed, uint64(writer)<<32|uint64(number)))
	if _, there := cells[spacePlace(shared)]; writer == 0 && !there {
		return Step{verb: create, space: shared}
	}
	mine := own(writer)
	_, there := cells[spacePlace(mine)]
	space := shared
	if there && r.IntN(2) == 0 {
		space = mine
	}
	if m.Plan != "" {
		return m.planned(r, space, writer, number)
	}
	dice := r.IntN(100)
	below := func(share int) bool {
		dice -= share
		return dice < 0
	}
	switch {
	case below(m.Deletes):
		return m.delete(r, space, writer)
	case below(m.Flushes):
		return Step{verb: flush}
	case below(m.Compacts):
		return Step{verb: compactAll}
	case below(m.Moves):
		if r.IntN(2) > 0 {
			return Step{verb: moveSome}
		}
		return begin(r, space)
	case below(m.Remakes) && there:
		return Step{verb: drop, space: mine}
	case dice < 0:
		return Step{verb: create, space: mine}
	}
	return Step{verb: write, space: space, rows: m.rows(r, writer, number)}
}

// planned returns the step that Plan has for a number.
func (m *Mix) planned(r *rand.Rand, space string, writer, number int) Step {
	switch m.Plan[number%len(m.Plan)] {
	case 'd':
		return m.delete(r, space, writer)
	case 'f':
		return Step{verb: flush}
	case 'm':
		return begin(r, space)
	case 's':
		return Step{verb: moveSome}
	}
	return Step{verb: write, space: space, rows: m.rows(r, writer, number)}
}

func (m *Mix) delete(r *rand.Rand, space string, writer int) Step {
	return Step{verb: deleteRow, space: space, rows: []Row{{Key: rowKey(writer, r.IntN(m.Rows))}}}
}

// begin begins a move, or sends a part back.
func begin(r *rand.Rand, space string) Step {
	return Step{verb: move, space: space, part: r.IntN(Parts), place: Place(r.IntN(int(places)))}
}

func (m *Mix) rows(r *rand.Rand, writer, number int) []Row {
	rows := make([]Row, 1+r.IntN(m.Batch))
	first := r.IntN(m.Rows)
	for i := range rows {
		rows[i].Key = rowKey(writer, (first+i)%m.Rows)
		for part := range Parts {
			if r.IntN(8) > 0 {
				rows[i].Values[part] = m.value(r, writer, number)
			}
		}
		rows[i].Values[r.IntN(Parts)] = m.value(r, writer, number)
	}
	return rows
}

// value makes a value that hardly any other step writes, and that compresses badly.
func (m *Mix) value(r *rand.Rand, writer, number int) string {
	n := m.Values[r.IntN(len(m.Values))]
	b := fmt.Appendf(make([]byte, 0, n+16), "%c%d ", letter(writer), number)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64())
	}
	return string(b[:max(n, 1)])
}

// Next does the next step of a writer, and keeps account of it. The error is
// that of the call: the step is under way then.
func (m *Mix) Next(seed uint64, l *ledger.Ledger, store Store, writer int) error {
	s := m.Begin(seed, l, writer)
	if err := s.Do(store); err != nil {
		return fmt.Errorf("%v: %w", s, err)
	}
	l.Acked(writer)
	return nil
}

// Begin notes the next step of a writer as under way.
func (m *Mix) Begin(seed uint64, l *ledger.Ledger, writer int) Step {
	cells, number := l.Now(writer)
	s := m.Step(seed, writer, number, cells)
	l.Begin(writer, s.After(cells))
	return s
}
