package kill9

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// attempt is one request that writes or deletes rows atomically.
type attempt struct {
	version int64 // of every row it writes; unique among all attempts
	deletes bool  // it deletes its rows instead
	rows    []string
	outcome outcome
}

type outcome string

const (
	unknown outcome = "unknown" // no answer, or none that says: whole or absent
	acked   outcome = "acked"
	refused outcome = "refused" // the answer says that nothing was done
)

// shows returns the version of a row after the attempt.
func (a *attempt) shows() int64 {
	if a.deletes {
		return gone
	}
	return a.version
}

func (a *attempt) String() string {
	what := "write"
	if a.deletes {
		what = "delete"
	}
	return fmt.Sprintf("%s %d of %s: %s", what, a.version, strings.Join(a.rows, " "), a.outcome)
}

// history has the attempts of clients in one life of the server, and so what must be there. Only one client at a
// time writes a row, so the attempts at a row are ordered.
type history struct {
	mu      sync.Mutex
	settled map[string]int64 // what the verification at the start of the life found
	// attempts are in the order in which they were begun.
	attempts []*attempt
	rows     map[string]*row // those of which something is known beyond that
}

// row is the knowledge about a row.
type row struct {
	settled  int64
	attempts []*attempt
	// floor is how many attempts are known to be applied: by a response, or because their write was read.
	// None before it can be the last.
	floor int
}

func newHistory(settled map[string]int64) *history {
	return &history{settled: settled, rows: make(map[string]*row)}
}

func (h *history) row(key string) *row {
	r := h.rows[key]
	if r == nil {
		r = &row{settled: h.settled[key]}
		h.rows[key] = r
	}
	return r
}

// begin records an attempt before it is sent.
func (h *history) begin(a *attempt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a.outcome = unknown
	h.attempts = append(h.attempts, a)
	for _, key := range a.rows {
		r := h.row(key)
		r.attempts = append(r.attempts, a)
	}
}

// end records the response.
func (h *history) end(a *attempt, o outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a.outcome = o
	if o != acked {
		return
	}
	for _, key := range a.rows {
		r := h.row(key)
		r.floor = max(r.floor, slices.Index(r.attempts, a)+1)
	}
}

// read records that a client has read a version of a row, and returns an error if that is wrong. A client that
// reads its own row has nothing under way there. news means that the read proves an attempt to be applied.
func (h *history) read(key string, version int64, own bool) (news bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.row(key)
	if own && !slices.Contains(r.possible(), version) {
		return false, fmt.Errorf("a client read version %d of its row %s, possible are %v: %s", version, key, r.possible(), r)
	}
	if version == gone {
		return false, nil // it does not say which of several deletes was seen
	}
	for i, a := range r.attempts {
		if !a.deletes && a.version == version && a.outcome != refused {
			news = i >= r.floor
			r.floor = max(r.floor, i+1)
			return news, nil
		}
	}
	if version == r.settled {
		return false, nil
	}
	return false, fmt.Errorf("a client read version %d of row %s, which nobody wrote: %s", version, key, r)
}

// possible returns the versions that a row may have once nothing is under way: that of the last attempt known to
// be applied, or of a later one that may be.
func (r *row) possible() []int64 {
	versions := []int64{r.settled}
	if r.floor > 0 {
		versions[0] = r.attempts[r.floor-1].shows()
	}
	for _, a := range r.attempts[r.floor:] {
		if a.outcome != refused {
			versions = append(versions, a.shows())
		}
	}
	return versions
}

func (r *row) String() string {
	lines := []string{fmt.Sprintf("version %d was there at the start", r.settled)}
	for i, a := range r.attempts {
		line := a.String()
		if i < r.floor && a.outcome != acked {
			line += ", but it or a later one is known to be done"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

// verify compares the rows of a restarted server with the history. present has the version of every row. The
// caller takes it as settled from now on, since the decisions of the first recovery stay. ackedRows is how many
// rows had an acknowledged attempt in the last life.
func (h *history) verify(present map[string]int64) (ackedRows int64, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key := range present {
		h.row(key)
	}
	for key := range h.settled {
		h.row(key)
	}
	var last []*attempt
	for key, r := range h.rows {
		if !slices.Contains(r.possible(), present[key]) {
			return 0, fmt.Errorf("%s: row %s has version %d, possible are %v: %s", r.verdict(present[key]), key, present[key], r.possible(), r)
		}
		if slices.ContainsFunc(r.attempts, func(a *attempt) bool { return a.outcome == acked }) {
			ackedRows++
		}
		if n := len(r.attempts); n > 0 && r.attempts[n-1].outcome == unknown {
			last = append(last, r.attempts[n-1])
		}
	}
	for _, a := range last {
		if err := h.whole(a, present); err != nil {
			return 0, err
		}
	}
	return ackedRows, nil
}

// verdict names what is wrong with a version that is not possible.
func (r *row) verdict(version int64) string {
	known := version == gone || version == r.settled || slices.ContainsFunc(r.attempts, func(a *attempt) bool { return a.shows() == version })
	if known {
		return "lost"
	}
	return "made up"
}

// whole checks that all rows of an attempt with an unknown outcome show it, or none, unless they were overwritten.
func (h *history) whole(a *attempt, present map[string]int64) error {
	shown, hidden := "", ""
	for _, key := range a.rows {
		r := h.rows[key]
		if a.deletes || r.attempts[len(r.attempts)-1] != a {
			return nil
		}
		if present[key] == a.version {
			shown = key
		} else {
			hidden = key
		}
	}
	if shown != "" && hidden != "" {
		return fmt.Errorf("torn: a request was applied in part, to row %s and not to row %s: %s", shown, hidden, a)
	}
	return nil
}
