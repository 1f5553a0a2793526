package http1

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

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
		{"by a status", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103) }, "no response has the status 103", 0},
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
