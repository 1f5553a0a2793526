package http1

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
)

// TestDeadline: it is never early, a sixteenth late at most, and not set more often than
// that makes necessary.
func TestDeadline(t *testing.T) {
	var set []time.Time
	l := deadline{set: func(at time.Time) error { set = append(set, at); return nil }}
	now := time.Unix(1000, 0)
	const d = 16 * time.Second
	for step := range 64 { // of a quarter of a second, so d/slack is four
		l.after(now, d)
		if late := l.at.Sub(now) - d; late < 0 || late > d/slack {
			t.Fatalf("step %d: late by %v", step, late)
		}
		now = now.Add(time.Second / 4)
	}
	if want := (64 + 4) / 5; len(set) != want {
		t.Errorf("set %d times, want %d", len(set), want)
	}
	if last := set[len(set)-1]; last != l.at {
		t.Errorf("the last was %v, but is taken to be %v", last, l.at)
	}

	for _, other := range []time.Duration{time.Second, time.Hour, d} { // shorter, longer, shorter again
		if n := len(set); l.after(now, other) != nil || len(set) != n+1 {
			t.Errorf("%v: another deadline was not set", other)
		}
	}
	for _, at := range []time.Time{{}, time.Unix(1, 0)} {
		l.exactly(at)
		if set[len(set)-1] != at {
			t.Errorf("set %v, want %v", set[len(set)-1], at)
		}
		if n := len(set); l.after(now, d) != nil || len(set) != n+1 {
			t.Errorf("after %v: no deadline was set", at)
		}
	}
}

// TestDeadlineFails: whoever sets one is told, each time.
func TestDeadlineFails(t *testing.T) {
	failure := errors.New("no such connection")
	l := deadline{set: func(time.Time) error { return failure }}
	for range 2 {
		if err := l.after(time.Unix(1000, 0), time.Second); err != failure {
			t.Errorf("got %v", err)
		}
	}
}

// TestDeadlineFarAway: as good as none is not in the past.
func TestDeadlineFarAway(t *testing.T) {
	var l deadline
	l.set = func(time.Time) error { return nil }
	now := time.Now()
	if l.after(now, math.MaxInt64); l.at.Sub(now) < math.MaxInt64 {
		t.Errorf("set to %v", l.at)
	}
}

// TestWithTimeout: requests of a connection share a context for as long as it serves.
func TestWithTimeout(t *testing.T) {
	var seen []context.Context
	s := newServer(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := WithTimeout(r, time.Hour)
		defer cancel()
		seen = append(seen, ctx)
		if ctx.Err() != nil {
			t.Errorf("request %d: the context has ended: %v", len(seen), ctx.Err())
		}
	})
	var ahead atomic.Int64 // of the machine's time
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	s.Now = now
	address := start(t, s)
	c := dial(t, address)
	ask := func() context.Context {
		t.Helper()
		c.send(get)
		c.answer("GET")
		return seen[len(seen)-1]
	}
	first := ask()
	at, _ := first.Deadline()
	if late := at.Sub(now()) - time.Hour; late <= 0 || late > time.Hour/slack {
		t.Errorf("the context ends late by %v", late)
	}
	ahead.Store(int64(time.Minute))
	if ask() != first {
		t.Error("a minute later: another context")
	}
	ahead.Store(int64(5 * time.Minute))
	if ask() == first || first.Err() == nil {
		t.Error("after more than a sixteenth of its time: the same context, or the first has not ended")
	}
	other := dial(t, address)
	other.send(get)
	other.answer("GET")
	if seen[len(seen)-1] == seen[len(seen)-2] {
		t.Error("another connection: the same context")
	}
}

// TestTimeoutEnds with its time, and with the connection.
func TestTimeoutEnds(t *testing.T) {
	ended, waits := make(chan error, 1), make(chan time.Duration, 1)
	address := start(t, newServer(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := WithTimeout(r, <-waits)
		defer cancel()
		<-ctx.Done()
		ended <- ctx.Err()
	}))
	c := dial(t, address)
	for range 2 { // the second cannot have the context of the first
		waits <- time.Millisecond
		c.send(get)
		if err := <-ended; err != context.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
		c.answer("GET")
	}
	waits <- patience
	c.send(get)
	c.Close()
	if err := <-ended; err != context.Canceled {
		t.Errorf("the client has gone: got %v", err)
	}
}

