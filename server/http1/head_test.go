package http1

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// twoHeads are heads that come one after the other, and whether the second is known by the
// first.
var twoHeads = []struct {
	first, second string
	known         bool
}{
	{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", true},
	{"GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\n\r\n", true},
	{"POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nX: y\r\n\r\n", "POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 123\r\nX: y\r\n\r\n", true},
	{"POST / HTTP/1.1\r\nContent-Length: 123\r\nHost: x\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: 5\r\nHost: x\r\n\r\n", true},
	{"POST / HTTP/1.1\r\nHost: x\r\ncontent-length: 5\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\ncontent-length: 0\r\n\r\n", true},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0010\r\n\r\n", true},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 08\r\n\r\n", true},
	{"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 6\r\n\r\n", true},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length:5\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length:12\r\n\r\n", true},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length:  5 \r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n", true},
	{"GET / HTTP/1.1\r\nHost: x\r\nX-Content-Length: 5\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nX-Content-Length: 5\r\n\r\n", true},

	{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: y\r\n\r\n", false},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nX: y\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\nX: z\r\n\r\n", false},
	{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "PUT / HTTP/1.1\r\nHost: x\r\n\r\n", false},
	{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET /a HTTP/1.1\r\nHost: x\r\n\r\n", false},
	{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nX: y\r\n\r\n", false},
	{"GET / HTTP/1.1\r\nHost: x\r\nX: y\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", false},
	{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.0\r\nHost: x\r\n\r\n", false},
	{"GET / HTTP/1.1\r\nHost: x\r\nX-Content-Length: 5\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nX-Content-Length: 6\r\n\r\n", false},
	{"GET / HTTP/1.1\r\nHost: x\r\nX: Content-Length: 5\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nX: Content-Length: 6\r\n\r\n", false},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", false},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", false},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", false},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \r\n\r\n", false},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5 \r\n\r\n", false},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x10\r\n\r\n", false},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1_0\r\n\r\n", false},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n", false},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9223372036854775808\r\n\r\n", false},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 5\r\n\r\n", false},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", false},
	{"POST / HTTP/1.1\r\nHost: x\r\nX: y\nContent-Length: 5\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nX: y\nContent-Length: 5\r\n\r\n", false},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n \r\nX: y\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n \r\nX: y\r\n\r\n", false},
	{"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", false},
	{"GET / HTTP/1.1\r\nHost: x\r\n" + fields(mostFieldsKept-1) + "\r\n", "GET / HTTP/1.1\r\nHost: x\r\n" + fields(mostFieldsKept-1) + "\r\n", true},
	{"GET / HTTP/1.1\r\nHost: x\r\n" + fields(mostFieldsKept) + "\r\n", "GET / HTTP/1.1\r\nHost: x\r\n" + fields(mostFieldsKept) + "\r\n", false},
	{"GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X:\r\n", mostFieldsKept) + "\r\n", "GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X:\r\n", mostFieldsKept) + "\r\n", false},
	{"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", mostHeadKept) + "\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", mostHeadKept) + "\r\n\r\n", false},
}

// fields are n fields of a head.
func fields(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "X%d:\r\n", i)
	}
	return text.String()
}

// parsed is the request that net/http's parser makes of a head, or nil. A head with more
// behind its end is none.
func parsed(head []byte) *http.Request {
	in := bufio.NewReaderSize(bytes.NewReader(head), max(16, len(head)))
	r, err := http.ReadRequest(in)
	if err != nil || in.Buffered() > 0 {
		return nil
	}
	r.Body = nil
	delete(r.Header, "Content-Length")
	return r
}

// TestHeadAgain: a head is known exactly if it is the last one with another length.
func TestHeadAgain(t *testing.T) {
	for _, e := range twoHeads {
		var last lastHead
		first, second := []byte(e.first), []byte(e.second)
		unknown := func(when string) {
			if last.again(nil) != nil || last.again(append(first, first...)) != nil {
				t.Errorf("%s %q: what is no head is known", when, first)
			}
		}
		unknown("before")
		last.note(first)
		if last.again(first) != nil {
			t.Errorf("%q is known before it is parsed", first)
		}
		last.keep(parsed(first))
		got := last.again(second)
		if (got != nil) != e.known {
			t.Errorf("%q after %q: known %v, want %v", second, first, got != nil, e.known)
		}
		if want := parsed(second); got != nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q after %q: %+v, want %+v", second, first, got, want)
		}
		if got != nil && got == last.again(second) {
			t.Errorf("%q: two requests are one", second)
		}
		unknown("after")
		for _, head := range [][]byte{nil, bytes.Repeat([]byte("x"), mostHeadKept+1)} {
			last.note(head)
			last.keep(&http.Request{})
			unknown("after another than")
			if last.again(first) != nil {
				t.Errorf("%q is known after %d other bytes", first, len(head))
			}
		}
	}
}

