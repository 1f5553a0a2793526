package lin

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// history is what clients have asked and been answered, set by set.
//
// An operation without an answer can take effect as long as the server lives
// that it was sent to, and not after the recovery that follows: what that has
// shown is final. So it returns when the next life is ready, or never if there
// is none.
type history struct {
	begin time.Time

	mu      sync.Mutex
	sets    map[string][]porcupine.Operation
	pending []porcupine.Operation // of this life, without an answer
	waiting map[string]int        // of these, by set
}

func newHistory() *history {
	return &history{begin: time.Now(), sets: make(map[string][]porcupine.Operation), waiting: make(map[string]int)}
}

func (h *history) now() int64 { return int64(time.Since(h.begin)) }

// answered adds an operation that began at a time and ends now.
func (h *history) answered(client int, in input, out output, call int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sets[in.set] = append(h.sets[in.set], porcupine.Operation{ClientId: client, Input: in, Output: out, Call: call, Return: h.now()})
}

// unanswered adds an operation of which nobody knows whether it will be applied.
func (h *history) unanswered(client int, in input, call int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting[in.set]++
	h.pending = append(h.pending, porcupine.Operation{ClientId: client, Input: in, Output: output{unknown: true}, Call: call, Return: math.MaxInt64})
}

// room reports whether another operation on a set may stay without an answer:
// many of them at once make the check slow.
func (h *history) room(set string) bool {
	const most = 2
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiting[set] < most
}

// recovered says that a new life is ready: operations that were sent to the one
// before are over.
func (h *history) recovered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, op := range h.pending {
		op.Return = h.now()
		set := op.Input.(input).set
		h.sets[set] = append(h.sets[set], op)
	}
	h.pending = nil
	clear(h.waiting)
}

// all returns the operations, set by set. No client is at work any more.
func (h *history) all() map[string][]porcupine.Operation {
	all := maps.Clone(h.sets)
	for _, op := range h.pending {
		set := op.Input.(input).set
		all[set] = append(slices.Clone(all[set]), op)
	}
	return all
}

// check looks for an order of the operations, within the times at which they were
// under way, in which each has the answer that it has. The error tells of a set
// that has none, or for which none was found within a time.
func (h *history) check(limit time.Duration) error {
	end := time.Now().Add(limit)
	all := h.all()
	for _, set := range slices.Sorted(maps.Keys(all)) {
		ops := all[set]
		switch porcupine.CheckOperationsTimeout(model, ops, max(time.Until(end), 1)) {
		case porcupine.Unknown:
			return fmt.Errorf("set %s: no order of %d operations was found or excluded within %v", set, len(ops), limit)
		case porcupine.Illegal:
			return fmt.Errorf("set %s is not linearizable; its operations up to the first answer that cannot be:\n%s", set, tell(firstWrong(ops)))
		}
	}
	return nil
}

// firstWrong returns the operations up to the first answer with which they have
// no order any more.
func firstWrong(ops []porcupine.Operation) []porcupine.Operation {
	ops = slices.SortedFunc(slices.Values(ops), func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	n := sort.Search(len(ops), func(n int) bool {
		return porcupine.CheckOperationsTimeout(model, until(ops, n), time.Second) == porcupine.Illegal
	})
	return until(ops, min(n, len(ops)-1))
}

// until returns what is known when the answer of an operation arrives: of
// operations that are still under way, that they are.
func until(ops []porcupine.Operation, n int) []porcupine.Operation {
	known := slices.Clone(ops[:n+1])
	for _, op := range ops[n+1:] {
		if op.Call <= ops[n].Return {
			op.Return, op.Output = math.MaxInt64, output{unknown: true}
			known = append(known, op)
		}
	}
	return known
}

// tell shows the last operations.
func tell(ops []porcupine.Operation) string {
	const most = 30
	var text strings.Builder
	for _, op := range ops[max(0, len(ops)-most):] {
		end := "never"
		if op.Return != math.MaxInt64 {
			end = fmt.Sprint(time.Duration(op.Return))
		}
		fmt.Fprintf(&text, "  client %d, from %v to %s: %v: %v\n", op.ClientId, time.Duration(op.Call), end, op.Input, op.Output)
	}
	return text.String()
}
