package server

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// streams are what connections may carry, and how many bytes of each are requests
// that net/http may see.
var streams = []struct {
	text string
	good int // -1 for all
	err  error
}{
	{"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", -1, nil},
	{"POST / HTTP/1.1\r\nHost: x\r\ncontent-length: 3\r\n\r\n\n\n\nPOST / HTTP/1.1\r\nHost: x\r\nContent-Length:0\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", -1, nil},
	{"POST / HTTP/1.1\r\nHost: x\r\nTRANSFER-ENCODING: chunked\r\n\r\nA;e=\"1\"\r\n\n\n\n\n\n\n\n\n\n\n\r\n1\r\n\n\r\n0\r\nT: 1\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", -1, nil},
	{"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\n\r\n", 27, errBareLF},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n\n\n\nGET /\n", 50, errBareLF},
	{"GET / HTTP/1.1\r\nHost: x\r\n y\r\n\r\n", 0, errFolded},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n", 0, errTwoLengths},
	{"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 0, errOldChunks},
	{"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n", 0, errBadLength},
	{"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", 0, errBadLength},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9223372036854775808\r\n\r\n", 0, errBadLength},
	{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\n", 0, errBadLength},
	{"GET http://x/ HTTP/1.1\r\nHosts: x\r\n\r\n", 0, errNoHost},
	{"GET / HTTP/1.0\r\n\r\nGET / HTTP/1.1\r\nhost:\r\n\r\n", -1, nil},
	{strings.Repeat("x", maxLine+1), 0, errLineTooLong},
	{"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nX: " + strings.Repeat("y", 5000) + "\r\nHost: x\r\n\r\n", -1, nil}, // more than a buffer of net/http
}

// TestFraming: however the bytes of a connection arrive, the same of them pass.
func TestFraming(t *testing.T) {
	for _, e := range streams {
		want := e.good
		if want < 0 {
			want = len(e.text)
		}
		for _, size := range []int{len(e.text), 1, 2, 3, 7, 26, 27, 28, 49, 50} {
			var f framing
			passed := 0
			var err error
			for i := 0; i < len(e.text) && err == nil; i += size {
				var n int
				n, err = f.follow([]byte(e.text[i:min(i+size, len(e.text))]))
				passed += n
			}
			if !errors.Is(err, e.err) || size == len(e.text) && passed != want || passed < want || err != nil && passed == len(e.text) {
				t.Errorf("%.200q, %d bytes at a time: got %v and %d bytes passed, want %v and %d", e.text, size, err, passed, e.err, want)
			}
		}
	}
}

// FuzzFraming: what it lets pass net/http divides into requests at the same places.
func FuzzFraming(f *testing.F) {
	for _, e := range streams {
		f.Add([]byte(e.text), 5)
	}
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		size = max(1, min(size, len(stream)))
		var whole, parts framing
		good, err := whole.follow(stream)
		var partsErr error
		for i := 0; i < len(stream) && partsErr == nil; i += size {
			_, partsErr = parts.follow(stream[i:min(i+size, len(stream))])
		}
		if !errors.Is(partsErr, err) && !errors.Is(partsErr, errLineTooLong) && !errors.Is(err, errLineTooLong) {
			t.Fatalf("got %v for all at once and %v for %d bytes at a time", err, partsErr, size)
		}
		if err != nil {
			stream = stream[:good]
		}
		source := bytes.NewReader(stream)
		r := bufio.NewReader(source)
		for {
			request, err := http.ReadRequest(r)
			if err != nil {
				return // net/http refuses more, or the stream has ended
			}
			if _, err := io.Copy(io.Discard, request.Body); err != nil {
				return
			}
			left := r.Buffered() + source.Len()
			if left == 0 {
				return // the stream may end before the request does
			}
			at := len(stream) - left
			var f framing
			if n, err := f.follow(stream[:at]); err != nil || n != at || f.next != requestLine || f.skip != 0 || len(f.begun) > 0 {
				t.Fatalf("net/http sees a request end at byte %d of %q, framing is in the middle of one: %+v, %v", at, stream, f, err)
			}
		}
	})
}

func BenchmarkFraming(b *testing.B) {
	body := writeBody()
	for _, e := range []struct{ name, stream string }{
		{"small", "POST /v1/table/t/rows HTTP/1.1\r\nHost: 127.0.0.1:9876\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: 2\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\n\r\n{}"},
		{"large", "POST /v1/table/t/write HTTP/1.1\r\nHost: 127.0.0.1:9876\r\nContent-Length: 123456\r\n\r\n" + strings.Repeat(string(body), 2)[:123456]},
	} {
		b.Run(e.name, func(b *testing.B) {
			stream := []byte(e.stream)
			b.ReportAllocs()
			var f framing
			for b.Loop() {
				if _, err := f.follow(stream); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
