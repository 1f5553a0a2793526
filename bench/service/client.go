package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/valyala/fasthttp"
)

// patience is how long one request may take, the longest scan included.
const patience = 2 * time.Minute

// client is one connection to a server, for one goroutine. It is lean, since what
// it costs is taken from the server: both share the machine.
type client struct {
	host     fasthttp.HostClient
	request  fasthttp.Request
	response fasthttp.Response
	answer   answer
	room     []byte // for the pieces of a long answer
	key      []byte // of the last keyed request, which no other request has
}

func newClient(address string) *client {
	c := &client{
		host: fasthttp.HostClient{
			Addr: address, MaxConns: 1, ReadTimeout: patience, WriteTimeout: patience, ReadBufferSize: 64 << 10,
			// A request that is lost is an error to count, not to hide.
			MaxIdemponentCallAttempts: 1,
		},
		room: make([]byte, 256<<10),
	}
	c.request.Header.SetContentType("application/json")
	c.request.Header.SetHost(address)
	c.key = []byte(rand.Text() + "00000000")
	return c
}

// nextKey gives requests an idempotency key that no other had, until dropKey.
func (c *client) nextKey() {
	for i := len(c.key) - 1; ; i-- {
		if c.key[i]++; c.key[i] <= '9' {
			break
		}
		c.key[i] = '0'
	}
	c.request.Header.SetBytesV("Idempotency-Key", c.key)
}

func (c *client) dropKey() { c.request.Header.Del("Idempotency-Key") }

func (c *client) close() { c.host.CloseIdleConnections() }

// answer is what is kept of an answer: enough to see whether it is right.
type answer struct {
	size       int64
	head, tail []byte // its first and its last bytes, which may overlap
}

// ends is how long head and tail are at most.
const ends = 512

// post sends a body and returns the answer, which is valid until the next one. With
// long, it is read piece by piece.
func (c *client) post(path string, body []byte, long bool) (*answer, error) {
	return c.do(fasthttp.MethodPost, path, body, long)
}

// create makes a table with all families.
func (c *client) create(table string) error {
	_, err := c.do(fasthttp.MethodPut, "/v1/table/"+table, []byte(families), false)
	return err
}

// drop drops a table.
func (c *client) drop(table string) error {
	_, err := c.do(fasthttp.MethodDelete, "/v1/table/"+table, nil, false)
	return err
}

// errRefused is the answer of a server that has too much to do: nothing has happened.
var errRefused = errors.New("status 503: the server has refused the request")

func (c *client) do(method, path string, body []byte, long bool) (*answer, error) {
	c.request.Header.SetMethod(method)
	c.request.SetRequestURI(path)
	c.request.SetBodyRaw(body)
	c.response.StreamBody = long
	if err := c.host.Do(&c.request, &c.response); err != nil {
		return nil, err
	}
	a := &c.answer
	*a = answer{head: a.head[:0], tail: a.tail[:0]}
	var err error
	if stream := c.response.BodyStream(); stream != nil {
		err = errors.Join(c.readAll(stream), c.response.CloseBodyStream())
	} else {
		a.add(c.response.Body())
	}
	switch status := c.response.StatusCode(); {
	case err == nil && status == fasthttp.StatusServiceUnavailable:
		err = errRefused
	case err == nil && status/100 != 2:
		err = fmt.Errorf("status %d: %s", status, a.head)
	}
	return a, err
}

func (c *client) readAll(r io.Reader) error {
	for {
		n, err := r.Read(c.room)
		c.answer.add(c.room[:n])
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// add takes the next piece.
func (a *answer) add(p []byte) {
	a.size += int64(len(p))
	if n := min(ends-len(a.head), len(p)); n > 0 {
		a.head = append(a.head, p[:n]...)
	}
	if len(p) >= ends {
		a.tail = a.tail[:0]
		p = p[len(p)-ends:]
	} else if drop := len(a.tail) + len(p) - ends; drop > 0 {
		a.tail = append(a.tail[:0], a.tail[drop:]...)
	}
	a.tail = append(a.tail, p...)
}

// counts says what is wrong with an answer that has to count so many rows and cells.
func (a *answer) counts(rows, cells int) error {
	var room [64]byte
	want := fmt.Appendf(room[:0], `"row_count":%d,"cell_count":%d`, rows, cells)
	if i := bytes.Index(a.tail, want); i >= 0 && !digit(a.tail[i+len(want)]) {
		return nil
	}
	return fmt.Errorf("wrong answer: want %s in …%s", want, a.tail)
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// begins says what is wrong with an answer of rows that has to begin with one.
func (a *answer) begins(key []byte) error {
	const before = `{"result":{"rows":[{"row_key":"`
	head, ok := bytes.CutPrefix(a.head, []byte(before))
	if ok && len(head) > len(key) && bytes.HasPrefix(head, key) && head[len(key)] == '"' {
		return nil
	}
	return fmt.Errorf("wrong answer: it does not begin with row %q: %s…", key, a.head)
}
