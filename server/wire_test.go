package server

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// patience is how long a test waits for what must come. It bounds a failure;
// no test passes because of it.
const patience = 20 * time.Second

// listen serves s on a loopback address until the test ends.
func listen(t *testing.T, s *Server) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.timeouts.Drain = time.Second
		_ = s.Shutdown(context.Background()) // tests of Shutdown look at its error
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String()
}

// wire is a connection that a test writes and reads as it likes.
type wire struct {
	net.Conn
	*bufio.Reader
	t *testing.T
}

func dial(t *testing.T, address string) *wire {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return &wire{c, bufio.NewReader(c), t}
}

func (w *wire) Read(p []byte) (int, error) { return w.Reader.Read(p) }

func (w *wire) send(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w.Conn, text); err != nil {
		w.t.Logf("the server does not take all of it: %v", err)
	}
}

// answer reads one answer and its body.
func (w *wire) answer() (*http.Response, string) {
	w.t.Helper()
	r, err := http.ReadResponse(w.Reader, nil)
	if err != nil {
		w.t.Fatalf("no answer: %v", err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Fatalf("no whole answer: %v", err)
	}
	return r, string(body)
}

// closed checks that the server has closed the connection.
func (w *wire) closed() {
	w.t.Helper()
	if n, err := io.Copy(io.Discard, w.Reader); n > 0 || isTimeout(err) {
		w.t.Errorf("got %d more bytes and %v, want the connection closed", n, err)
	}
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}

// eventually waits until what another goroutine is about to do is done.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("waited for this in vain: %s", what)
		}
	}
}

// limiter returns a limiter with few slots and the waits of writes.
func limiter(slots int, c clock.Clock) *admission.Limiter {
	return admission.NewLimiter(slots, 100*time.Millisecond, time.Second, c)
}

// limit gives requests of a class another limiter. No request is under way, or none that matters.
func (c *client) limit(class admission.Class, l *admission.Limiter) {
	var limiters admission.Limiters
	for class := range limiters {
		limiters[class] = c.admission.Limiter(admission.Class(class))
	}
	limiters[class] = l
	c.admission = admission.New(c.opt.Limits, limiters)
}

// serverWith returns a server with tables t and options for a test of the wire.
func serverWith(t *testing.T, opt Options) *client {
	store := memstore.New(memstore.Options{})
	c := clientOf(t, store, opt)
	c.opt.Now = time.Now // deadlines of connections are real
	c.timeouts.linger = 50 * time.Millisecond
	c.webtable()
	return c
}

const countHead = "POST /v1/table/t/count HTTP/1.1\r\nHost: localhost\r\n"

// TestBodyLimit: too large a body is refused without reading on (H7).
func TestBodyLimit(t *testing.T) {
	s := serverWith(t, Options{MaxBody: 1000})
	address := listen(t, s.Server)
	for _, e := range []struct{ name, request string }{
		{"length", countHead + "Content-Length: 1001\r\n\r\n"},
		{"expectation", countHead + "Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n"},
		{"huge length", countHead + "Content-Length: 9223372036854775807\r\n\r\n"},
		{"chunks", countHead + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("64\r\n"+long(100)+"\r\n", 11)},
		{"one chunk", countHead + "Transfer-Encoding: chunked\r\n\r\n7fffffff\r\n" + long(1500)},
	} {
		t.Run(e.name, func(t *testing.T) {
			w := dial(t, address)
			w.send(e.request)
			r, body := w.answer()
			if r.StatusCode != 413 || !strings.Contains(body, `"code":"body_too_large"`) || !r.Close {
				t.Errorf("got %d, close %v, %s", r.StatusCode, r.Close, body)
			}
			w.closed()
		})
	}
	w := dial(t, address)
	for _, request := range []string{
		countHead + "Content-Length: 1000\r\n\r\n{}" + strings.Repeat(" ", 998),
		countHead + "Transfer-Encoding: chunked\r\n\r\n3e8\r\n{}" + strings.Repeat(" ", 998) + "\r\n0\r\n\r\n",
	} {
		w.send(request)
		if r, body := w.answer(); r.StatusCode != 200 || r.Close {
			t.Errorf("a body of the limit: got %d, close %v, %s", r.StatusCode, r.Close, body)
		}
	}
}

func gzipped(text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(text)
	_ = w.Close()
	return b.Bytes()
}

func zstded(text []byte) []byte {
	w, _ := zstd.NewWriter(nil)
	return w.EncodeAll(text, nil)
}

