package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/widecol"
)

// TestDividedAlike: an answer that is collected in parts has the same rows in the same order as one
// that is not, and the same statistics, however it is sent and whichever parts have none.
func TestDividedAlike(t *testing.T) {
	const parts = 12
	slotsOf, empties := []int{1, 2, 8}, []string{"", "0 1 2", "0 1 2 3 4 5 6 7 8 9 10 11", "0", "4 7 11"}
	if testing.Short() {
		slotsOf, empties = []int{1, 8}, empties[:3]
	}
	for _, encoding := range []string{"", "gzip", "zstd"} {
		for _, empty := range empties {
			if encoding != "" && empty != "" {
				continue
			}
			want := ""
			for _, slots := range slotsOf {
				c, store := dividing(t, slots, parts)
				store.again = 2
				store.onPart = func(part int, answer *fakeRows) {
					answer.rows, answer.large, answer.apart = 12*(1+part%3), 100_000, 30
					for name := range strings.FieldsSeq(empty) {
						if name == fmt.Sprint(part) {
							answer.rows = 0
						}
					}
				}
				if slots == 1 { // one query after another
					c.Server.store = undivided{store}
				}
				request := httptest.NewRequest("POST", "/v1/table/t/scan", strings.NewReader("{}"))
				request.Header.Set("Accept-Encoding", encoding)
				w := httptest.NewRecorder()
				c.ServeHTTP(w, request)
				body, err := inflated(w.Result())
				if err != nil {
					t.Fatal(err)
				}
				got, _, _ := bytes.Cut(body, []byte(`"micros"`))
				if want == "" {
					want = string(got)
				}
				if string(got) != want {
					t.Errorf("%q, without rows in parts %s, %d slots: the answers differ, %d and %d bytes", encoding, empty, slots, len(got), len(want))
				}
			}
			if rows := strings.Count(want, `"row_key"`); (rows > 400) == (len(empty) > 10) {
				t.Errorf("without rows in parts %s there are %d", empty, rows)
			}
		}
	}
}

// undivided is a store whose views do not say how to divide a query: they return its parts one after the other.
type undivided struct{ *fakeStore }

func (s undivided) View(ctx context.Context, table string) (widecol.View, error) {
	view, err := s.fakeStore.View(ctx, table)
	return undividedView{view.(*fakeView)}, err
}

type undividedView struct{ view *fakeView }

func (v undividedView) Close() { v.view.Close() }
func (v undividedView) Scan(ctx context.Context, q *widecol.Query) (widecol.Rows, error) {
	var rest []widecol.Query
	for _, part := range v.view.Divide(q, 0) {
		rest = append(rest, v.view.Divide(&part, 0)...)
	}
	return &undividedRows{ctx: ctx, view: v.view, rest: rest}, nil
}

type undividedRows struct {
	widecol.Rows
	ctx   context.Context
	view  *fakeView
	rest  []widecol.Query
	stats widecol.Stats
}

func (r *undividedRows) Next() bool {
	for {
		if r.Rows != nil {
			if r.Rows.Next() {
				return true
			}
			addStats(&r.stats, r.Rows.Stats())
			r.Rows.Close()
			r.Rows = nil
		}
		if len(r.rest) == 0 {
			return false
		}
		r.Rows, _ = r.view.Scan(r.ctx, &r.rest[0])
		r.rest = r.rest[1:]
	}
}

func (r *undividedRows) Err() error           { return nil }
func (r *undividedRows) Stats() widecol.Stats { return r.stats }
func (r *undividedRows) Close()               {}

// stalled is a client that takes one piece, and no more before hold is closed.
func stalled(hold chan struct{}) *hookedWriter {
	return &hookedWriter{ResponseRecorder: httptest.NewRecorder(), hook: func(n int) error {
		if n > 1 {
			<-hold
		}
		return nil
	}}
}

