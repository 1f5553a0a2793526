package server

import (
	"net"

	"github.com/colonnade-db/colonnade/admission"
)

// framedListener is a listener whose connections are framed.
type framedListener struct{ net.Listener }

// Accept returns the next connection.
func (l framedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &framedConn{Conn: c.(*admission.Conn)}, nil
}

type framedConn struct {
	*admission.Conn
	framing framing
	refused bool   // by framing; the rest of the input is ignored
	instead []byte // the replacement for the rest
}

// noRequest replaces input that framing refuses. It is invalid at every point of a request, so http1
// responds 400 and closes the connection after the requests before it. A read error would end those
// too.
var noRequest = []byte("\x00\r\n\r\n")

// Read reads the bytes that framing allows.
func (c *framedConn) Read(p []byte) (int, error) {
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
		c.Heard()
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
