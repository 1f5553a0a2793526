package kill9

import (
	"path/filepath"
	"strings"
	"testing"
)

// told writes a log and returns the history that it tells.
func told(t *testing.T, settled map[string]int64, write func(l *clientLog)) *history {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	l, err := createLog(path)
	if err != nil {
		t.Fatal(err)
	}
	write(l)
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	h, err := readLog(path, settled)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestLogTellsTheHistory(t *testing.T) {
	h := told(t, map[string]int64{"a": 1, "b": 1, "c": 1, "d": 1}, func(l *clientLog) {
		for _, a := range []*attempt{{version: 2, rows: []string{"a", "b"}}, {version: 3, rows: []string{"a"}}, {version: 4, deletes: true, rows: []string{"c"}}, {version: 5, rows: []string{"d"}}} {
			if err := l.begin(a); err != nil {
				t.Fatal(err)
			}
		}
		l.note("acked 2")
		l.note("refused 3")
		l.note("read 5 d")
	})
	for key, want := range map[string]string{
		"a": "version 1 was there at the start; write 2 of a b: acked; write 3 of a: refused",
		"b": "version 1 was there at the start; write 2 of a b: acked",
		"c": "version 1 was there at the start; delete 4 of c: unknown",
		"d": "version 1 was there at the start; write 5 of d: unknown, but it or a later one is known to be done",
	} {
		if got := h.row(key).String(); got != want {
			t.Errorf("row %s: %s, want %s", key, got, want)
		}
	}
}

// What is in the log counts, whether or not its writer has lived to see more.
func TestLogHasAttemptsBeforeTheyAreSent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := createLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if err := l.begin(&attempt{version: 7, rows: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	h, err := readLog(path, nil)
	if err != nil || !strings.Contains(h.row("a").String(), "write 7 of a: unknown") {
		t.Errorf("the log tells of %v, %v", h.row("a"), err)
	}
}

func TestMoment(t *testing.T) {
	a, b, c := rowKey(3, 0), rowKey(3, 1), rowKey(4, 0)
	h := told(t, map[string]int64{b: 1}, func(l *clientLog) {
		for _, a := range []*attempt{{version: 2, rows: []string{a, b}}, {version: 3, rows: []string{a}}, {version: 4, deletes: true, rows: []string{b}}, {version: 5, rows: []string{c}}} {
			if err := l.begin(a); err != nil {
				t.Fatal(err)
			}
		}
		l.note("acked 2")
		l.note("acked 3")
	})
	first := &census{3: 1}
	tests := []struct {
		name    string
		since   *census
		present map[string]int64
		ok      bool
	}{
		{"at first", new(census), map[string]int64{b: 1}, true},
		{"too early", first, map[string]int64{b: 1}, false},
		{"after the first", first, map[string]int64{a: 2, b: 2}, true},
		{"the first in part", new(census), map[string]int64{a: 2, b: 1}, false},
		{"after the second, and the other client's", first, map[string]int64{a: 3, b: 2, c: 5}, true},
		{"the second without the first", new(census), map[string]int64{a: 3, b: 1}, false},
		{"after the last", first, map[string]int64{a: 3}, true},
		{"the delete without what was before", first, map[string]int64{a: 2}, false},
		{"too early for all that is done", h.census(), map[string]int64{a: 2, b: 2}, false},
	}
	for _, test := range tests {
		if err := h.moment(test.present, test.since); (err == nil) != test.ok {
			t.Errorf("%s: error %v, want none: %v", test.name, err, test.ok)
		}
	}
}