// TestTimeoutElsewhere: a handler need not know who serves it, or what is around it.
func TestTimeoutElsewhere(t *testing.T) {
	check := func(r *http.Request) {
		ctx, cancel := WithTimeout(r, time.Hour)
		if _, ok := ctx.Deadline(); !ok || ctx.Err() != nil {
			t.Errorf("no deadline, or an error: %v", ctx.Err())
		}
		cancel()
		if ctx.Err() != context.Canceled {
			t.Errorf("canceled: got %v", ctx.Err())
		}
	}
	check(httptest.NewRequest("GET", "/", nil))
	around := newServer(func(_ http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		r = r.WithContext(ctx)
		check(r)
		timed, _ := WithTimeout(r, time.Hour)
		cancel()
		if timed.Err() != context.Canceled {
			t.Errorf("the context around it has ended: got %v", timed.Err())
		}
	})
	c := dial(t, start(t, around))
	c.send(get)
	c.answer("GET")
}

// TestDate is made once a second.
func TestDate(t *testing.T) {
	var c conn
	now := time.Date(2026, 11, 23, 19, 5, 6, 998_000_000, time.FixedZone("", 3600))
	if got := string(c.date(now)); got != "Mon, 23 Nov 2026 18:05:06 GMT" {
		t.Errorf("got %q", got)
	}
	c.dated[0] = 'X'
	if got := string(c.date(now.Add(time.Millisecond))); got != "Xon, 23 Nov 2026 18:05:06 GMT" {
		t.Errorf("in the same second: made again: %q", got)
	}
	if got := string(c.date(now.Add(2 * time.Millisecond))); got != "Mon, 23 Nov 2026 18:05:07 GMT" {
		t.Errorf("in the next second: got %q", got)
	}
	if got := string((&conn{}).date(time.Unix(0, 0))); got != "Thu, 01 Jan 1970 00:00:00 GMT" {
		t.Errorf("the first second: got %q", got)
	}
}

// watched is a connection that notes what deadlines its reads and writes have.
type watched struct {
	net.Conn
	mu           sync.Mutex
	reads, sends []time.Duration // what was left when one began; -1 for no deadline
	readBy       time.Time
	sendBy       time.Time
}

func left(by time.Time) time.Duration {
	if by.IsZero() {
		return -1
	}
	return time.Until(by)
}

func (w *watched) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	w.readBy = t
	w.mu.Unlock()
	return w.Conn.SetReadDeadline(t)
}

func (w *watched) SetWriteDeadline(t time.Time) error {
	w.mu.Lock()
	w.sendBy = t
	w.mu.Unlock()
	return w.Conn.SetWriteDeadline(t)
}

func (w *watched) Read(p []byte) (int, error) {
	w.mu.Lock()
	w.reads = append(w.reads, left(w.readBy))
	w.mu.Unlock()
	return w.Conn.Read(p)
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	w.sends = append(w.sends, left(w.sendBy))
	w.mu.Unlock()
	return w.Conn.Write(p)
}

type watchedListener struct {
	net.Listener
	accepted chan *watched
}

func (l watchedListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	w := &watched{Conn: nc}
	l.accepted <- w
	return w, nil
}

