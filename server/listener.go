package server

import (
	"io"
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
	framing framing
	refused bool   // by framing; of what the client sends nothing more is read
	instead []byte // what comes in place of that
}

// noRequest is what net/http gets to read where a client has sent something that
// framing refuses. Wherever it stands in a request it is no HTTP, so net/http
// answers 400 and closes the connection, after the requests before. (An error
// would end those as well.)
var noRequest = []byte("\x00\r\n\r\n")

// Read reads what framing lets pass.
func (c *limitConn) Read(p []byte) (int, error) {
	if c.refused {
		n := copy(p, c.instead)
		c.instead = c.instead[n:]
		if n == 0 && len(p) > 0 {
			return 0, io.EOF
		}
		return n, nil
	}
	n, err := c.Conn.Read(p)
	good, bad := c.framing.follow(p[:n])
	if bad == nil {
		return n, err
	}
	c.refused, c.instead = true, noRequest
	if good > 0 {
		return good, nil
	}
	return c.Read(p)
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
