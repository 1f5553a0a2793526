package http1

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// echo is a handler that answers each line of the body before it reads the next one, up to a line "end".
func echo(w http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(w)
	_ = c.EnableFullDuplex()
	for lines := bufio.NewScanner(r.Body); lines.Scan() && lines.Text() != "end"; {
		_, _ = io.WriteString(w, lines.Text()+"\n")
		if c.Flush() != nil {
			return
		}
	}
}

// TestFullDuplex: a handler can read the body while it writes. The connection goes on when all of the body
// was read.
func TestFullDuplex(t *testing.T) {
	c := dial(t, start(t, newServer(echo)))
	for _, head := range []string{"Transfer-Encoding: chunked\r\n\r\n", "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"} {
		c.send("POST / HTTP/1.1\r\nHost: x\r\n" + head)
		if strings.Contains(head, "Expect") {
			for range 2 {
				if _, err := c.in.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
		}
		var r *http.Response
		var body *bufio.Reader
		for range 3 {
			c.send("6\r\nhello\n\r\n")
			if r == nil {
				var err error
				if r, err = http.ReadResponse(c.in, nil); err != nil || r.Close {
					t.Fatalf("got %v, %+v", err, r)
				}
				body = bufio.NewReader(r.Body)
			}
			if line, err := body.ReadString('\n'); err != nil || line != "hello\n" {
				t.Fatalf("got %q, %v", line, err)
			}
		}
		c.send("0\r\n\r\n")
		if rest, err := io.ReadAll(body); err != nil || len(rest) > 0 {
			t.Fatalf("got %q, %v", rest, err)
		}
	}
}

// TestFullDuplexEndsEarly: when a handler leaves some of the body, its answer is whole, and the client that is
// still sending can read it. Then the connection ends.
func TestFullDuplexEndsEarly(t *testing.T) {
	c := dial(t, start(t, newServer(echo)))
	c.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + "a\r\nhello\nend\n\r\n")
	sent := make(chan error, 1)
	go func() {
		text := []byte("10000\r\n" + strings.Repeat("x", 1<<16) + "\r\n")
		for range 2048 { // far more than mostLinger and the buffers on the way
			if _, err := c.Write(text); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	r, err := http.ReadResponse(c.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r.Body); err != nil || string(text) != "hello\n" {
		t.Errorf("got %q, %v", text, err)
	}
	if err := <-sent; err != nil {
		t.Errorf("the client could not send on: %v", err)
	}
	c.closed()
}

// TestReadDeadline: another goroutine can end a Read; the time between two of them may be bounded; and behind
// the end of a body there is no deadline to be set, since the watch may be looking.
func TestReadDeadline(t *testing.T) {
	failed := make(chan error, 1)
	looked := make(chan error, 1)
	var s *Server
	s = newServer(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		_ = c.EnableFullDuplex()
		switch r.URL.Path {
		case "/soon":
			_ = c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
			_, err := io.ReadAll(r.Body)
			failed <- err
		case "/other":
			go func() { _, err := io.ReadAll(r.Body); failed <- err }()
			_ = c.SetReadDeadline(time.Unix(1, 0))
			failed <- <-failed
		case "/behind":
			_, err := io.ReadAll(r.Body)
			for !s.looking() {
				runtime.Gosched() // it starts by the clock
			}
			_ = c.SetReadDeadline(time.Unix(1, 0))
			select {
			case <-r.Context().Done(): // the watch took it for a client that went away
				err = r.Context().Err()
			case <-time.After(50 * time.Millisecond):
			}
			looked <- err
		}
	})
	address := start(t, s)
	for _, path := range []string{"/soon", "/other"} {
		c := dial(t, address)
		c.send("POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhello")
		if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: got %v", path, err)
		}
	}
	c := dial(t, address)
	c.send("POST /behind HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
	if err := <-looked; err != nil {
		t.Error(err)
	}
	if r, _ := c.answer("POST"); r.StatusCode != 200 || r.Close {
		t.Errorf("got %d, close %v", r.StatusCode, r.Close)
	}
	c.send("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
	if r, _ := c.answer("POST"); r.StatusCode != 200 {
		t.Errorf("got %d", r.StatusCode)
	}
}

// TestFlush: what was written is sent, whatever follows.
func TestFlush(t *testing.T) {
	goOn := make(chan struct{})
	address := start(t, newServer(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/length" {
			w.Header().Set("Content-Length", "4")
		}
		c := http.NewResponseController(w)
		_ = c.Flush() // the header alone
		_, _ = io.WriteString(w, "ab")
		_, _ = c.Flush(), c.Flush()
		<-goOn
		_, _ = io.WriteString(w, "cd")
	}))
	for _, path := range []string{"/length", "/chunks"} {
		c := dial(t, address)
		c.send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")
		r, err := http.ReadResponse(c.in, nil)
		if err != nil {
			t.Fatal(err)
		}
		two := make([]byte, 2)
		if _, err := io.ReadFull(r.Body, two); err != nil || string(two) != "ab" {
			t.Fatalf("%s: got %q, %v", path, two, err)
		}
		goOn <- struct{}{}
		if rest, err := io.ReadAll(r.Body); err != nil || string(rest) != "cd" {
			t.Errorf("%s: got %q, %v", path, rest, err)
		}
	}
}
