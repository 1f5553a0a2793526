package http1

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

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
