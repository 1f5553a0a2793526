package admission

import (
	"container/list"
	"net"
	"sync"
	"sync/atomic"
)

// Connections bounds the number of connections of all front ends together. When they are too many, a new one replaces
// the oldest that has not sent a request, so that silent connections keep nobody out. If there is none, the new one is
// closed at once: in the kernel's queue its client would wait for nothing. It is safe for concurrent use.
type Connections struct {
	limit                   int
	open, accepted, refused atomic.Int64

	mu     sync.Mutex
	free   int
	silent list.List // of *Conn without a request so far, oldest first
}

// NewConnections returns Connections of which limit may be open.
func NewConnections(limit int) *Connections { return &Connections{limit: limit, free: limit} }

// Limit returns how many may be open.
func (c *Connections) Limit() int64 { return int64(c.limit) }

// Open returns how many are open.
func (c *Connections) Open() int64 { return c.open.Load() }

// Accepted returns how many have got a place.
func (c *Connections) Accepted() int64 { return c.accepted.Load() }

// Refused returns how many were closed because all places were taken.
func (c *Connections) Refused() int64 { return c.refused.Load() }

// Listen returns l with the limit. Its connections are of the type *Conn.
func (c *Connections) Listen(l net.Listener) net.Listener { return listener{l, c} }

type listener struct {
	net.Listener
	of *Connections
}

// Accept returns the next connection within the limit.
func (l listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if placed := l.of.takePlace(c); placed != nil {
			return placed, nil
		}
		l.of.refused.Add(1)
		_ = c.Close() // it was promised nothing
	}
}

// takePlace finds a place for a connection, or returns nil.
func (c *Connections) takePlace(nc net.Conn) *Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.free == 0 {
		oldest := c.silent.Front()
		if oldest == nil {
			return nil
		}
		victim := oldest.Value.(*Conn)
		c.releaseLocked(victim)
		c.refused.Add(1)
		_ = victim.Conn.Close() // its reader gets an error
	}
	c.free--
	c.open.Add(1)
	c.accepted.Add(1)
	placed := &Conn{Conn: nc, of: c}
	placed.silent = c.silent.PushBack(placed)
	return placed
}

// releaseLocked frees the place of a connection, once.
func (c *Connections) releaseLocked(conn *Conn) {
	if conn.released {
		return
	}
	conn.released = true
	c.free++
	c.open.Add(-1)
	c.hearLocked(conn)
}

func (c *Connections) hearLocked(conn *Conn) {
	if conn.silent != nil {
		c.silent.Remove(conn.silent)
		conn.silent = nil
	}
}

// Conn is a connection that has a place until it is closed.
type Conn struct {
	net.Conn
	of    *Connections
	heard atomic.Bool

	silent   *list.Element // in of.silent; guarded by of.mu
	released bool          // guarded by of.mu
}

// Heard says that the connection has sent a request.
func (c *Conn) Heard() {
	if c.heard.Load() || c.heard.Swap(true) {
		return
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.hearLocked(c)
}

// Close closes the connection and frees its place.
func (c *Conn) Close() error {
	c.of.mu.Lock()
	c.of.releaseLocked(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite closes the sending side, so that a client can read its response before the connection is closed.
func (c *Conn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// Address is the remote address of a Conn, for who has no more of it than that.
type Address struct {
	net.Addr
	Conn *Conn
}

// RemoteAddr returns an Address.
func (c *Conn) RemoteAddr() net.Addr { return Address{c.Conn.RemoteAddr(), c} }
