package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"colonnade/clock"
)

// waiting returns how many stand in the queue.
func (g *gate) waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.queue.Len()
}

// enters lets n take a turn, one after the other, and returns where their
// outcomes arrive: who, or -who when the turn did not come.
func enters(t *testing.T, ctx context.Context, g *gate, n int) <-chan int {
	outcomes := make(chan int, n)
	for who := 1; who <= n; who++ {
		go func() {
			if !g.enter(ctx, time.Second) {
				who = -who
			}
			outcomes <- who
		}()
		eventually(t, "it waits", func() bool { return g.waiting() == who })
	}
	return outcomes
}

// TestGate: turns are given out in the order of asking.
func TestGate(t *testing.T) {
	g := newGate(2, clock.NewManual(0))
	for range 2 {
		if !g.enter(t.Context(), 0) {
			t.Fatal("got no turn though two are free")
		}
	}
	outcomes := enters(t, t.Context(), g, 5)
	for want := 1; want <= 5; want++ {
		g.leave()
		if got := <-outcomes; got != want {
			t.Errorf("got the turn of %d, want that of %d", got, want)
		}
	}
	for range 2 {
		g.leave()
	}
	if g.free != 2 || g.waiting() != 0 {
		t.Errorf("got %d turns free and %d waiting at the end, want 2 and 0", g.free, g.waiting())
	}
}

// TestGateRefuses: nobody waits longer than it has patience, or when the queue is
// full, or its request has ended.
func TestGateRefuses(t *testing.T) {
	manual := clock.NewManual(0)
	g := newGate(1, manual)
	g.enter(t.Context(), 0)
	outcomes := enters(t, t.Context(), g, 1)
	eventually(t, "it has waited long enough", func() bool { manual.Advance(10 * time.Millisecond); return g.waiting() == 0 })
	if got, waited := <-outcomes, manual.Now(); got != -1 || waited < time.Second.Microseconds() {
		t.Errorf("got %d after %d microseconds, want it refused after a second", got, waited)
	}
	ctx, cancel := context.WithCancel(t.Context())
	outcomes = enters(t, ctx, g, 1)
	cancel()
	if got := <-outcomes; got != -1 {
		t.Errorf("got %d after its request has ended, want it refused", got)
	}
	for range maxQueue {
		g.queue.PushBack(make(chan struct{}))
	}
	if g.enter(t.Context(), time.Hour) {
		t.Error("got a turn behind a full queue")
	}
	g.queue.Init()
	g.leave()
	if !g.enter(t.Context(), 0) {
		t.Error("got no turn after all of that")
	}
}

// TestSlowGate: once somebody has waited in vain, the queue is short, and who finds it
// full is refused at once; a moment later it is long again.
func TestSlowGate(t *testing.T) {
	manual := clock.NewManual(0)
	g := newGate(3, manual) // of which two may wait while it is slow
	for range 3 {
		g.enter(t.Context(), 0)
	}
	outcomes := enters(t, t.Context(), g, 5)
	manual.Advance(time.Second)
	for range 5 {
		if got := <-outcomes; got > 0 {
			t.Fatalf("got the turn of %d, want all refused", got)
		}
	}
	outcomes = enters(t, t.Context(), g, 2)
	third := make(chan bool, 1)
	go func() { third <- g.enter(t.Context(), time.Hour) }()
	eventually(t, "a third at the slow gate is refused", func() bool { return len(third) == 1 })
	if <-third {
		t.Error("got a turn behind two who wait at a slow gate")
	}
	for range 2 {
		g.leave()
		if got := <-outcomes; got < 0 {
			t.Errorf("%d was refused, want it to wait for its turn", -got)
		}
	}
	manual.Advance(slowFor)
	outcomes = enters(t, t.Context(), g, 4)
	for want := 1; want <= 4; want++ {
		g.leave()
		if got := <-outcomes; got != want {
			t.Errorf("got %d a moment later, want the turn of %d", got, want)
		}
	}
}

