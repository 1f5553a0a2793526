package lin

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// at is an operation on the set "s" from one time to another.
func at(call, end int64, in input, out output) porcupine.Operation {
	in.set = "s"
	return porcupine.Operation{Input: in, Output: out, Call: call, Return: end}
}

func put(version int64, rows uint8) input { return input{verb: write, rows: rows, version: version} }

func get(rows uint8) input { return input{verb: read, rows: rows} }

func saw(versions ...int64) (out output) {
	copy(out.versions[:], versions)
	return out
}

func one(v verb, version int64) input { return input{verb: v, version: version} }

func add(n int64) input { return one(increment, n) }

func sum(n int64) output { return output{there: true, versions: counterOf(isNumber, n)} }

func is(kind, value int64) output { return output{versions: counterOf(kind, value)} }

var ask = one(look, 0)

var (
	yes    = output{there: true}
	no     = output{}
	silent = output{unknown: true}
	ever   = int64(math.MaxInt64)
	both   = uint8(0b11)
)

func TestCheck(t *testing.T) {
	tests := []struct {
		name string
		good bool
		ops  []porcupine.Operation
	}{
		{"nothing", true, nil},
		{"read what was written", true, []porcupine.Operation{at(0, 1, put(1, 1), no), at(2, 3, get(1), saw(1))}},
		{"read early, while it is written", true, []porcupine.Operation{at(0, 5, put(1, 1), no), at(1, 2, get(1), saw(1)), at(3, 4, get(1), saw(1))}},
		{"seen and not seen again", false, []porcupine.Operation{at(0, 5, put(1, 1), no), at(1, 2, get(1), saw(1)), at(3, 4, get(1), saw())}},
		{"stale read", false, []porcupine.Operation{at(0, 1, put(1, 1), no), at(2, 3, put(2, 1), no), at(4, 5, get(1), saw(1))}},
		{"lost write", false, []porcupine.Operation{at(0, 1, put(1, 1), no), at(2, 3, get(1), saw())}},
		{"made up", false, []porcupine.Operation{at(0, 1, get(1), saw(7))}},
		{"two at once, in some order", true, []porcupine.Operation{at(0, 5, put(1, 1), no), at(0, 5, put(2, 1), no), at(6, 7, get(1), saw(1))}},
		{"two at once, in two orders", false, []porcupine.Operation{at(0, 5, put(1, 1), no), at(0, 5, put(2, 1), no), at(6, 7, get(1), saw(1)), at(8, 9, get(1), saw(2))}},
		{"deleted", true, []porcupine.Operation{at(0, 1, put(1, 1), no), at(2, 3, input{verb: remove, rows: 1}, yes), at(4, 5, get(1), saw())}},
		{"deleted, and back", false, []porcupine.Operation{at(0, 1, put(1, 1), no), at(2, 3, input{verb: remove, rows: 1}, yes), at(4, 5, get(1), saw(1))}},
		{"deleted by two", false, []porcupine.Operation{at(0, 1, put(1, 1), no), at(2, 5, input{verb: remove, rows: 1}, yes), at(2, 5, input{verb: remove, rows: 1}, yes)}},
		{"deleted, and not met", false, []porcupine.Operation{at(0, 1, put(1, 1), no), at(2, 5, input{verb: remove, rows: 1}, no)}},

		{"unknown, applied", true, []porcupine.Operation{at(0, 9, put(1, 1), silent), at(10, 11, get(1), saw(1))}},
		{"unknown, not applied", true, []porcupine.Operation{at(0, 9, put(1, 1), silent), at(10, 11, get(1), saw())}},
		{"unknown, applied late", true, []porcupine.Operation{at(0, ever, put(1, 1), silent), at(1, 2, get(1), saw()), at(3, 4, get(1), saw(1))}},
		{"unknown, applied after the recovery", false, []porcupine.Operation{at(0, 9, put(1, 1), silent), at(10, 11, get(1), saw()), at(12, 13, get(1), saw(1))}},
		{"unknown, undone after the recovery", false, []porcupine.Operation{at(0, 9, put(1, 1), silent), at(10, 11, get(1), saw(1)), at(12, 13, get(1), saw())}},
		{"unknown, applied twice", false, []porcupine.Operation{at(0, ever, put(1, 1), silent), at(1, 2, get(1), saw(1)), at(3, 4, put(2, 1), no), at(5, 6, get(1), saw(2)), at(7, 8, get(1), saw(1))}},
		{"unknown, in part", false, []porcupine.Operation{at(0, 9, put(1, both), silent), at(10, 11, get(both), saw(1, 0))}},

		{"rows at one moment", true, []porcupine.Operation{at(0, 1, put(1, both), no), at(2, 9, put(2, both), no), at(3, 4, get(both), saw(1, 1)), at(5, 6, get(both), saw(2, 2))}},
		{"rows at two moments", false, []porcupine.Operation{at(0, 1, put(1, both), no), at(2, 9, put(2, both), no), at(3, 4, get(both), saw(1, 2))}},
		{"counted", true, []porcupine.Operation{at(0, 1, put(1, both), no), at(2, 3, input{verb: count}, output{count: 2})}},
		{"counted in the middle", false, []porcupine.Operation{at(0, 9, put(1, both), no), at(2, 3, input{verb: count}, output{count: 1})}},

		{"created once", true, []porcupine.Operation{at(0, 5, input{verb: create}, no), at(0, 5, input{verb: create}, yes)}},
		{"created twice", false, []porcupine.Operation{at(0, 5, input{verb: create}, no), at(0, 5, input{verb: create}, no)}},
		{"created by nobody", false, []porcupine.Operation{at(0, 5, input{verb: create}, yes), at(0, 5, input{verb: create}, yes)}},
		{"exists before it is durable", false, []porcupine.Operation{at(0, 9, input{verb: create}, silent), at(1, 2, input{verb: create}, yes), at(10, 11, input{verb: describe}, no)}},
		{"created anew", true, []porcupine.Operation{at(0, 1, input{verb: create}, no), at(2, 3, input{verb: writeRow, version: 4}, yes), at(4, 5, input{verb: drop}, yes), at(6, 7, input{verb: create}, no), at(8, 9, input{verb: readRow}, yes)}},
		{"created anew with old rows", false, []porcupine.Operation{at(0, 1, input{verb: create}, no), at(2, 3, input{verb: writeRow, version: 4}, yes), at(4, 5, input{verb: drop}, yes), at(6, 7, input{verb: create}, no), at(8, 9, input{verb: readRow}, output{there: true, versions: state{tableRow: 4}})}},
		{"dropped, and written to", false, []porcupine.Operation{at(0, 1, input{verb: create}, no), at(2, 3, input{verb: drop}, yes), at(4, 5, input{verb: writeRow, version: 4}, yes)}},

		{"incremented", true, []porcupine.Operation{at(0, 5, add(1), sum(3)), at(0, 5, add(2), sum(2)), at(6, 7, ask, is(isNumber, 3))}},
		{"lost increment", false, []porcupine.Operation{at(0, 5, add(1), sum(1)), at(0, 5, add(2), sum(2))}},
		{"incremented after what was lost", false, []porcupine.Operation{at(0, 9, add(1), silent), at(1, 2, add(2), sum(3)), at(10, 11, ask, is(isNumber, 2))}},
		{"no number after what was lost", false, []porcupine.Operation{at(0, 1, add(1), sum(1)), at(2, 19, one(turn, 2), silent), at(3, 4, add(3), no), at(20, 21, ask, is(isNumber, 1))}},
		{"unknown increment", true, []porcupine.Operation{at(0, 9, add(1), silent), at(1, 2, add(2), sum(3)), at(10, 11, ask, is(isNumber, 3))}},
		{"claimed by one", true, []porcupine.Operation{at(0, 5, one(claim, 1), no), at(0, 5, one(claim, 2), yes), at(6, 7, ask, is(isNumber, 2))}},
		{"claimed by two", false, []porcupine.Operation{at(0, 5, one(claim, 1), yes), at(0, 5, one(claim, 2), yes)}},
		{"claimed by nobody", false, []porcupine.Operation{at(0, 5, one(claim, 1), no), at(0, 5, one(claim, 2), no)}},
		{"turned and turned back", true, []porcupine.Operation{at(0, 1, one(assign, 1), no), at(2, 3, one(turn, 2), yes), at(4, 5, ask, is(isText, 2)), at(6, 7, one(wipe, 0), yes), at(8, 9, one(turn, 3), no), at(10, 11, ask, is(isNumber, 3))}},
		{"wiped twice", false, []porcupine.Operation{at(0, 1, one(assign, 1), no), at(2, 5, one(wipe, 0), yes), at(2, 5, one(wipe, 0), yes)}},
	}
	for _, test := range tests {
		h := newHistory()
		h.sets["s"] = test.ops
		err := h.check(10 * time.Second)
		if test.good && err != nil || !test.good && (err == nil || !strings.Contains(err.Error(), "set s is not linearizable")) {
			t.Errorf("%s: %v, want an order: %v", test.name, err, test.good)
		}
	}
}

