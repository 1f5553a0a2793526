package client

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

// TestChangesAreAppliedOnce: an increment whose request or answer is lost, in whatever way, is sent again
// under its key, and counts once.
func TestChangesAreAppliedOnce(t *testing.T) {
	tests := []struct {
		name   string
		steps  []step
		pauses []time.Duration
	}{
		{"no failure", nil, nil},
		{"answer lost", []step{loseAnswer}, []time.Duration{100 * ms}},
		{"request lost", []step{loseRequest}, []time.Duration{100 * ms}},
		{"answer cut", []step{cut(20)}, []time.Duration{100 * ms}},
		{"504, applied", []step{applyAndSay(504, "outcome_unknown")}, []time.Duration{100 * ms}},
		{"504, not applied", []step{say(504, "outcome_unknown", "")}, []time.Duration{100 * ms}},
		{"502 of a proxy", []step{applyAndSay(502, "")}, []time.Duration{100 * ms}},
		{"503 of a proxy", []step{applyAndSay(503, "")}, []time.Duration{100 * ms}},
		{"overloaded", []step{say(503, "overloaded", "3"), say(503, "overloaded", "0"), say(503, "overloaded", "")}, []time.Duration{3 * time.Second, 200 * ms, 400 * ms}},
		{"key in use", []step{loseAnswer, say(409, "idempotency_key_in_use", "1")}, []time.Duration{100 * ms, time.Second}},
		{"everything", []step{loseRequest, say(503, "overloaded", "1"), applyAndSay(504, "outcome_unknown"), loseAnswer, say(429, "", "")},
			[]time.Duration{100 * ms, time.Second, 400 * ms, 800 * ms, 1600 * ms}},
	}
	for _, test := range tests {
		table, s, pauses := scripted(t, Options{})
		s.play(test.steps...)
		row, err := table.ReadModifyWrite(t.Context(), "r", Increment("title", "n", 1))
		if err != nil || len(row.Cells) != 1 || row.Cells[0].Value != I64(1) {
			t.Errorf("%s: got %+v, %v", test.name, row, err)
		}
		if !slices.Equal(*pauses, test.pauses) {
			t.Errorf("%s: pauses %v, want %v", test.name, *pauses, test.pauses)
		}
		requests := s.requests()
		for _, r := range requests {
			if r != requests[0] || r.key == "" {
				t.Errorf("%s: sent %+v, then %+v", test.name, requests[0], r)
			}
		}
		again, err := table.ReadRow(t.Context(), "r")
		if err != nil || !sameRow(again, row) {
			t.Errorf("%s: the row is %+v, %v", test.name, again, err)
		}
	}
}

// TestEveryChangeHasItsKey: each method that changes cells sends a random UUID of its own, and no other does.
func TestEveryChangeHasItsKey(t *testing.T) {
	table, s, _ := scripted(t, Options{})
	ctx := t.Context()
	cell := Cell{Family: "title", Value: I64(1)}
	rows := RowMutations{"r", []Mutation{Set(cell)}}
	table.Write(ctx, Row{"r", []Cell{cell}})
	table.Mutate(ctx, rows)
	table.MutateRows(ctx, rows)
	table.CheckAndMutate(ctx, "r", Check{Then: []Mutation{Set(cell)}})
	table.ReadModifyWrite(ctx, "r", Increment("title", "", 1))
	table.Delete(ctx, Deletion{Rows: Key("r")})
	table.DeleteRow(ctx, "r")
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := make(map[string]bool)
	for _, r := range s.requests() {
		if !uuid.MatchString(r.key) || seen[r.key] {
			t.Errorf("%s has key %q", r.path, r.key)
		}
		seen[r.key] = true
	}
	if len(seen) != 7 {
		t.Errorf("%d keys of 7 changes", len(seen))
	}
	s.play()
	all(t, table, Query{})
	table.Count(ctx, Query{})
	table.ReadRow(ctx, "r")
	table.CountDeletion(ctx, Deletion{All: true})
	table.SetGC(ctx, "title", GC{})
	table.Drop(ctx)
	for _, r := range s.requests() {
		if r.key != "" {
			t.Errorf("%s %s has a key", r.method, r.path)
		}
	}
}

