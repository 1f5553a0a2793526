package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/clock"
)

// TestOverloadOfWrites: a write that gets no slot is refused before it is parsed, and its
// connection goes on.
func TestOverloadOfWrites(t *testing.T) {
	manual := clock.NewManual(0)
	c, _, release := held(t)
	l := limiter(1, manual) // the write that is held has a slot of the one before
	c.limit(admission.Write, l)
	slot := mustBegin(t, c.admission, admission.Write)
	address := listen(t, c.Server)
	w := dial(t, address)
	const body = `{"this": is not even JSON`
	for range 20 {
		w.send(fmt.Sprintf("POST /v1/table/t/write HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
		eventually(t, "the write waits", func() bool { return l.Waiting() == 1 })
		eventually(t, "the write is refused", func() bool { manual.Advance(100 * time.Millisecond); return l.Waiting() == 0 })
		r, text := w.answer()
		after, err := strconv.Atoi(r.Header.Get("Retry-After"))
		if r.StatusCode != 503 || !strings.Contains(text, `"code":"overloaded"`) || err != nil || after < 1 || after > 5 || r.Close {
			t.Fatalf("got %d %v, close %v, %s", r.StatusCode, r.Header, r.Close, text)
		}
	}
	if got := c.send("POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"org.a"}}]}`).Code; got != 200 {
		t.Errorf("a read meanwhile: got %d, want 200", got)
	}
	if got := c.send("GET", "/healthz", "").Code; got != 200 {
		t.Errorf("healthz meanwhile: got %d, want 200", got)
	}
	close(release)
	slot.Release()
	w.send(fmt.Sprintf("POST /v1/table/t/write HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	if r, text := w.answer(); r.StatusCode != 400 {
		t.Errorf("got %d %s with a slot free, want it parsed", r.StatusCode, text)
	}
}

// TestRetryAfter: it is in proportion to the wait, from 1 to 5 seconds, and clients that were
// refused together do not come back together.
func TestRetryAfter(t *testing.T) {
	c := clientOf(t, newFakeStore(), Options{Seed: 7})
	again := clientOf(t, newFakeStore(), Options{Seed: 7})
	for after, want := range map[time.Duration][]int{
		0:                {1, 2, 3, 4, 5},
		time.Millisecond: {1, 2},
		time.Second:      {1, 2},
		time.Second + 1:  {2, 3, 4},
		3 * time.Second:  {3, 4, 5},
		4 * time.Second:  {4, 5},
		time.Hour:        {5},
	} {
		seen := map[int]bool{}
		for range 100 {
			seen[c.retryAfter(after)] = true
		}
		if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
			t.Errorf("after %v: got the times %v, want %v", after, got, want)
		}
	}
	c = clientOf(t, newFakeStore(), Options{Seed: 7})
	for range 100 {
		if c.retryAfter(0) != again.retryAfter(0) {
			t.Fatal("the same seed gives other times")
		}
	}
}

// mustBegin returns the slot of a request.
func mustBegin(t *testing.T, control *admission.Control, class admission.Class) admission.Slot {
	t.Helper()
	r := admission.Request{Control: control}
	slot, err := r.Begin(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	return slot
}

// TestNoSlotWhileSending: a reader that does not read keeps no slot.
func TestNoSlotWhileSending(t *testing.T) {
	c, store, _ := streaming(t, fakeRows{rows: -1})
	c.limit(admission.Scan, limiter(1, clock.NewManual(0)))
	w := dial(t, listen(t, c.Server))
	w.send(scanRequest) // and reads nothing
	eventually(t, "the scan waits for its reader", func() bool {
		return store.open.Load() == 2 && c.admission.Limiter(admission.Scan).Free() == 1
	})
	store.onScan = func(context.Context) *fakeRows { return &fakeRows{rows: 10} }
	for range 100 {
		c.must(200, "POST", "/v1/table/t/scan", "{}")
	}
	_ = w.Conn.Close()
	store.waitClosed(t)
}

// TestLongWorkLetsOthersIn: so does work of any length that sends nothing, whether it finds something or not.
func TestLongWorkLetsOthersIn(t *testing.T) {
	rows := 10_000
	if testing.Short() {
		rows = 2_000
	}
	for _, e := range []struct {
		request string
		empty   bool
	}{{countHead + "Content-Length: 2\r\n\r\n{}", false}, {countHead + "Content-Length: 2\r\n\r\n{}", true}, {scanRequest, true}} {
		c, store, _ := streaming(t, fakeRows{rows: -1, empty: e.empty})
		c.limit(admission.Scan, limiter(1, clock.NewManual(0)))
		address := listen(t, c.Server)
		w := dial(t, address)
		w.send(e.request)
		eventually(t, "the endless query has begun", func() bool { return store.open.Load() == 2 })
		store.onScan = func(context.Context) *fakeRows { return &fakeRows{rows: rows} }
		for _, endpoint := range []string{"count", "scan"} {
			c.must(200, "POST", "/v1/table/t/"+endpoint, "{}")
		}
		_ = w.Conn.Close()
		eventually(t, "the endless query ends with its client", func() bool { return store.open.Load() == 0 })
	}
}

// TestOpenScans: one scan too many is refused at once, and there is room again
// when one has ended.
func TestOpenScans(t *testing.T) {
	c, store, _ := streaming(t, fakeRows{rows: -1})
	c.admission.Scans().Take(c.opt.Limits.Scans - 1)
	w := dial(t, listen(t, c.Server))
	w.send(scanRequest)
	eventually(t, "the scan is open", func() bool { return store.open.Load() == 2 })
	e := c.call("POST", "/v1/table/t/scan", "{}")
	if e.Status != 503 || e.Error.Code != "overloaded" {
		t.Errorf("got %d %+v, want it refused", e.Status, e.Error)
	}
	_ = w.Conn.Close()
	eventually(t, "the scan has ended", func() bool { return c.admission.Scans().Free() == 1 })
}

// TestNoSlotIsLost: however requests end, their slots come back (H15).
func TestNoSlotIsLost(t *testing.T) {
	c, store, _ := streaming(t, fakeRows{rows: 3000, err: errors.New("late"), panic: true})
	address := listen(t, c.Server)
	classes := []admission.Class{admission.Write, admission.Read, admission.Scan}
	for _, class := range classes {
		c.limit(class, limiter(1, clock.NewManual(0)))
	}
	store.onWrite = func(context.Context) error { panic("the store has a bug") }
	for range 10 {
		if e := c.call("POST", "/v1/table/t/write", cellOf("i64", "1")); e.Status != 500 {
			t.Fatalf("a write: got %d, want 500", e.Status)
		}
		r, err := http.Post("http://"+address+"/v1/table/t/scan", "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(r.Body); err == nil {
			t.Error("a scan: got a whole answer, want it broken off")
		}
		_ = r.Body.Close()
		c.call("POST", "/v1/table/t/write", "{") // refused
		c.call("GET", "/v1/table/nope", "")
	}
	eventually(t, "all slots are back", func() bool {
		for _, class := range classes {
			if c.admission.Limiter(class).Free() != 1 {
				return false
			}
		}
		return c.admission.Scans().Free() == c.opt.Limits.Scans
	})
}
