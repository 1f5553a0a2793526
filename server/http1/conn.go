package http1

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// conn is a connection. It belongs to its goroutine, except for marked fields. The response and the
// deadline of writes belong to one goroutine at a time, which a handler may start.
type conn struct {
	server *Server
	nc     net.Conn
	from   string // the client's address
	in     *bufio.Reader
	limit  headLimit // what in reads from
	last   lastHead

	ctx    context.Context // of all its requests
	cancel context.CancelFunc

	timed    context.Context // also ends at the deadline works; nil before its first use
	endTimed context.CancelFunc

	reads, writes, works deadline // while the watch looks, reads belongs to it

	dated  []byte // the header Date in that second
	second int64

	body     body
	response response
	watch    watch

	busy atomic.Bool // a request is under way, or no more may start
}

// headLimit reads a limited number of bytes.
type headLimit struct {
	nc   net.Conn
	left int64 // negative: no limit
}

func (l *headLimit) Read(p []byte) (int, error) {
	switch {
	case l.left < 0:
		return l.nc.Read(p)
	case l.left == 0:
		return 0, errHeadTooLong
	}
	n, err := l.nc.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{server: s, nc: nc, from: nc.RemoteAddr().String(), limit: headLimit{nc: nc, left: -1}}
	c.in = bufio.NewReader(&c.limit)
	c.reads.set, c.writes.set, c.works.set = nc.SetReadDeadline, nc.SetWriteDeadline, c.renewTimed
	ctx := context.WithValue(context.Background(), http.LocalAddrContextKey, nc.LocalAddr())
	c.ctx, c.cancel = context.WithCancel(context.WithValue(ctx, connKey{}, c))
	c.body.c = c
	c.response.c = c
	c.response.header = make(http.Header)
	c.watch.init(c)
	return c
}

// serve serves the requests of the connection one after another.
func (c *conn) serve() {
	defer c.close()
	defer c.rescue()
	timeout := c.server.HeaderTimeout // a new client sends its first request soon
	for {
		r, err := c.readRequest(timeout)
		if err != nil {
			c.reject(err)
			return
		}
		if !c.busy.CompareAndSwap(false, true) {
			return // a shutdown came first
		}
		if !c.handle(r) {
			return
		}
		if c.response.last {
			c.leave()
			return
		}
		c.busy.Store(false)
		if c.server.stopping.Load() { // the shutdown may have found the connection busy
			return
		}
		timeout = c.server.IdleTimeout
	}
}

// handle runs the handler for a request, and reports whether the response is whole.
func (c *conn) handle(r *http.Request) (whole bool) {
	w := &c.response
	w.begin(r)
	defer w.release()
	defer c.body.end()
	if c.body.done {
		c.watch.start()
	}
	defer c.watch.stop()
	defer func() {
		if p := recover(); p != nil {
			whole = false
			c.report(p)
			w.abort()
		}
	}()
	c.server.Handler.ServeHTTP(w, r)
	return w.finish()
}

// rescue ends only this connection if the parser panics.
func (c *conn) rescue() {
	if p := recover(); p != nil {
		c.report(p)
	}
}

func (c *conn) report(p any) {
	if p != http.ErrAbortHandler {
		c.server.Log.Error("a request panicked", "client", c.from, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	}
}

// date returns the header Date. It is formatted at most once a second.
func (c *conn) date(now time.Time) []byte {
	if second := now.Unix(); second != c.second || len(c.dated) == 0 {
		c.second = second
		c.dated = now.UTC().AppendFormat(c.dated[:0], http.TimeFormat)
	}
	return c.dated
}

func (c *conn) close() {
	_ = c.nc.Close()
	c.cancel()
	c.server.forget(c)
}

// mostLinger bounds the bytes that are read from a client whose connection ends.
const mostLinger = 64 << 20

// leave ends the connection after a response. Closing it at once while the client still sends its body
// would reset it, and the client could lose the response.
func (c *conn) leave() {
	if c.body.done {
		return
	}
	_ = c.reads.after(c.server.Now(), c.server.LingerTimeout)
	if w, ok := c.nc.(interface{ CloseWrite() error }); ok {
		_ = w.CloseWrite()
	}
	if c.body.duplex { // the client is likely to be in the middle of a long body
		_, _ = io.Copy(io.Discard, c.in)
		return
	}
	_, _ = io.CopyN(io.Discard, c.in, mostLinger)
}