// TestReadsAreRepeated: reads have no outcome, so everything that may pass is tried again.
func TestReadsAreRepeated(t *testing.T) {
	table, s, _ := scripted(t, Options{})
	want := Row{"r", []Cell{{Family: "title", Qualifier: "", Value: I64(1), Time: At(7)}}}
	if err := table.Write(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	reads := map[string]func() bool{
		"scan":   func() bool { return sameRows(all(t, table, Query{}), []Row{want}) },
		"no row": func() bool { return len(all(t, table, Query{Rows: Key("x")})) == 0 },
		"row":    func() bool { row, err := table.ReadRow(t.Context(), "r"); return err == nil && sameRow(row, want) },
		"count":  func() bool { n, err := table.Count(t.Context(), Query{}); return err == nil && n.Cells == 1 },
		"do":     func() bool { return table.c.Do(t.Context(), "GET", "/v1/table/web/row?key=r", nil, nil) == nil },
		"tables": func() bool { list, err := table.c.Tables(t.Context()); return err == nil && len(list) == 1 },
	}
	for name, read := range reads {
		s.play(loseRequest, loseAnswer, say(503, "overloaded", ""), say(504, "", ""), cut(10))
		if !read() {
			t.Errorf("%s: a wrong answer", name)
		}
		if n := len(s.requests()); n != 6 {
			t.Errorf("%s: %d requests, want 6", name, n)
		}
	}
}

// TestWhatIsNotRepeated: failures that do not pass end at once.
func TestWhatIsNotRepeated(t *testing.T) {
	for _, step := range []step{say(503, "read_only", ""), say(507, "disk_full", ""), say(500, "corruption", ""), say(400, "invalid_json", ""), say(409, "overflow", ""), say(503, "overloaded", "61")} {
		table, s, pauses := scripted(t, Options{})
		s.play(step)
		err := table.Write(t.Context(), Row{"r", []Cell{{Family: "title", Value: I64(1)}}})
		if err == nil || len(s.requests()) != 1 || len(*pauses) != 0 || errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("%v after %d requests", err, len(s.requests()))
		}
	}
}

// TestSchemaChangesAreNotRepeatedBlindly: only an answer that says that nothing has happened is followed by
// another attempt.
func TestSchemaChangesAreNotRepeatedBlindly(t *testing.T) {
	ctx := t.Context()
	changes := map[string]func(*Table) error{
		"create":   func(table *Table) error { return table.c.Table("new").Create(ctx, TableSpec{}) },
		"families": func(table *Table) error { return table.CreateFamilies(ctx, Family{Name: "new"}) },
		"set GC":   func(table *Table) error { return table.SetGC(ctx, "title", GC{VersionLimit: 1}) },
		"drop":     func(table *Table) error { return table.DropFamily(ctx, "title") },
	}
	for name, change := range changes {
		for _, step := range []step{loseAnswer, loseRequest, cut(5), applyAndSay(504, "outcome_unknown"), say(502, "", ""), say(503, "", "")} {
			table, s, _ := scripted(t, Options{})
			s.play(step)
			if err := change(table); !errors.Is(err, ErrOutcomeUnknown) || len(s.requests()) != 1 {
				t.Errorf("%s: %v after %d requests", name, err, len(s.requests()))
			}
		}
		table, s, pauses := scripted(t, Options{})
		s.play(say(503, "overloaded", "2"), say(503, "slow_disk", ""))
		if err := change(table); err != nil || len(s.requests()) != 3 || (*pauses)[0] != 2*time.Second {
			t.Errorf("%s: %v after %d requests and %v", name, err, len(s.requests()), *pauses)
		}
	}
}

// TestGivingUp: the last failure is returned, and says whether the change may be applied.
func TestGivingUp(t *testing.T) {
	no := say(503, "overloaded", "")
	tests := []struct {
		name    string
		steps   []step
		unknown bool
		passing bool
	}{
		{"refused", []step{no, no, no}, false, true},
		{"lost, then refused", []step{loseRequest, no, no}, true, true},
		{"refused, then lost", []step{no, no, loseAnswer}, true, true},
		{"504 at last", []step{no, no, say(504, "outcome_unknown", "")}, true, true},
		{"lost, then wrong", []step{loseRequest, say(400, "invalid_json", "")}, false, false},
		{"lost, then read-only", []step{loseAnswer, say(503, "read_only", "")}, true, false},
		{"lost, then no space", []step{loseAnswer, say(507, "disk_full", "")}, true, false},
	}
	for _, test := range tests {
		var told []error
		table, s, _ := scripted(t, Options{Attempts: 3, OnRetry: func(err error, _ time.Duration) { told = append(told, err) }})
		s.play(test.steps...)
		err := table.Write(t.Context(), Row{"r", []Cell{{Family: "title", Value: I64(1)}}})
		if err == nil || len(s.requests()) != len(test.steps) || len(told) != len(test.steps)-1 {
			t.Errorf("%s: %v after %d requests, told of %v", test.name, err, len(s.requests()), told)
		}
		if errors.Is(err, ErrOutcomeUnknown) != test.unknown || errors.Is(err, ErrUnavailable) != test.passing {
			t.Errorf("%s: unknown %t, unavailable %t: %v", test.name, errors.Is(err, ErrOutcomeUnknown), errors.Is(err, ErrUnavailable), err)
		}
	}
}