// TestInflating: compressed bodies are taken, bombs are not (H8).
func TestInflating(t *testing.T) {
	s := serverWith(t, Options{MaxBody: 1 << 20})
	address := listen(t, s.Server)
	good := []byte("{}" + strings.Repeat(" ", 1<<20-2))
	bomb := make([]byte, 20<<20)
	double := append(gzipped([]byte("{")), gzipped([]byte("}"))...)
	for _, e := range []struct {
		name, encoding string
		body           []byte
		status         int
		code           string
	}{
		{"gzip", "gzip", gzipped(good), 200, ""},
		{"zstd", "zstd", zstded(good), 200, ""},
		{"identity", "identity", []byte("{}"), 200, ""},
		{"case", "GZip", gzipped([]byte("{}")), 200, ""},
		{"gzip of two members", "gzip", double, 200, ""},
		{"gzip bomb", "gzip", gzipped(bomb), 413, "body_too_large"},
		{"zstd bomb", "zstd", zstded(bomb), 413, "body_too_large"},
		{"one byte over", "gzip", gzipped(append(good, ' ')), 413, "body_too_large"},
		{"cut gzip", "gzip", gzipped(good)[:500], 400, "broken_body"},
		{"cut zstd", "zstd", zstded([]byte("{}" + long(5000)))[:20], 400, "broken_body"},
		{"no gzip", "gzip", []byte("{}"), 400, "broken_body"},
		{"no zstd", "zstd", []byte("{}"), 400, "broken_body"},
		{"br", "br", []byte("{}"), 415, "unsupported_encoding"},
		{"twice", "gzip, gzip", []byte("{}"), 415, "unsupported_encoding"},
		{"deflate", "deflate", []byte("{}"), 415, "unsupported_encoding"},
	} {
		t.Run(e.name, func(t *testing.T) {
			for _, chunked := range []bool{false, true} {
				w := dial(t, address)
				head := countHead + "Content-Encoding: " + e.encoding + "\r\n"
				if chunked {
					w.send(head + "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n", len(e.body)) + string(e.body) + "\r\n0\r\n\r\n")
				} else {
					w.send(head + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(e.body)) + string(e.body))
				}
				r, body := w.answer()
				if r.StatusCode != e.status || e.code != "" && !strings.Contains(body, `"code":"`+e.code+`"`) {
					t.Errorf("chunked %v: got %d %s, want %d %s", chunked, r.StatusCode, body, e.status, e.code)
				}
				if e.status == 415 && r.Header.Get("Accept-Encoding") != "gzip, zstd" {
					t.Errorf("got the header %v, want it to say what is taken", r.Header)
				}
			}
		})
	}
	eventually(t, "all memory is given back", func() bool { return s.admission.Memory().Free() == s.opt.Limits.Memory })
	s.admission.Memory().Take(s.opt.Limits.Memory - inflaterMemory + 1)
	w := dial(t, address)
	w.send(countHead + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}")
	if r, body := w.answer(); r.StatusCode != 503 {
		t.Errorf("without memory for the window: got %d %s", r.StatusCode, body)
	}
	s.admission.Memory().Give(s.opt.Limits.Memory - inflaterMemory + 1)
	eventually(t, "all memory is given back", func() bool { return s.admission.Memory().Free() == s.opt.Limits.Memory })
}

// TestSlowClients: whoever dawdles is cut off (H11, H12).
func TestSlowClients(t *testing.T) {
	s := serverWith(t, Options{})
	s.timeouts.Header, s.timeouts.Read = 50*time.Millisecond, 100*time.Millisecond
	address := listen(t, s.Server)
	t.Run("header", func(t *testing.T) {
		w := dial(t, address)
		w.send("POST /v1/table/t/count HTTP/1.1\r\nHost:")
		if _, err := io.Copy(io.Discard, w.Reader); isTimeout(err) {
			t.Error("the connection is still open")
		}
	})
	t.Run("body", func(t *testing.T) {
		w := dial(t, address)
		w.send(countHead + "Content-Length: 10\r\n\r\n{")
		r, body := w.answer()
		if r.StatusCode != 408 || !strings.Contains(body, `"code":"request_timeout"`) {
			t.Errorf("got %d %s", r.StatusCode, body)
		}
		w.closed()
	})
	t.Run("broken off body", func(t *testing.T) {
		w := dial(t, address)
		w.send(countHead + "Content-Length: 10\r\n\r\n{")
		if err := w.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if r, body := w.answer(); r.StatusCode != 400 || !strings.Contains(body, `"code":"broken_body"`) {
			t.Errorf("got %d %s", r.StatusCode, body)
		}
	})
}

