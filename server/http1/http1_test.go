package http1

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"colonnade/clock"
)

// patience is how long a test waits for what must come. It bounds a failure; no test
// passes because of it.
const patience = 20 * time.Second

// newServer returns a server with long timeouts.
func newServer(h http.HandlerFunc) *Server {
	return &Server{
		Handler: h, MaxHeader: 16 << 10, HeaderTimeout: patience, ReadTimeout: patience, IdleTimeout: patience, LingerTimeout: patience,
		Now: time.Now, Clock: clock.System, Log: slog.New(slog.DiscardHandler),
	}
}

// listen has serve serve a loopback address until the test ends.
func listen(t testing.TB, serve func(net.Listener) error, stop func() error) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- serve(l) }()
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String()
}

func start(t testing.TB, s *Server) (address string) {
	t.Helper()
	return listen(t, s.Serve, s.Close)
}

// client is a connection.
type client struct {
	net.Conn
	in *bufio.Reader
	t  testing.TB
}

func dial(t testing.TB, address string) *client {
	t.Helper()
	nc, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(patience))
	return &client{nc, bufio.NewReader(nc), t}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads the answer to a request of the given method.
func (c *client) answer(method string) (*http.Response, string) {
	c.t.Helper()
	r, err := http.ReadResponse(c.in, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("no answer: %v", err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Fatalf("no whole answer: %v", err)
	}
	return r, string(body)
}

// closed checks that nothing more comes.
func (c *client) closed() {
	c.t.Helper()
	var timeout net.Error
	if n, err := io.Copy(io.Discard, c.in); n > 0 || errors.As(err, &timeout) && timeout.Timeout() {
		c.t.Errorf("got %d more bytes and %v, want the connection closed", n, err)
	}
}

// looking reports whether a client is watched, of a server with one.
func (s *Server) looking() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.watch.mu.Lock()
		defer c.watch.mu.Unlock()
		return c.watch.state == watchLooking
	}
	return false
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

const get = "GET /0?= HTTP/1.1\r\nHost: x\r\n\r\n"

// sized answers with as many bytes as the path says, or with what it was sent if that is
// 0, in pieces of what the query says, once it has read the body, unless the path is
// /unread. It says how long they are if the query ends in =, as for all short answers:
// net/http counts those by itself.
func sized(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/unread") {
		w.Header().Set("Content-Length", "6")
		io.WriteString(w, "unread")
		return
	}
	body, err := io.ReadAll(iotest.OneByteReader(r.Body))
	if err != nil {
		http.Error(w, "broken body", http.StatusBadRequest)
		return
	}
	size, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	text := strings.Repeat("0123456789abcde\n", size/16+1)[:size]
	if size == 0 {
		text = fmt.Sprintf("%s %s %q %s", r.Method, r.Host, body, r.Header.Get("X"))
	}
	piece, said := strings.CutSuffix(r.URL.RawQuery, "=")
	if said || size == 0 {
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	}
	n, _ := strconv.Atoi(piece)
	for n > 0 && len(text) > n {
		io.WriteString(w, text[:n])
		text = text[n:]
	}
	io.WriteString(w, text)
}

// exchangeAll sends a text on a connection of its own and returns what comes back: of
// each answer its status, how it is framed, and its body.
func exchangeAll(t *testing.T, address, text string) (answers []string) {
	c := dial(t, address)
	go io.WriteString(c.Conn, text) // a server may close before all of it is there
	for _, line := range strings.SplitAfter(text, "\r\n") {
		method, _, ok := strings.Cut(line, " ")
		if !ok || !strings.Contains(line, " HTTP/") {
			continue
		}
		r, err := http.ReadResponse(c.in, &http.Request{Method: method})
		if err != nil {
			break
		}
		body, err := io.ReadAll(r.Body)
		if r.StatusCode >= 400 {
			body = nil // each says it in its own words
		}
		framed := fmt.Sprint(r.ContentLength, r.TransferEncoding)
		if r.StatusCode >= 400 {
			framed = ""
		}
		answers = append(answers, fmt.Sprintf("%d %s %s close %v %v %s", r.StatusCode, r.Proto, framed, r.Close, err, body))
		if r.Close {
			c.closed()
			break
		}
	}
	return answers
}

