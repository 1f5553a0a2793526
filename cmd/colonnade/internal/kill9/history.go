package kill9

import (
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// groups are the families of the table, each in a locality group of its own.
var groups = []string{"ga", "gb", "gc"}

// gone is the version of a row that is not there.
const gone = 0

// attempt is one request that writes or deletes rows, as one atomic whole.
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

// shows is the version that a row has after the attempt.
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

// history is what clients have tried, and what must therefore be there. One
// client at a time writes a row, so the attempts at a row have an order.
type history struct {
	mu   sync.Mutex
	rows map[string]*row
}

// row is what is known of a row.
type row struct {
	settled  int64      // what the last verification found
	attempts []*attempt // since then
	// floor is how many attempts are known to be done: an answer said so, or
	// somebody has read what they wrote. None before it can be the last.
	floor int
}

func newHistory() *history { return &history{rows: make(map[string]*row)} }

func (h *history) row(key string) *row {
	r := h.rows[key]
	if r == nil {
		r = &row{}
		h.rows[key] = r
	}
	return r
}

// begin notes an attempt before it is sent.
func (h *history) begin(a *attempt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a.outcome = unknown
	for _, key := range a.rows {
		r := h.row(key)
		r.attempts = append(r.attempts, a)
	}
}

// end notes the answer.
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

// read notes that a client has read a version of a row, and says what is wrong
// with that. A client that reads a row of its own has nothing under way there.
func (h *history) read(key string, version int64, own bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.row(key)
	if own && !slices.Contains(r.possible(), version) {
		return fmt.Errorf("a client read version %d of its row %s, possible are %v: %s", version, key, r.possible(), r)
	}
	if version == gone {
		return nil // it does not say which of several deletes was seen
	}
	for i, a := range r.attempts {
		if !a.deletes && a.version == version && a.outcome != refused {
			r.floor = max(r.floor, i+1)
			return nil
		}
	}
	if version == r.settled {
		return nil
	}
	return fmt.Errorf("a client read version %d of row %s, which nobody wrote: %s", version, key, r)
}

// possible returns the versions that a row may have once nothing is under way:
// that of the last attempt known to be done, or of a later one that may be.
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

// verify compares what a restarted server shows with what must be there, and
// makes it the truth from now on: what the first recovery decided stays.
// present has the version of every row that is there.
func (h *history) verify(present map[string]int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key := range present {
		h.row(key)
	}
	var last []*attempt
	for key, r := range h.rows {
		if !slices.Contains(r.possible(), present[key]) {
			return fmt.Errorf("row %s has version %d, possible are %v: %s", key, present[key], r.possible(), r)
		}
		if n := len(r.attempts); n > 0 && r.attempts[n-1].outcome == unknown {
			last = append(last, r.attempts[n-1])
		}
	}
	for _, a := range last {
		if err := h.whole(a, present); err != nil {
			return err
		}
	}
	for key, r := range h.rows {
		*r = row{settled: present[key]}
	}
	return nil
}

// whole checks that of an attempt whose outcome is not known, and that nobody
// has written over, all rows show it or none.
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
		return fmt.Errorf("a request was applied in part, to row %s and not to row %s: %s", shown, hidden, a)
	}
	return nil
}

// value returns what the cell of a row in a group holds at a version.
func value(key string, version int64, group string) string {
	return fmt.Sprintf("%d|%08x", version, crc32.ChecksumIEEE(fmt.Appendf(nil, "%s %d %s", key, version, group)))
}

// rowVersion takes the values of a row, by group, and returns their version, or
// what is wrong with them.
func rowVersion(key string, values map[string]string) (int64, error) {
	var version int64
	for i, group := range groups {
		text, _, _ := strings.Cut(values[group], "|")
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil || values[group] != value(key, v, group) {
			return 0, fmt.Errorf("row %s holds %q in group %s, of %v in all", key, values[group], group, values)
		}
		if i > 0 && v != version {
			return 0, fmt.Errorf("row %s mixes two requests: %v", key, values)
		}
		version = v
	}
	if len(values) != len(groups) {
		return 0, fmt.Errorf("row %s has more than its %d cells: %v", key, len(groups), values)
	}
	return version, nil
}
