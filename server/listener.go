package server

import (
	"net"
	"sync"
	"sync/atomic"
)

// limitListener closes connections over a limit as soon as it has accepted
// them. Leaving them in the queue of the operating system would make their
// clients wait for nothing.
type limitListener struct {
	net.Listener
	free atomic.Int64
}

func newLimitListener(l net.Listener, limit int) *limitListener {
	ll := &limitListener{Listener: l}
	ll.free.Store(int64(limit))
	return ll
}

// Accept returns the next connection within the limit.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.free.Add(-1) >= 0 {
			return &limitConn{Conn: c, release: sync.OnceFunc(func() { l.free.Add(1) })}, nil
		}
		l.free.Add(1)
		_ = c.Close() // nothing was promised to it
	}
}

type limitConn struct {
	net.Conn
	release func()
}

// CloseWrite ends what the server sends. net/http asks for it, to let a client
// read its answer before the connection goes.
func (c *limitConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

func (c *limitConn) Close() error {
	c.release()
	return c.Conn.Close()
}