// TestLikeNetHTTP: what comes back is what net/http's own server answers.
func TestLikeNetHTTP(t *testing.T) {
	ours := start(t, newServer(sized))
	theirs := http.Server{Handler: http.HandlerFunc(sized), MaxHeaderBytes: 16 << 10}
	other := listen(t, theirs.Serve, theirs.Close)
	const post = "POST /0?= HTTP/1.1\r\nHost: x\r\n"
	for _, text := range []string{
		get, get + get + get,
		"HEAD /100?= HTTP/1.1\r\nHost: x\r\n\r\n" + get,
		"GET /10?= HTTP/1.0\r\n\r\n" + get,
		"GET /3000 HTTP/1.0\r\n\r\n" + get,
		"GET /10?= HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + get,
		"GET /100000 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + get,
		"GET /10?= HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + get,
		"GET /10?= HTTP/1.1\r\nHost: x\r\nConnection: Keep-Alive, Close\r\n\r\n" + get,
		post + "Content-Length: 5\r\n\r\nhello" + get,
		post + "Content-Length: 0\r\n\r\n" + get,
		post + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + get,
		post + "Transfer-Encoding: chunked\r\nTrailer: T\r\n\r\n5\r\nhello\r\n0\r\nT: 1\r\n\r\n" + get,
		post + "Transfer-Encoding: gzip\r\n\r\n" + get,
		post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + get,
		post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello" + get,
		post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello" + get,
		post + "Content-Length: x\r\n\r\n" + get,
		post + "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n" + get,
		post + "Expect: a miracle\r\nContent-Length: 0\r\n\r\n" + get,
		"POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello" + get,
		"POST /unread HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + get,
		"POST /unread HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nz\r\nhello\r\n0\r\n\r\n" + get,
		"POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n" + strings.Repeat("x", 200_000) + get,
		"GET /0?= HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello" + get,
		"GET / HTTP/1.1\r\n\r\n" + get, "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n" + get,
		"GET / HTTP/1.1\r\nHost: a b\r\n\r\n" + get, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n" + get,
		"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n" + get,
		"GET http://y/ HTTP/1.1\r\nHost: x\r\n\r\n" + get,
		"GET / HTTP/2.0\r\nHost: x\r\n\r\n" + get, "GET / HTTP/0.9\r\nHost: x\r\n\r\n" + get, "GET / HTTP/x\r\n\r\n" + get,
		"GET / HTTP/1.1\r\nHost: x\r\nX : y\r\n\r\n" + get, "GET / HTTP/1.1\r\nHost: x\r\nX\r\n\r\n" + get,
		"GET / HTTP/1.1\r\nHost: x\r\nX: a\x01b\r\n\r\n" + get, "G@T / HTTP/1.1\r\nHost: x\r\n\r\n" + get,
		"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n" + get, "GET / HTTP/1.1\r\nHost: x\r\nX: \xff\xfe\r\n\r\n" + get,
		"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", 15<<10) + "\r\n\r\n" + get,
		"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", 24<<10) + "\r\n\r\n" + get,
		"CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n",
	} {
		got, want := exchangeAll(t, ours, text), exchangeAll(t, other, text)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%.200q:\n got %.300q\nwant %.300q", text, got, want)
		}
	}
}

// TestAnswers: answers of all sizes, in all pieces, framed in all ways, arrive whole.
func TestAnswers(t *testing.T) {
	address := start(t, newServer(sized))
	c := dial(t, address)
	for _, size := range []int{1, 15, 16, 255, 256, sendSize - 1, sendSize, sendSize + 1, 2 * sendSize, 2*sendSize + 1, 5*sendSize + 17} {
		for _, piece := range []int{0, 100, sendSize - 1, sendSize, sendSize + 1, 3 * sendSize} {
			for _, said := range []string{"", "="} {
				c.send(fmt.Sprintf("GET /%d?%d%s HTTP/1.1\r\nHost: x\r\n\r\n", size, piece, said))
				r, body := c.answer("GET")
				if r.StatusCode != 200 || body != strings.Repeat("0123456789abcde\n", size/16+1)[:size] || (r.ContentLength >= 0) != (said != "") {
					t.Fatalf("%d bytes in pieces of %d: got %d bytes, length %d", size, piece, len(body), r.ContentLength)
				}
			}
		}
	}
}

