package kill9

import (
	"strings"
	"testing"
)

// story is a row of attempts and what a restart then shows.
type story struct {
	name    string
	tell    func(h *history) error
	present map[string]int64
	want    string // part of the error, "" for none
}

func write(h *history, o outcome, version int64, rows ...string) *attempt {
	a := &attempt{version: version, rows: rows}
	h.begin(a)
	if o != unknown {
		h.end(a, o)
	}
	return a
}

func remove(h *history, o outcome, version int64, row string) {
	a := &attempt{version: version, rows: []string{row}, deletes: true}
	h.begin(a)
	if o != unknown {
		h.end(a, o)
	}
}

func read(h *history, key string, version int64, own bool) error {
	_, err := h.read(key, version, own)
	return err
}

func TestHistory(t *testing.T) {
	// Of those whose name begins with settled, row s had version 9 at the start.
	tests := []story{
		{"nothing", func(*history) error { return nil }, nil, ""},
		{"acked and there", func(h *history) error { write(h, acked, 1, "a"); return nil }, map[string]int64{"a": 1}, ""},
		{"acked and lost", func(h *history) error { write(h, acked, 1, "a"); return nil }, nil, "lost: row a has version 0, possible are [1]"},
		{"acked and gone back", func(h *history) error { write(h, acked, 1, "a"); write(h, acked, 2, "a"); return nil }, map[string]int64{"a": 1}, "possible are [2]"},
		{"unknown and there", func(h *history) error { write(h, acked, 1, "a"); write(h, unknown, 2, "a"); return nil }, map[string]int64{"a": 2}, ""},
		{"unknown and absent", func(h *history) error { write(h, acked, 1, "a"); write(h, unknown, 2, "a"); return nil }, map[string]int64{"a": 1}, ""},
		{"refused and there", func(h *history) error { write(h, acked, 1, "a"); write(h, refused, 2, "a"); return nil }, map[string]int64{"a": 2}, "possible are [1]"},
		{"never sent", func(*history) error { return nil }, map[string]int64{"a": 7}, "made up: row a has version 7, possible are [0]"},
		{"deleted and there", func(h *history) error { write(h, acked, 1, "a"); remove(h, acked, 2, "a"); return nil }, map[string]int64{"a": 1}, "possible are [0]"},
		{"perhaps deleted", func(h *history) error { write(h, acked, 1, "a"); remove(h, unknown, 2, "a"); return nil }, nil, ""},
		{"in part", func(h *history) error { write(h, unknown, 1, "a", "b"); return nil }, map[string]int64{"b": 1}, "in part, to row b and not to row a"},
		{"whole", func(h *history) error { write(h, unknown, 1, "a", "b"); return nil }, map[string]int64{"a": 1, "b": 1}, ""},
		{"read and lost", func(h *history) error { write(h, unknown, 1, "a"); return read(h, "a", 1, false) }, nil, "possible are [1]"},
		{"read and there", func(h *history) error { write(h, unknown, 1, "a"); return read(h, "a", 1, false) }, map[string]int64{"a": 1}, ""},
		{"read what nobody wrote", func(h *history) error { return read(h, "a", 1, false) }, nil, "nobody wrote"},
		{"read what was refused", func(h *history) error { write(h, refused, 1, "a"); return read(h, "a", 1, false) }, nil, "nobody wrote"},
		{"own write not read", func(h *history) error {
			write(h, acked, 1, "a")
			write(h, acked, 2, "a")
			return read(h, "a", 1, true)
		}, nil, "of its row a, possible are [2]"},
		{"settled and there", func(*history) error { return nil }, map[string]int64{"s": 9}, ""},
		{"settled and lost", func(*history) error { return nil }, map[string]int64{}, "lost: row s has version 0, possible are [9]"},
		{"settled and written over", func(h *history) error { write(h, acked, 10, "s"); return nil }, map[string]int64{"s": 10}, ""},
		{"settled, perhaps written over", func(h *history) error { write(h, unknown, 10, "s"); return nil }, map[string]int64{"s": 9}, ""},
	}
	for _, test := range tests {
		h := newHistory(nil)
		if strings.HasPrefix(test.name, "settled") {
			h.settled = map[string]int64{"s": 9}
		}
		err := test.tell(h)
		if err == nil {
			_, err = h.verify(test.present)
		}
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}