// TestPartsAhead: while a client takes nothing, each worker collects a part, but no more than may wait.
func TestPartsAhead(t *testing.T) {
	haveCores(t, 4)
	synctest.Test(t, func(t *testing.T) {
		c, store, _ := streaming(t, fakeRows{rows: -1})
		slots := c.admission.Limiter(admission.Scan).Free()
		store.parts = 50
		var chunks [50]atomic.Int64
		store.onPart = func(part int, answer *fakeRows) { answer.made = &chunks[part] }
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		hold, done := make(chan struct{}), make(chan bool, 1)
		w := stalled(hold)
		go func() { done <- c.scanTo(ctx, w) }()
		synctest.Wait()
		perPiece := w.chunks()
		for part := range chunks {
			most := int64(0)
			switch {
			case part == 0:
				most = partChunks + 3 // one taken, one under way, those that wait, one collected
			case part < 4:
				most = partChunks + 1
			}
			// Later pieces have fewer chunks, which are longer.
			if n := chunks[part].Load() / perPiece; n > most || n < most*9/10 {
				t.Errorf("of part %d %d pieces were collected, want %d", part, n, most)
			}
		}
		if free := c.admission.Limiter(admission.Scan).Free(); free != slots {
			t.Errorf("while all wait %d slots are free, want %d", free, slots)
		}
		cancel()
		close(hold)
		if broken := <-done; !broken {
			t.Error("the answer of an endless scan has ended")
		}
		if n := store.open.Load(); n != 0 {
			t.Errorf("%d views and answers are open", n)
		}
		c.settled()
	})
}

// TestPartsBegun: when parts are short, no more of them are begun than may wait for one that is not sent.
func TestPartsBegun(t *testing.T) {
	haveCores(t, 4)
	synctest.Test(t, func(t *testing.T) {
		c, store, _ := streaming(t, fakeRows{rows: 1})
		slots := c.admission.Limiter(admission.Scan).Free()
		store.parts = 50
		begun := make(chan int, 50)
		store.onPart = func(part int, answer *fakeRows) {
			if begun <- part; part == 0 {
				answer.rows = 3000
			}
		}
		hold, done := make(chan struct{}), make(chan bool, 1)
		w := stalled(hold)
		go func() { done <- c.scanTo(t.Context(), w) }()
		synctest.Wait()
		if n := len(begun); n != 1+4 {
			t.Errorf("%d parts were begun, want one for each core and that which is sent", n)
		}
		if free := c.admission.Limiter(admission.Scan).Free(); free != slots {
			t.Errorf("while all wait %d slots are free, want %d", free, slots)
		}
		close(hold)
		if <-done || len(begun) != 50 || bytes.Count(w.Body.Bytes(), []byte(`"row_key"`)) != 3049 {
			t.Errorf("not whole: %d parts were begun", len(begun))
		}
		c.settled()
	})
}

// TestPartOfScanFails: an error or a panic in any part fails the scan, stops the others, and nothing stays
// taken. It is the whole answer unless rows were sent, which may or may not be when another part fails.
func TestPartOfScanFails(t *testing.T) {
	for name, bad := range map[string]fakeRows{"error": {err: errors.New("late")}, "panic": {panic: true}} {
		for at := range 4 {
			for _, rows := range []int{0, 1000} {
				c, store := dividing(t, 4, 4)
				store.onPart = func(part int, answer *fakeRows) {
					switch {
					case part == at:
						answer.rows, answer.err, answer.panic = rows, bad.err, bad.panic
					case part > at: // until it is stopped
						answer.rows = -1
					default:
						answer.rows = 1
					}
				}
				w := httptest.NewRecorder()
				broken := c.scanTo(t.Context(), w)
				if broken && rows == 0 {
					t.Errorf("%s in part %d: broken off, though nothing was to be sent", name, at)
				}
				if !broken && (w.Code != 500 || !strings.Contains(w.Body.String(), `"code":"internal"`)) {
					t.Errorf("%s in part %d: got %d %s, want 500", name, at, w.Code, w.Body)
				}
			}
		}
	}
}