// TestHeader: fields go out in order and cannot break out of their lines; nothing of an
// answer is left in the next.
func TestHeader(t *testing.T) {
	first := true
	address := start(t, newServer(func(w http.ResponseWriter, r *http.Request) {
		if first {
			w.Header()["X-B"] = []string{"1", "2\r\nX-C: 3"}
			w.Header().Set("X-A", "0")
			w.Header().Set("Content-Length", "0")
			w.WriteHeader(http.StatusNoContent)
			if _, err := io.WriteString(w, "x"); err != http.ErrBodyNotAllowed {
				t.Errorf("got %v", err)
			}
		}
		first = false
	}))
	c := dial(t, address)
	c.send(get + get)
	r, _ := c.answer("GET")
	if r.StatusCode != 204 || fmt.Sprint(r.Header["X-A"], r.Header["X-B"], r.Header["X-C"], r.Header["Content-Length"]) != "[0] [1 2  X-C: 3] [] []" || r.Header.Get("Date") == "" {
		t.Errorf("got %d %v", r.StatusCode, r.Header)
	}
	if r, _ := c.answer("GET"); r.StatusCode != 200 || r.ContentLength != 0 || len(r.Header) != 2 {
		t.Errorf("got %d %v, want an empty answer", r.StatusCode, r.Header)
	}
}

// TestOrder: the fields of a header go out in the order of their names, whatever the answer before
// had: the same names, as many others, fewer, more.
func TestOrder(t *testing.T) {
	names := [][]string{
		{"X-C", "Vary", "X-B", "X-D", "Cache-Control", "X-A"},
		{"X-D", "X-A", "Vary", "X-C", "X-B", "Cache-Control"},
		{"X-C", "Vary", "X-B", "X-E", "Cache-Control", "X-A"},
		{"X-C", "X-A"},
		{"X-C", "X-A", "X-B"},
	}
	var answered int
	address := start(t, newServer(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range names[answered] {
			w.Header().Set(name, "y")
		}
		answered++
	}))
	c := dial(t, address)
	c.send(strings.Repeat(get, len(names)-1) + strings.Replace(get, "Host", "Connection: close\r\nHost", 1))
	text, err := io.ReadAll(c.in)
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.Split(string(text), "HTTP/1.1 200 OK\r\n")[1:]
	if len(answers) != len(names) {
		t.Fatalf("got %d answers: %q", len(answers), text)
	}
	for i, answer := range answers {
		want := "\r\n"
		for _, name := range slices.Sorted(slices.Values(append(names[i], "Content-Length"))) {
			want += name + ": " + map[bool]string{true: "0", false: "y"}[name == "Content-Length"] + "\r\n"
		}
		if _, header, _ := strings.Cut(answer, "Date: "); !strings.Contains(header, want) {
			t.Errorf("answer %d is %q, want %q in it", i, answer, want)
		}
	}
}

// TestSlowHead: a head has its own time, also behind another request.
func TestSlowHead(t *testing.T) {
	s := newServer(sized)
	s.HeaderTimeout, s.IdleTimeout = 300*time.Millisecond, time.Hour
	c := dial(t, start(t, s))
	c.send(get)
	c.answer("GET")
	c.send(get[:len("GET /0?= HTTP/1.1\r\n")])
	c.closed()
}

// TestSlowBody: so has a request as a whole.
func TestSlowBody(t *testing.T) {
	s := newServer(sized)
	s.ReadTimeout = 300 * time.Millisecond
	c := dial(t, start(t, s))
	c.send("POST /0 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nh")
	if r, _ := c.answer("POST"); r.StatusCode != 400 || !r.Close {
		t.Errorf("got %d, close %v", r.StatusCode, r.Close)
	}
	c.closed()
}

// TestBrokenOff: an answer that is not whole ends the connection, and cannot be taken
// for whole.
func TestBrokenOff(t *testing.T) {
	for _, e := range []struct {
		name   string
		handle http.HandlerFunc
		logged string
		status int // 0: there is no answer
	}{
		{"at once", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "", 0},
		{"later", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x"); panic(http.ErrAbortHandler) }, "", 200},
		{"much later", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, strings.Repeat("x", 3*sendSize))
			panic(http.ErrAbortHandler)
		}, "", 200},
		{"by a panic", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x"); panic("a bug") }, "a bug", 200},
		{"by a status", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103) }, "no answer has the status 103", 0},
		{"once all is written", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1")
			io.WriteString(w, "x")
			panic("a bug")
		}, "a bug", 0},
		{"nothing of what it said", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "3") }, "", 200},
		{"too short", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "3")
			io.WriteString(w, "x")
		}, "", 200},
	} {
		t.Run(e.name, func(t *testing.T) {
			s := newServer(e.handle)
			var log bytes.Buffer
			s.Log = slog.New(slog.NewTextHandler(&log, nil))
			c := dial(t, start(t, s))
			c.send(get + get)
			r, err := http.ReadResponse(c.in, nil)
			if err == nil {
				_, err = io.ReadAll(r.Body)
			}
			if err == nil || (r != nil) != (e.status != 0) || r != nil && r.StatusCode != e.status {
				t.Errorf("got %+v and %v", r, err)
			}
			c.closed()
			if err := s.Shutdown(context.Background()); err != nil || !strings.Contains(log.String(), e.logged) || e.logged == "" && log.Len() > 0 {
				t.Errorf("got %v and the log %q, want %q in it", err, &log, e.logged)
			}
		})
	}
}