// TestOwnKey: who has the key can settle an unknown outcome later.
func TestOwnKey(t *testing.T) {
	table, s, _ := scripted(t, Options{Attempts: 1})
	ctx := WithIdempotencyKey(t.Context(), "job-7")
	s.play(loseAnswer)
	if _, err := table.ReadModifyWrite(ctx, "r", Increment("title", "", 1)); !errors.Is(err, ErrOutcomeUnknown) {
		t.Fatalf("got %v", err)
	}
	row, err := table.ReadModifyWrite(ctx, "r", Increment("title", "", 1))
	if err != nil || row.Cells[0].Value != I64(1) {
		t.Errorf("got %+v, %v", row, err)
	}
	if _, err := table.ReadModifyWrite(ctx, "other", Increment("title", "", 1)); !errors.Is(err, ErrInvalid) {
		t.Errorf("another change under the key: %v", err)
	}
	body := `{"row_key":"r","rules":[{"column_key":"title:","increment":1}]}`
	s.play(loseAnswer)
	table.c.opt.Attempts = 2
	if err := table.c.Do(WithIdempotencyKey(t.Context(), "job-8"), "POST", "/v1/table/web/read-modify-write", []byte(body), nil); err != nil || s.requests()[1].key != "job-8" {
		t.Errorf("%v: sent %+v", err, s.requests())
	}
	s.play(loseAnswer)
	if err := table.c.Do(t.Context(), "POST", "/v1/table/web/read-modify-write", []byte(body), nil); !errors.Is(err, ErrOutcomeUnknown) || len(s.requests()) != 1 {
		t.Errorf("without a key: %v after %d requests", err, len(s.requests()))
	}
}

// TestContextBoundsRetries: no attempt follows the end of the context, nor a pause that would outlast it.
func TestContextBoundsRetries(t *testing.T) {
	write := func(ctx context.Context, table *Table) error {
		return table.Write(ctx, Row{"r", []Cell{{Family: "title", Value: I64(1)}}})
	}
	table, s, pauses := scripted(t, Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s.play(say(503, "overloaded", "50"))
	if err := write(ctx, table); !errors.Is(err, ErrUnavailable) || len(*pauses) != 0 || len(s.requests()) != 1 {
		t.Errorf("%v after %d requests", err, len(s.requests()))
	}

	table, s, _ = scripted(t, Options{})
	ctx, cancel = context.WithCancel(t.Context())
	table.c.sleep = func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }
	s.play(say(503, "overloaded", ""))
	if err := write(ctx, table); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrOutcomeUnknown) || len(s.requests()) != 1 {
		t.Errorf("ended in a pause: %v after %d requests", err, len(s.requests()))
	}
	if err := write(ctx, table); !errors.Is(err, context.Canceled) || errors.Is(err, ErrOutcomeUnknown) || len(s.requests()) != 1 {
		t.Errorf("ended before: %v after %d requests", err, len(s.requests()))
	}

	table, s, _ = scripted(t, Options{})
	ctx, cancel = context.WithCancel(t.Context())
	s.play(func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
		apply(r, next)
		cancel()
		<-r.Context().Done()
	})
	if err := write(ctx, table); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrOutcomeUnknown) || errors.Is(err, ErrUnavailable) || len(s.requests()) != 1 {
		t.Errorf("ended on the way: %v after %d requests", err, len(s.requests()))
	}
}

// TestUnreachable: where no connection was made, nothing has happened.
func TestUnreachable(t *testing.T) {
	table, _, _ := scripted(t, Options{})
	c, err := New("http://127.0.0.1:1", Options{Attempts: 2})
	if err != nil {
		t.Fatal(err)
	}
	c.sleep = table.c.sleep
	for _, err := range []error{c.Table("t").Create(t.Context(), TableSpec{}), c.Table("t").Write(t.Context(), Row{Key: "r"})} {
		if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrOutcomeUnknown) || !strings.Contains(err.Error(), "attempt 2") {
			t.Errorf("got %v", err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{"": 0, "0": 0, "7": 7 * time.Second, "-1": 0, "x": 0, "99999999999": (1 << 30) * time.Second, "Sun, 06 Nov 1994 08:49:37 GMT": 0} {
		if got := retryAfter(header); got != want {
			t.Errorf("%q: got %v, want %v", header, got, want)
		}
	}
	soon := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	if got := retryAfter(soon); got < 50*time.Minute || got > time.Hour {
		t.Errorf("%q: got %v", soon, got)
	}
}
