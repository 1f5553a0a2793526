package overload

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// wire is a client connection that sends requests of prepared text, with one call each. An http.Client uses more
// CPU time to send a request than the server to refuse it, and they share the CPUs.
type wire struct {
	address string
	conn    net.Conn // nil before the first request, and after a failure
	in      *bufio.Reader
}

// mostWait is how long a client waits for an answer.
const mostWait = 30 * time.Second

// wires returns the connections of n clients, which dial when they send something.
func wires(address string, n int) []*wire {
	all := make([]*wire, n)
	for i := range all {
		all[i] = &wire{address: address}
	}
	return all
}

func hangUp(all []*wire) {
	for _, w := range all {
		w.close()
	}
}

// request is the text of a post.
func request(path string, body []byte) []byte {
	head := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", path, len(body))
	return append(head, body...)
}

// post sends the text of a request and returns the answer with its body.
func (w *wire) post(text []byte) (*http.Response, []byte, error) {
	resp, body, err := w.exchange(text)
	if err != nil || resp.Close {
		w.close()
	}
	return resp, body, err
}

func (w *wire) exchange(text []byte) (*http.Response, []byte, error) {
	if w.conn == nil {
		conn, err := net.DialTimeout("tcp", w.address, mostWait)
		if err != nil {
			return nil, nil, err
		}
		w.conn, w.in = conn, bufio.NewReader(conn)
	}
	if err := w.conn.SetDeadline(time.Now().Add(mostWait)); err != nil {
		return nil, nil, err
	}
	if _, err := w.conn.Write(text); err != nil {
		return nil, nil, err
	}
	resp, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

func (w *wire) close() {
	if w.conn != nil {
		_ = w.conn.Close()
		w.conn = nil
	}
}