// TestBrokenHead: the head alone of an answer that is broken off is not sent to who asks
// for no more than that.
func TestBrokenHead(t *testing.T) {
	c := dial(t, start(t, newServer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "3")
		w.WriteHeader(http.StatusOK)
		panic(http.ErrAbortHandler)
	})))
	c.send(strings.Replace(get, "GET", "HEAD", 1))
	c.closed()
}

// TestExpect: a client that waits for a word gets it when its body is wanted, and
// otherwise no second answer.
func TestExpect(t *testing.T) {
	address := start(t, newServer(sized))
	c := dial(t, address)
	c.send("POST /0 HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nTransfer-Encoding: chunked\r\n\r\n")
	if line, err := c.in.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" || err != nil {
		t.Fatalf("got %q and %v", line, err)
	}
	c.in.ReadString('\n')
	c.send("2\r\nhi\r\n0\r\n\r\n")
	if r, body := c.answer("POST"); r.StatusCode != 200 || !strings.Contains(body, "hi") || r.Close {
		t.Errorf("got %d %s", r.StatusCode, body)
	}
	c.send("POST /unread HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
	if r, body := c.answer("POST"); r.StatusCode != 200 || body != "unread" || !r.Close {
		t.Errorf("got %d %s, close %v", r.StatusCode, body, r.Close)
	}
	c.closed()
}

// TestUnwantedBody: an answer does not wait for a body that nobody reads, and a client
// that goes on sending it is not reset.
func TestUnwantedBody(t *testing.T) {
	s := newServer(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Connection"] = r.Header["X"]
		io.WriteString(w, "no")
	})
	address := start(t, s)
	for _, head := range []string{"Content-Length: 100000000\r\n", "X: close\r\nContent-Length: 5\r\n", "X: close\r\nTransfer-Encoding: chunked\r\n"} {
		c := dial(t, address)
		c.send("POST / HTTP/1.1\r\nHost: x\r\n" + head + "\r\n1")
		if r, body := c.answer("POST"); r.StatusCode != 200 || body != "no" || !r.Close {
			t.Errorf("%q: got %d %s, close %v", head, r.StatusCode, body, r.Close)
		}
		for range 64 { // a reset would end this
			c.send(strings.Repeat("x", 64<<10))
		}
	}
}

