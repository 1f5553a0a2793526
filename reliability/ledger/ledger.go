// Package ledger keeps account of what a store owes: what it has acknowledged
// to writers or shown to readers, which no crash may undo, and what is under
// way, which may be there as a whole or not at all.
//
// The cells of a store are divided among writers, each of which owns some and
// does one step after the other. So what may be found of a writer's cells is one
// of two states, and is compared cell by cell: what was lost, what is there by
// halves and what has come back are all the same, a state that is neither.
package ledger

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Cells is what is stored of one writer, by place. It is not changed once a
// Ledger has it.
type Cells map[string]string

// Ledger is the account of one life of a store, from one opening to the next
// crash. It is safe for concurrent use.
type Ledger struct {
	mu       sync.Mutex
	accounts []account
	strength int64
}

// account is that of one writer.
type account struct {
	must  Cells // durable, by the store's own word
	may   Cells // must and the step under way, nil for none
	tries int   // steps begun so far
	shown bool  // a reader has seen the step under way
}

// New returns the account of a store that is empty.
func New(writers int) *Ledger {
	l := &Ledger{accounts: make([]account, writers)}
	for i := range l.accounts {
		l.accounts[i].must = Cells{}
	}
	return l
}

// Now returns what the writer's cells are as far as is certain, and the number of
// its next step. No number comes twice, so steps that make their values of it write
// nothing twice.
func (l *Ledger) Now(writer int) (cells Cells, step int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := &l.accounts[writer]
	return a.must, a.tries
}

// Begin notes that the writer's next step is under way, and what it leaves.
func (l *Ledger) Begin(writer int, after Cells) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := &l.accounts[writer]
	a.may, a.shown = after, false
	a.tries++
}

// Acked notes that the step under way was acknowledged.
func (l *Ledger) Acked(writer int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owe(writer)
}

// owe makes what was under way certain.
func (l *Ledger) owe(writer int) {
	if a := &l.accounts[writer]; a.may != nil {
		a.must, a.may = a.may, nil
		l.strength++
	}
}

// Refused notes that nothing of the step under way was done. It fails if a reader
// knows better.
func (l *Ledger) Refused(writer int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := &l.accounts[writer]
	if a.may = nil; a.shown {
		return fmt.Errorf("writer %d: step %d was refused, but a reader has seen it", writer, a.tries-1)
	}
	l.strength++
	return nil
}

// Debts is what a store owes at one moment.
type Debts struct {
	accounts []account
	// Strength is higher when more is certain: of two moments of a ledger with
	// the same strength, the earlier one allows no more than the later one.
	Strength int64
}

// Debts returns what the store owes now.
func (l *Ledger) Debts() Debts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Debts{accounts: slices.Clone(l.accounts), Strength: l.strength}
}

// Seen judges what a reader was shown, by writer. before is from before it began
// to read. What is shown is owed from then on; but not if it may be of the step before:
// a deletion under way leaves what was there before the write that it follows.
func (l *Ledger) Seen(before Debts, found []Cells) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w, cells := range found {
		a, b := &l.accounts[w], &before.accounts[w]
		switch {
		case maps.Equal(cells, a.must):
		case a.tries != b.tries && b.holds(cells): // it has moved on since
		case a.may != nil && maps.Equal(cells, a.may):
			l.owe(w)
			a.shown = true
		case b.holds(cells): // acknowledged or refused since
		default:
			return fmt.Errorf("a reader sees what was never there: %s", a.differs(w, cells))
		}
	}
	return nil
}

// Shows judges what a reader was shown while no step is waiting for its answer:
// nothing but what is certain.
func (l *Ledger) Shows(found []Cells) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w, cells := range found {
		a := account{must: l.accounts[w].must}
		if !a.holds(cells) {
			return fmt.Errorf("a reader sees what is not certain, or not all that is: %s", a.differs(w, cells))
		}
	}
	return nil
}

// Settle judges what a store holds after a crash, by writer. It returns the
// ledger of the store's new life, in which what was found is certain.
func (d Debts) Settle(found []Cells) (*Ledger, error) {
	l := &Ledger{accounts: make([]account, len(d.accounts))}
	for w := range d.accounts {
		a := &d.accounts[w]
		if !a.holds(found[w]) {
			return nil, fmt.Errorf("the store does not hold what it owes: %s", a.differs(w, found[w]))
		}
		l.accounts[w] = account{must: found[w], tries: a.tries}
	}
	return l, nil
}

// holds reports whether cells is one of the states that the account allows.
func (a *account) holds(cells Cells) bool {
	return maps.Equal(cells, a.must) || a.may != nil && maps.Equal(cells, a.may)
}
