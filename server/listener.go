package server

import (
	"container/list"
	"net"
	"sync"
	"sync/atomic"
)

// limitListener bounds the number of connections. When it is full, a new connection replaces the
// oldest that has not sent a request, so that silent connections keep nobody out. If there is none,
// it closes the new one at once: in the kernel's queue the client would wait for nothing.
type limitListener struct {
	net.Listener
	framed bool // see limitConn.Read

	connections *connections

	mu     sync.Mutex
	free   int
	silent list.List // of *limitConn without a request so far, oldest first
}

// connections counts the connections of a Server.
type connections struct{ open, accepted, refused atomic.Int64 }

// newLimitListener returns a listener whose connections are framed, or carry TLS.
func newLimitListener(l net.Listener, limit int, framed bool, c *connections) *limitListener {
	return &limitListener{Listener: l, framed: framed, free: limit, connections: c}
}

// Accept returns the next connection within the limit.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if lc := l.takePlace(c); lc != nil {
			return lc, nil
		}
		l.connections.refused.Add(1)
		_ = c.Close() // it was promised nothing
	}
}

// takePlace finds a place for a connection, or returns nil.
func (l *limitListener) takePlace(c net.Conn) *limitConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free == 0 {
		oldest := l.silent.Front()
		if oldest == nil {
			return nil
		}
		victim := oldest.Value.(*limitConn)
		l.releaseLocked(victim)
		l.connections.refused.Add(1)
		_ = victim.Conn.Close() // its reader gets an error
	}
	l.free--
	l.connections.open.Add(1)
	l.connections.accepted.Add(1)
	lc := &limitConn{Conn: c, from: l}
	lc.silent = l.silent.PushBack(lc)
	return lc
}

// heard records that a connection has sent a request.
func (l *limitListener) heard(c *limitConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.silent != nil {
		l.silent.Remove(c.silent)
		c.silent = nil
	}
}

// releaseLocked frees the place of a connection, once.
func (l *limitListener) releaseLocked(c *limitConn) {
	if c.released {
		return
	}
	c.released = true
	l.free++
	l.connections.open.Add(-1)
	if c.silent != nil {
		l.silent.Remove(c.silent)
		c.silent = nil
	}
}

type limitConn struct {
	net.Conn
	from     *limitListener
	silent   *list.Element // in from.silent; guarded by from.mu
	released bool          // guarded by from.mu

	framing framing
	refused bool   // by framing; the rest of the input is ignored
	instead []byte // the replacement for the rest
}

// noRequest replaces input that framing refuses. It is invalid at every point of a request, so http1
// responds 400 and closes the connection after the requests before it. A read error would end those
// too.
var noRequest = []byte("\x00\r\n\r\n")

// Read reads the bytes that framing allows, if the connection is framed. Of others hearTLS knows when they have spoken.
func (c *limitConn) Read(p []byte) (int, error) {
	if !c.from.framed {
		return c.Conn.Read(p)
	}
	if c.refused {
		n := copy(p, c.instead)
		c.instead = c.instead[n:]
		for n == 0 && len(p) > 0 { // read and drop: unread input would reset the connection before the response arrives
			if _, err := c.Conn.Read(p); err != nil {
				return 0, err
			}
		}
		return n, nil
	}
	n, err := c.Conn.Read(p)
	heads := c.framing.heads
	good, bad := c.framing.follow(p[:n])
	if heads == 0 && c.framing.heads > 0 {
		c.from.heard(c)
	}
	if bad == nil {
		return n, err
	}
	c.refused, c.instead = true, noRequest
	if good > 0 {
		return good, nil
	}
	return c.Read(p)
}

// CloseWrite closes the sending side. http1 calls it so that a client can read its response before
// the connection is closed.
func (c *limitConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

func (c *limitConn) Close() error {
	c.from.mu.Lock()
	c.from.releaseLocked(c)
	c.from.mu.Unlock()
	return c.Conn.Close()
}