// TestRestOfBody: what is left of a body that was begun is no request.
func TestRestOfBody(t *testing.T) {
	s := newServer(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Path[1:])
		io.CopyN(io.Discard, r.Body, int64(n))
	})
	c := dial(t, start(t, s))
	for _, read := range []int{mostSkipped / 2, mostSkipped, 3*mostSkipped/2 - 1, 3 * mostSkipped / 2} {
		c.send(fmt.Sprintf("POST /%d HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", read, 3*mostSkipped/2, strings.Repeat("x", 3*mostSkipped/2)))
		if r, _ := c.answer("POST"); r.StatusCode != 200 || r.Close {
			t.Errorf("got %d, close %v", r.StatusCode, r.Close)
		}
	}
	c.send(fmt.Sprintf("POST /0 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", mostSkipped, strings.Repeat("x", mostSkipped)))
	if r, _ := c.answer("POST"); r.StatusCode != 200 || r.Close {
		t.Errorf("in chunks: got %d, close %v", r.StatusCode, r.Close)
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

// TestWatch: a request that takes long ends when its client goes, and not when it sends
// the next one.
func TestWatch(t *testing.T) {
	hours := clock.NewManual(0)
	entered, release := make(chan context.Context), make(chan struct{})
	s := newServer(func(_ http.ResponseWriter, r *http.Request) {
		entered <- r.Context()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	s.Clock = hours
	c := dial(t, start(t, s))
	ring := func() {
		t.Helper()
		hours.Advance(watchAfter)
		eventually(t, "somebody watches", s.looking)
	}
	for range 3 { // answered while it looks
		c.send(get)
		<-entered
		ring()
		release <- struct{}{}
		c.answer("GET")
	}
	c.send(get) // sends the next one meanwhile
	ctx := <-entered
	ring()
	c.send(get)
	eventually(t, "it has come", func() bool { return !s.looking() })
	release <- struct{}{}
	c.answer("GET")
	if ctx.Err() != nil {
		t.Errorf("a client that is there was taken for gone: %v", ctx.Err())
	}
	ctx = <-entered
	c.Close()
	eventually(t, "the client that has gone is noticed", func() bool {
		hours.Advance(watchAfter)
		return ctx.Err() != nil
	})
}

// TestContext: it ends with the connection, and not with the request.
func TestContext(t *testing.T) {
	seen := make(chan context.Context, 1)
	c := dial(t, start(t, newServer(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Context() })))
	c.send(get)
	c.answer("GET")
	ctx := <-seen
	if ctx.Err() != nil {
		t.Errorf("got %v", ctx.Err())
	}
	c.Close()
	select {
	case <-ctx.Done():
	case <-time.After(patience):
		t.Error("the context of a connection that is gone goes on")
	}
}

// TestShutdown: requests under way are answered, connections that wait are closed.
func TestShutdown(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	s := newServer(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/begun" {
			io.WriteString(w, strings.Repeat("x", sendSize))
		}
		entered <- struct{}{}
		<-release
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	address := l.Addr().String()
	idle, half, busy, silent := dial(t, address), dial(t, address), dial(t, address), dial(t, address)
	idle.send(get)
	<-entered
	release <- struct{}{}
	idle.answer("GET")
	half.send(get[:10])
	busy.send(get)
	<-entered
	begun := dial(t, address)
	begun.send(strings.Replace(get, "/0", "/begun", 1))
	<-entered
	eventually(t, "all have been accepted", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.conns) == 5
	})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v with a request under way", err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve: %v", err)
	}
	idle.closed()
	half.closed()
	silent.closed()
	close(release)
	if r, _ := busy.answer("GET"); r.StatusCode != 200 || !r.Close {
		t.Errorf("got %d, close %v", r.StatusCode, r.Close)
	}
	busy.closed()
	if r, body := begun.answer("GET"); r.StatusCode != 200 || len(body) != sendSize {
		t.Errorf("got %d and %d bytes", r.StatusCode, len(body))
	}
	begun.closed()
	if err := s.Shutdown(context.Background()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve after Shutdown: %v", err)
	}
}

// scripted is a listener whose first connections fail.
type scripted struct {
	net.Listener
	mu     sync.Mutex
	errors []error
}

func (l *scripted) Accept() (net.Conn, error) {
	l.mu.Lock()
	if len(l.errors) > 0 {
		err := l.errors[0]
		l.errors = l.errors[1:]
		l.mu.Unlock()
		return nil, err
	}
	l.mu.Unlock()
	return l.Listener.Accept()
}

type temporary struct{ error }

func (temporary) Temporary() bool { return true }

// TestAcceptFails: too few handles are waited for, anything else ends Serve.
func TestAcceptFails(t *testing.T) {
	s := newServer(sized)
	serve := func(l net.Listener) error {
		return s.Serve(&scripted{Listener: l, errors: []error{temporary{errors.New("too many open files")}, temporary{errors.New("too many open files")}}})
	}
	c := dial(t, listen(t, serve, s.Close))
	c.send(get)
	c.answer("GET")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := newServer(sized).Serve(&scripted{Listener: l, errors: []error{broken}}); err != broken {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// BenchmarkServe answers small requests with 1 KiB, beside net/http.
func BenchmarkServe(b *testing.B) {
	text := bytes.Repeat([]byte("x"), 1<<10)
	h := func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header()["Content-Type"] = []string{"application/json"}
		w.Header()["Content-Length"] = []string{"1024"}
		w.Write(text)
	}
	for _, e := range []struct {
		name  string
		start func(b *testing.B) (address string)
	}{
		{"http1", func(b *testing.B) string { return start(b, newServer(h)) }},
		{"net-http", func(b *testing.B) string {
			s := http.Server{Handler: http.HandlerFunc(h)}
			return listen(b, s.Serve, s.Close)
		}},
	} {
		b.Run(e.name, func(b *testing.B) {
			c := dial(b, e.start(b))
			c.SetDeadline(time.Time{})
			request := []byte("POST /v1/table/t/rows HTTP/1.1\r\nHost: 127.0.0.1:9876\r\nUser-Agent: x\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}")
			room := make([]byte, 64<<10)
			b.ReportAllocs()
			for b.Loop() {
				c.Write(request)
				n := 0
				for !bytes.HasSuffix(room[:n], text) {
					m, err := c.Read(room[n:])
					if err != nil {
						b.Fatal(err)
					}
					n += m
				}
			}
		})
	}
}