// TestOverloadOfWrites: a write that gets no turn is refused in a moment, before
// it is parsed, and its connection goes on.
func TestOverloadOfWrites(t *testing.T) {
	manual := clock.NewManual(0)
	c, _, release := held(t)
	c.gates.write = newGate(1, manual) // the one that is held took its turn elsewhere
	c.gates.write.enter(t.Context(), 0)
	address := listen(t, c.Server)
	w := dial(t, address)
	const body = `{"this": is not even JSON`
	for range 20 {
		w.send(fmt.Sprintf("POST /v1/table/t/write HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
		eventually(t, "the write waits", func() bool { return c.gates.write.waiting() == 1 })
		eventually(t, "the write is refused", func() bool { manual.Advance(shortWait); return c.gates.write.waiting() == 0 })
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
	c.gates.write.leave()
	w.send(fmt.Sprintf("POST /v1/table/t/write HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	if r, text := w.answer(); r.StatusCode != 400 {
		t.Errorf("got %d %s with a turn free, want it parsed", r.StatusCode, text)
	}
}

// TestRetryAfterIsSpread: who was refused together does not come back together.
func TestRetryAfterIsSpread(t *testing.T) {
	c := clientOf(t, newFakeStore(), Options{Seed: 7})
	again := clientOf(t, newFakeStore(), Options{Seed: 7})
	seen := map[int]bool{}
	for range 100 {
		s := c.retryAfter()
		if s != again.retryAfter() {
			t.Fatal("the same seed gives other times")
		}
		seen[s] = true
	}
	if len(seen) != 5 || seen[0] || seen[6] {
		t.Errorf("got the times %v, want 1 to 5", seen)
	}
}

// TestTurnWhileSending: a reader that does not read keeps no turn.
func TestTurnWhileSending(t *testing.T) {
	c, store, _ := streaming(t, fakeRows{rows: -1})
	c.gates.scan = newGate(1, clock.NewManual(0))
	w := dial(t, listen(t, c.Server))
	w.send(scanRequest) // and reads nothing
	eventually(t, "the scan waits for its reader", func() bool {
		c.gates.scan.mu.Lock()
		defer c.gates.scan.mu.Unlock()
		return store.open.Load() == 2 && c.gates.scan.free == 1
	})
	store.onScan = func(context.Context) *fakeRows { return &fakeRows{rows: 10} }
	for range 100 {
		c.must(200, "POST", "/v1/table/t/scan", "{}")
	}
	_ = w.Conn.Close()
	store.waitClosed(t)
}

// TestLongWorkLetsOthersIn: so does work of any length that sends nothing.
func TestLongWorkLetsOthersIn(t *testing.T) {
	c, store, _ := streaming(t, fakeRows{rows: -1})
	c.gates.scan = newGate(1, clock.NewManual(0))
	address := listen(t, c.Server)
	w := dial(t, address)
	w.send(countHead + "Content-Length: 2\r\n\r\n{}")
	eventually(t, "the endless count has begun", func() bool { return store.open.Load() == 2 })
	store.onScan = func(context.Context) *fakeRows { return &fakeRows{rows: 10_000} }
	for _, endpoint := range []string{"count", "scan"} {
		c.must(200, "POST", "/v1/table/t/"+endpoint, "{}")
	}
	_ = w.Conn.Close()
	eventually(t, "the endless count ends with its client", func() bool { return store.open.Load() == 0 })
}

// TestOpenScans: one scan too many is refused at once, and there is room again
// when one has ended.
func TestOpenScans(t *testing.T) {
	c, store, _ := streaming(t, fakeRows{rows: -1})
	c.gates.scans.take(maxScans - 1)
	w := dial(t, listen(t, c.Server))
	w.send(scanRequest)
	eventually(t, "the scan is open", func() bool { return store.open.Load() == 2 })
	e := c.call("POST", "/v1/table/t/scan", "{}")
	if e.Status != 503 || e.Error.Code != "overloaded" {
		t.Errorf("got %d %+v, want it refused", e.Status, e.Error)
	}
	_ = w.Conn.Close()
	eventually(t, "the scan has ended", func() bool { return c.gates.scans.left() == 1 })
}

// TestNoTurnIsLost: however requests end, their turns come back (H15).
func TestNoTurnIsLost(t *testing.T) {
	c, store, _ := streaming(t, fakeRows{rows: 3000, err: errors.New("late"), panic: true})
	address := listen(t, c.Server)
	c.gates.write, c.gates.read, c.gates.scan = newGate(1, clock.NewManual(0)), newGate(1, clock.NewManual(0)), newGate(1, clock.NewManual(0))
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
	eventually(t, "all turns are back", func() bool {
		for _, g := range []*gate{c.gates.write, c.gates.read, c.gates.scan} {
			g.mu.Lock()
			free := g.free
			g.mu.Unlock()
			if free != 1 {
				return false
			}
		}
		return c.gates.scans.left() == maxScans
	})
}