// TestLongAnswer: the deadline for reading a request does not end its answer.
func TestLongAnswer(t *testing.T) {
	store := newFakeStore()
	c := clientOf(t, store, Options{})
	c.opt.Now = time.Now
	c.webtable()
	c.timeouts.Read = 50 * time.Millisecond
	store.onWrite = func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(4 * c.timeouts.Read): // longer than the deadline, or there is nothing to see
			return nil
		}
	}
	address := listen(t, c.Server)
	w := dial(t, address)
	body := cellOf("i64", "1")
	w.send(fmt.Sprintf("POST /v1/table/t/write HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body))
	if r, body := w.answer(); r.StatusCode != 200 {
		t.Errorf("got %d %s", r.StatusCode, body)
	}
}

// TestHostileRequests: what is no proper HTTP gets a 4xx and the connection
// closed, or one answer for one request; never two for one (H13, H14).
func TestHostileRequests(t *testing.T) {
	s := serverWith(t, Options{})
	address := listen(t, s.Server)
	const ok = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
	for _, e := range []struct {
		name, request string
		statuses      []int
	}{
		{"pipelined", ok + "\r\n" + ok + "\r\n", []int{200, 200}},
		{"length and chunks", countHead + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n", []int{400}},
		{"chunks and length", countHead + "Transfer-Encoding: chunked\r\nContent-Length: 12\r\n\r\n2\r\n{}\r\n0\r\n\r\n", []int{400}},
		{"chunks in HTTP/1.0", "POST /v1/table/t/count HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", []int{400}},
		{"bare line feeds", "GET /healthz HTTP/1.1\nHost: localhost\n\n", []int{400}},
		{"one bare line feed", ok + "X: y\n\r\n", []int{400}},
		{"bare line feed at the end", ok + "\n", []int{400}},
		{"folded header", ok + "X: a\r\n b\r\n\r\n", []int{400}},
		{"folded by tab", ok + "X: a\r\n\tb\r\n\r\n", []int{400}},
		{"first good, then bad", ok + "\r\n" + ok + "X: y\n\r\n", []int{200, 400}},
		{"bad after a body", countHead + "Content-Length: 2\r\n\r\n{}" + "GET /healthz HTTP/1.1\nHost: localhost\n\n", []int{200, 400}},
		{"bad after chunks", countHead + "Transfer-Encoding: chunked\r\n\r\n1;x=y\r\n{\r\n1 \r\n}\r\n0\r\nX: y\r\n\r\n" + "GET /healthz HTTP/1.1\nHost: localhost\n\n", []int{200, 400}},
		{"bare line feed in chunks", countHead + "Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n", []int{400}},
		{"folded trailer", countHead + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: y\r\n z\r\n\r\n", []int{400}},
		{"two lengths", countHead + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", []int{400}},
		{"negative length", countHead + "Content-Length: -2\r\n\r\n{}", []int{400}},
		{"unknown coding", countHead + "Transfer-Encoding: chunked, gzip\r\n\r\n2\r\n{}\r\n0\r\n\r\n", []int{501}},
		{"bad chunk", countHead + "Transfer-Encoding: chunked\r\n\r\nx\r\n{}\r\n0\r\n\r\n", []int{400}},
		{"no host", "GET /healthz HTTP/1.1\r\n\r\n", []int{400}},
		{"no host but in the path", "GET http://localhost/healthz HTTP/1.1\r\n\r\n", []int{400}},
		{"two hosts", ok + "Host: localhost\r\n\r\n", []int{400}},
		{"header of 24 KiB", ok + "X: " + long(24<<10) + "\r\n\r\n", []int{431}},
		{"header of 15 KiB", ok + "X: " + long(15<<10) + "\r\nConnection: close\r\n\r\n", []int{200}},
		{"header of 1 MiB and a byte", ok + "X: " + long(1<<20-50) + "\r\n\r\n", []int{431}},
		{"endless line", "GET /healthz HTTP/1.1\r\nX: " + long(1<<20), []int{431}},
		{"long path", "GET /" + long(24<<10) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", []int{431}},
		{"space in a name", ok + "X : y\r\n\r\n", []int{400}},
		{"NUL in a value", ok + "X: a\x00b\r\n\r\n", []int{400}},
		{"no version", "GET /healthz\r\n\r\n", []int{400}},
		{"bad method", "G@T /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", []int{400}},
		{"garbage", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", []int{400}},
		{"bad escape", "GET /v1/table/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", []int{400}},
		{"absolute form", "GET http://localhost/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", []int{200}},
		{"any server", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", []int{404}},
		{"tunnel", "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", []int{404}},
	} {
		t.Run(e.name, func(t *testing.T) {
			w := dial(t, address)
			w.send(e.request)
			var got []int
			for len(got) < len(e.statuses) {
				r, err := http.ReadResponse(w.Reader, nil)
				if err != nil {
					t.Fatalf("no answer: %v", err)
				}
				got = append(got, r.StatusCode)
				if _, err := io.Copy(io.Discard, r.Body); err != nil && r.StatusCode < 400 {
					t.Fatalf("no whole answer: %v", err)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(e.statuses) {
				t.Errorf("got %v, want %v", got, e.statuses)
			}
			if e.name != "pipelined" {
				w.closed()
			}
		})
	}
}

// TestRefusedMayGoOn: who sends on after what framing refuses is not reset, and so has
// the answer.
func TestRefusedMayGoOn(t *testing.T) {
	s := serverWith(t, Options{})
	s.timeouts.linger = patience
	address := listen(t, s.Server)
	for request, status := range map[string]int{
		"GET /healthz HTTP/1.1\nHost: localhost\n\n":                     400,
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + long(40<<10): 431,
	} {
		w := dial(t, address)
		w.send(request)
		if r, body := w.answer(); r.StatusCode != status {
			t.Errorf("got %d %s, want %d", r.StatusCode, body, status)
		}
		for range 64 {
			if _, err := io.WriteString(w.Conn, long(64<<10)); err != nil {
				t.Fatalf("%d: %v", status, err)
			}
		}
	}
}

// TestConnectionLimit: one connection too many is closed at once.
func TestConnectionLimit(t *testing.T) {
	s := serverWith(t, Options{MaxConns: 2})
	address := listen(t, s.Server)
	const request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	var first *wire
	for range 2 {
		first = dial(t, address)
		first.send(request)
		first.answer()
	}
	dial(t, address).closed()
	_ = first.Conn.Close()
	eventually(t, "the server has seen that it is closed", func() bool {
		w := dial(t, address)
		w.send(request)
		r, err := http.ReadResponse(w.Reader, nil)
		return err == nil && r.StatusCode == 200
	})
}

// TestSilentConnections: one connection too many takes the place of the oldest
// that has said nothing so far, and of no other (H11).
func TestSilentConnections(t *testing.T) {
	s := serverWith(t, Options{MaxConns: 3})
	address := listen(t, s.Server)
	const request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	old := dial(t, address)
	old.send(request)
	old.answer()
	first, second := dial(t, address), dial(t, address)
	second.send(request[:30]) // half a head says nothing yet
	w := dial(t, address)
	w.send(request)
	if r, body := w.answer(); r.StatusCode != 200 {
		t.Errorf("a new connection: got %d %s", r.StatusCode, body)
	}
	first.closed()
	second.send(request[30:])
	if r, body := second.answer(); r.StatusCode != 200 {
		t.Errorf("the younger of the silent ones: got %d %s", r.StatusCode, body)
	}
	dial(t, address).closed() // now all have spoken
	old.send(request)
	if r, body := old.answer(); r.StatusCode != 200 {
		t.Errorf("the oldest of all: got %d %s", r.StatusCode, body)
	}
}

// TestMemoryLimit: bodies that are not there yet count, and the request over
// the limit is refused before its body is read.
func TestMemoryLimit(t *testing.T) {
	s := serverWith(t, Options{Limits: admission.Limits{Memory: 100_000}})
	address := listen(t, s.Server)
	first := dial(t, address)
	first.send(countHead + "Content-Length: 90000\r\n\r\n{}")
	eventually(t, "the first body is charged", func() bool { return s.admission.Memory().Free() < 20_000 })
	second := dial(t, address)
	second.send(countHead + "Content-Length: 20000\r\n\r\n")
	r, body := second.answer()
	if r.StatusCode != 503 || r.Header.Get("Retry-After") == "" || !r.Close || !strings.Contains(body, `"code":"overloaded"`) {
		t.Errorf("got %d %v %s", r.StatusCode, r.Header, body)
	}
	first.send(strings.Repeat(" ", 90_000-2))
	if r, body := first.answer(); r.StatusCode != 200 {
		t.Errorf("got %d %s", r.StatusCode, body)
	}
	third := dial(t, address)
	third.send(countHead + "Content-Length: 20000\r\n\r\n{}" + strings.Repeat(" ", 20_000-2))
	if r, body := third.answer(); r.StatusCode != 200 {
		t.Errorf("got %d %s after the first was done", r.StatusCode, body)
	}
}