// FuzzHeadAgain: what is known from the last head is what the parser makes of it.
func FuzzHeadAgain(f *testing.F) {
	for _, e := range twoHeads {
		f.Add([]byte(e.first), []byte(e.second))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		for _, head := range [][]byte{first, second} { // as wholeHead returns them
			if bytes.Index(head, []byte(headEnd)) != len(head)-len(headEnd) {
				return
			}
		}
		r := parsed(first)
		if r == nil {
			return
		}
		var last lastHead
		last.note(first)
		last.keep(r)
		if got := last.again(second); got != nil {
			if want := parsed(second); !reflect.DeepEqual(got, want) {
				t.Errorf("%q after %q: %+v, want %+v", second, first, got, want)
			}
		}
	})
}

// TestHeadKept: a connection knows the head it had last, with a body behind it and with
// another request.
func TestHeadKept(t *testing.T) {
	const post = "POST /0?= HTTP/1.1\r\nHost: x\r\nContent-Length: "
	for _, requests := range []string{get + get, post + "2\r\n\r\nab" + post + "11\r\n\r\nhello again"} {
		var urls []*url.URL
		var from []string
		c := dial(t, start(t, newServer(func(w http.ResponseWriter, r *http.Request) {
			urls, from = append(urls, r.URL), append(from, r.RemoteAddr)
			sized(w, r)
		})))
		c.send(requests)
		for range 2 {
			c.answer("GET")
		}
		if len(urls) != 2 || urls[0] != urls[1] {
			t.Errorf("%q: the second head was parsed again", requests)
		}
		if want := c.LocalAddr().String(); !slices.Equal(from, []string{want, want}) {
			t.Errorf("%q: they come from %q, want %q", requests, from, want)
		}
	}
}

// TestConnectionAgain: what a request gets does not depend on the one before it on the
// connection, whether they come at once or one by one.
func TestConnectionAgain(t *testing.T) {
	address := start(t, newServer(func(w http.ResponseWriter, r *http.Request) {
		if none := r.Body == http.NoBody; none != (r.ContentLength == 0) {
			t.Errorf("%d bytes, and no body is %v", r.ContentLength, none)
		}
		body, err := io.ReadAll(r.Body)
		text := fmt.Sprintf("%s %s %s %s %v %d %v %q %v", r.Method, r.URL, r.Proto, r.Host, r.Header, r.ContentLength, r.Close, body, err)
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		io.WriteString(w, text)
	}))
	post := func(head string, n int) string {
		return fmt.Sprintf("POST /p HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\nX: y\r\n\r\n%s", head, n, strings.Repeat("0123456789", n/10+1)[:n])
	}
	requests := []string{
		get, get, post("", 5), post("", 12), post("", 12), post("Y: z\r\n", 12), post("", 0), post("", 9000), post("", 3),
		"POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", post("", 3), get, post("", 200_000), post("", 200_001), get,
		"GET /0?= HTTP/1.1\r\nHost: y\r\nX: " + strings.Repeat("y", mostHeadKept) + "\r\n\r\n", get,
	}
	method := func(request string) string { return strings.Fields(request)[0] }
	together, apart := dial(t, address), dial(t, address)
	go io.WriteString(together.Conn, strings.Join(requests, ""))
	for i, request := range requests {
		alone := dial(t, address)
		alone.send(request)
		_, want := alone.answer("POST")
		apart.send(request)
		for _, c := range []*client{together, apart} {
			if _, got := c.answer(method(request)); got != want {
				t.Errorf("request %d: got %.200s, want %.200s", i, got, want)
			}
		}
	}
}

// TestHalfBody: a body that ends too early is not taken for the whole, however often it is
// read, and the connection ends with the answer.
func TestHalfBody(t *testing.T) {
	for _, framing := range []string{"Content-Length: 5\r\n\r\nhell", "Transfer-Encoding: chunked\r\n\r\n5\r\nhell"} {
		c := dial(t, start(t, newServer(func(w http.ResponseWriter, r *http.Request) {
			for range 2 {
				if _, err := io.ReadAll(r.Body); err != io.ErrUnexpectedEOF {
					t.Errorf("%q: got %v, want %v", framing, err, io.ErrUnexpectedEOF)
				}
			}
		})))
		c.send("POST / HTTP/1.1\r\nHost: x\r\n" + framing)
		c.Conn.(*net.TCPConn).CloseWrite()
		if r, _ := c.answer("POST"); !r.Close {
			t.Errorf("%q: the connection goes on", framing)
		}
		c.closed()
	}
}