// What was sent to a server that was killed is over when the next one is ready.
func TestRecovered(t *testing.T) {
	for _, over := range []bool{false, true} {
		h := newHistory()
		h.unanswered(0, input{verb: write, set: "s", rows: 1, version: 1}, h.now())
		if over {
			h.recovered()
		}
		for _, version := range []int64{0, 1} {
			h.answered(0, input{verb: read, set: "s", rows: 1}, saw(version), h.now())
		}
		if err := h.check(time.Second); (err != nil) != over {
			t.Errorf("seen late, and the recovery was before: %v: %v", over, err)
		}
	}
}

func TestFailureShowsTheFirstWrongAnswer(t *testing.T) {
	h := newHistory()
	for i := int64(1); i <= 50; i++ {
		version := i
		if i == 20 {
			version = 1
		}
		h.sets["s"] = append(h.sets["s"], at(20*i, 20*i+1, put(i, 1), no), at(20*i+10, 20*i+11, get(1), saw(version)))
	}
	err := h.check(10 * time.Second)
	if err == nil || !strings.HasSuffix(err.Error(), "client 0, from 410ns to 411ns: read s rows 0: [1 0 0 0 0 0 0 0], there false, count 0\n") {
		t.Errorf("error %v, want one that ends with the read at 410 ns", err)
	}
}

// A check that takes too long is no pass.
func TestCheckThatTakesTooLong(t *testing.T) {
	h := newHistory()
	h.sets["s"] = []porcupine.Operation{at(0, ever, get(1), saw())}
	for i := int64(1); i <= 40; i++ {
		h.sets["s"] = append(h.sets["s"], at(0, 1000, put(i, 1), no))
	}
	h.sets["s"] = append(h.sets["s"], at(2000, 2001, get(1), saw(77)))
	if err := h.check(50 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "no order of 42 operations was found or excluded") {
		t.Errorf("error %v, want that nothing is known", err)
	}
}