// TestCannotDivide: a view that fails to divide a part fails the scan like one that fails to read it.
func TestCannotDivide(t *testing.T) {
	c, store := dividing(t, 4, 4)
	store.onDivide = func(q *widecol.Query) {
		if startOf(q) == "part02" {
			panic("the store has a bug")
		}
	}
	if e := c.call("POST", "/v1/table/t/scan", "{}"); e.Status != 500 || e.Error.Code != "internal" {
		t.Errorf("got %d %+v, want 500", e.Status, e.Error)
	}
}

// TestDividedClientGoes: the workers of an answer end when it cannot be sent.
func TestDividedClientGoes(t *testing.T) {
	c, store := dividing(t, 4, 4)
	store.onPart = func(_ int, answer *fakeRows) { answer.rows = -1 }
	w := &hookedWriter{ResponseRecorder: httptest.NewRecorder(), hook: func(n int) error {
		if n == 20 {
			return errors.New("connection reset")
		}
		return nil
	}}
	if !c.scanTo(t.Context(), w) || w.writes != 20 {
		t.Errorf("not broken off, or only after %d pieces, want 20", w.writes)
	}
}

// TestWorkersMakeRoom: between two parts, a worker ends if other requests wait for a slot, except
// for the last worker.
func TestWorkersMakeRoom(t *testing.T) {
	store := newFakeStore()
	d := &parallelScan{
		view: &fakeView{store: store}, slots: make(chan struct{}, 3), order: make(chan *scanPart, 3),
		ctx: t.Context(), rest: make([]widecol.Query, 2), left: 2,
	}
	control := admission.New(admission.Limits{}, admission.Limiters{admission.Scan: limiter(1, clock.System)})
	w := &scanWorker{parallelScan: d}
	w.Slot = mustBegin(t, control, admission.Scan)
	ctx, cancel := context.WithCancel(t.Context())
	var other sync.WaitGroup
	other.Go(func() {
		r := admission.Request{Control: control}
		if _, err := r.Begin(ctx, admission.Scan); err == nil {
			t.Error("another request got the slot")
		}
	})
	defer other.Wait()
	defer cancel()
	eventually(t, "another request waits", func() bool { return control.Limiter(admission.Scan).Waiting() == 1 })
	for _, want := range []struct {
		took        bool
		slots, left int
	}{{false, 0, 1}, {true, 1, 1}, {true, 2, 1}, {false, 3, 1}} {
		took := w.wait() && w.take() != nil
		if took != want.took || len(d.slots) != want.slots || d.left != want.left {
			t.Errorf("took a part: %t, %d slots are taken, %d workers left, want %+v", took, len(d.slots), d.left, want)
		}
	}
}

// TestNoSecondSlot: a scan is not divided if only one slot is free.
func TestNoSecondSlot(t *testing.T) {
	c, store := dividing(t, 1, 4)
	store.onPart = func(int, *fakeRows) { t.Error("a part was begun") }
	if n := bytes.Count(c.must(200, "POST", "/v1/table/t/scan", "{}"), []byte(`"row_key"`)); n != 100 {
		t.Errorf("got %d rows, want 100", n)
	}
}

// TestFewAreDivided: of many scans at once, some are divided and all are answered.
func TestFewAreDivided(t *testing.T) {
	haveCores(t, 4)
	synctest.Test(t, func(t *testing.T) {
		c, store, _ := streaming(t, fakeRows{rows: 3000})
		store.parts = 3
		var divided atomic.Int64
		store.onPart = func(part int, answer *fakeRows) {
			if part == 0 {
				divided.Add(1)
			}
		}
		hold, done := make(chan struct{}), make(chan bool, 5)
		for range cap(done) {
			w := stalled(hold)
			go func() { done <- c.scanTo(t.Context(), w) }()
		}
		synctest.Wait()
		if n := divided.Load(); n != maxParallelScans {
			t.Errorf("%d scans are divided, want %d", n, maxParallelScans)
		}
		close(hold)
		for range cap(done) {
			if <-done {
				t.Error("an answer was broken off")
			}
		}
		c.settled()
	})
}
