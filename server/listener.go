package server

import (
	"container/list"
	"net"
	"sync"
)

// limitListener keeps so many connections. For one more it closes the oldest of
// those that have not sent a request yet: whoever means it has done so long
// since, and to open connections and say nothing must not keep others out. Where
// all have, the new one is closed at once; leaving it in the queue of the
// operating system would make its client wait for nothing.
type limitListener struct {
	net.Listener

	mu     sync.Mutex
	free   int
	silent list.List // of *limitConn without a request so far, in the order of their arrival
}

func newLimitListener(l net.Listener, limit int) *limitListener {
	return &limitListener{Listener: l, free: limit}
}

// Accept returns the next connection within the limit.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if lc := l.admit(c); lc != nil {
			return lc, nil
		}
		_ = c.Close() // nothing was promised to it
	}
}

// admit finds room for a connection, or returns nil.
func (l *limitListener) admit(c net.Conn) *limitConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free == 0 {
		oldest := l.silent.Front()
		if oldest == nil {
			return nil
		}
		victim := oldest.Value.(*limitConn)
		l.releaseLocked(victim)
		_ = victim.Conn.Close() // whoever reads from it sees it end
	}
	l.free--
	lc := &limitConn{Conn: c, from: l}
	lc.silent = l.silent.PushBack(lc)
	return lc
}

// heard notes that a connection has sent a request.
func (l *limitListener) heard(c *limitConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.silent != nil {
		l.silent.Remove(c.silent)
		c.silent = nil
	}
}

// releaseLocked gives the place of a connection back, once.
func (l *limitListener) releaseLocked(c *limitConn) {
	if c.released {
		return
	}
	c.released = true
	l.free++
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
	refused bool   // by framing; of what the client sends nothing more is looked at
	instead []byte // what comes in place of that
}

// noRequest is what http1 gets to read where a client has sent something that
// framing refuses. Wherever it stands in a request that is answered it is no HTTP, so
// http1 answers 400 and closes the connection, after the requests before. (An error
// would end those as well.)
var noRequest = []byte("\x00\r\n\r\n")

// Read reads what framing lets pass.
func (c *limitConn) Read(p []byte) (int, error) {
	if c.refused {
		n := copy(p, c.instead)
		c.instead = c.instead[n:]
		for n == 0 && len(p) > 0 { // what comes now is of no use, but has to be taken for the answer to arrive
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

// CloseWrite ends what the server sends. http1 asks for it, to let a client
// read its answer before the connection goes.
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