// TestDeadlinesOfRequests: each read and write has the deadline that it is to have,
// whatever the one before had.
func TestDeadlinesOfRequests(t *testing.T) {
	const head, body, idle, answer = 100 * time.Hour, 300 * time.Hour, 1000 * time.Hour, 3000 * time.Hour
	release := make(chan struct{})
	s := newServer(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		switch r.URL.Path {
		case "/untimed":
			control.SetWriteDeadline(time.Now().Add(answer))
			control.SetWriteDeadline(time.Time{})
		case "/timed":
			control.SetWriteDeadline(time.Now().Add(answer))
		case "/long":
			<-release
		}
		io.Copy(io.Discard, r.Body)
	})
	defer close(release)
	s.HeaderTimeout, s.ReadTimeout, s.IdleTimeout = head, body, idle
	hours := clock.NewManual(0) // nobody is watched but when it moves
	s.Clock = hours
	accepted := make(chan *watched, 1)
	address := listen(t, func(l net.Listener) error { return s.Serve(watchedListener{l, accepted}) }, s.Close)
	c := dial(t, address)
	w := <-accepted
	expect := func(what string, got *[]time.Duration, want ...time.Duration) {
		t.Helper()
		eventually(t, what, func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return len(*got) >= len(want)
		})
		w.mu.Lock()
		defer w.mu.Unlock()
		for i, d := range want {
			// The test takes its time, too.
			if g := (*got)[i]; d < 0 && g >= 0 || d > 0 && (g < d-patience || g > d+d/slack) {
				t.Errorf("%s, number %d: had %v, want %v", what, i, g, d)
			}
		}
		if len(*got) > len(want) {
			t.Errorf("%s: %d of them, want %d: %v", what, len(*got), len(want), *got)
		}
		*got = nil
	}
	expect("the first read", &w.reads, head)
	for range 2 {
		c.send("GET /timed HTTP/1.1\r\nHost: x\r\n\r\n")
		c.answer("GET")
		expect("a timed answer", &w.sends, answer)
		expect("idle", &w.reads, idle)
		c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		c.answer("GET")
		expect("an answer without a time", &w.sends, -1)
		expect("idle", &w.reads, idle)
		c.send("GET / HTTP/1.1\r\n")
		expect("a head that is not there", &w.reads, head)
		c.send("Host: x\r\n\r\n")
		c.answer("GET")
		expect("idle after that", &w.reads, idle)
		c.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n")
		expect("a body that is not there", &w.reads, body)
		c.send("12")
		c.answer("POST")
		expect("idle after that", &w.reads, idle)
		c.send("GET /untimed HTTP/1.1\r\nHost: x\r\n\r\n")
		c.answer("GET")
		expect("idle after that", &w.reads, idle)
		expect("answers without a time", &w.sends, -1, -1, -1)
		// The client is watched, and sends the next request meanwhile.
		c.send("GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
		eventually(t, "the client is watched", func() bool {
			hours.Advance(watchAfter) // the bell may be that of a request before
			return s.looking()
		})
		expect("a watched client", &w.reads, -1)
		c.send("GET /timed HTTP/1.1\r\nHost: x\r\n\r\n")
		eventually(t, "the watch sees that", func() bool { return !s.looking() })
		release <- struct{}{}
		c.answer("GET")
		c.answer("GET")
		expect("idle after both", &w.reads, idle)
		expect("an answer without a time and one with", &w.sends, -1, answer)
	}
}

// TestLateRead: of a body nothing can be read once the answer has begun, and no word for
// the client gets into it.
func TestLateRead(t *testing.T) {
	late := make(chan error, 1)
	address := start(t, newServer(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, strings.Repeat("x", 3*sendSize))
		_, err := r.Body.Read(make([]byte, 1))
		late <- err
	}))
	for _, head := range []string{"", "Expect: 100-continue\r\n"} {
		c := dial(t, address)
		c.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n" + head + "\r\n1")
		if _, body := c.answer("POST"); body != strings.Repeat("x", 3*sendSize) {
			t.Errorf("got %d bytes", len(body))
		}
		if err := <-late; err != http.ErrBodyReadAfterClose {
			t.Errorf("got %v", err)
		}
	}
}

// TestDeadlines: that of an answer ends what is sent of it later, for good, and nothing
// else.
func TestDeadlines(t *testing.T) {
	again := make(chan error, 1)
	address := start(t, newServer(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(sendSize))
		switch r.URL.Path {
		case "/more":
			w.Header().Del("Content-Length")
		case "/body":
			io.ReadAll(r.Body)
		}
		io.WriteString(w, strings.Repeat("x", sendSize)) // goes out at once
		control := http.NewResponseController(w)
		control.SetWriteDeadline(time.Unix(1, 0))
		if r.URL.Path == "/more" {
			io.WriteString(w, strings.Repeat("x", sendSize))
			control.SetWriteDeadline(time.Now().Add(patience))
			_, err := io.WriteString(w, "x")
			again <- err
		}
	}))
	c := dial(t, address)
	for range 3 {
		c.send(get)
		if r, body := c.answer("GET"); r.StatusCode != 200 || len(body) != sendSize {
			t.Errorf("got %d and %d bytes", r.StatusCode, len(body))
		}
	}
	c.send("POST /body HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
	if line, err := c.in.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("got %q and %v", line, err)
	}
	c.in.ReadString('\n')
	c.send("hi")
	c.answer("POST")
	c.send(strings.Replace(get, "/0", "/more", 1))
	r, err := http.ReadResponse(c.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r.Body); err == nil {
		t.Error("an answer whose end came too late is whole")
	}
	if err := <-again; err == nil {
		t.Error("more was taken of an answer of which a part is missing")
	}
	c.closed()
}
