package server

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"

	"github.com/colonnade-db/colonnade/admission"
)

// ServeTLS is Serve for connections with TLS. net/http serves them: it has HTTP/2, and encryption costs more than what
// http1 saves. config must offer the protocols h2 and http/1.1, also where it is made for each client.
func (s *Server) ServeTLS(l net.Listener, config *tls.Config) error {
	s.https.TLSConfig = config
	s.https.ReadHeaderTimeout = s.timeouts.Header // and of the handshake
	s.https.ReadTimeout = s.timeouts.Read
	s.https.IdleTimeout = s.timeouts.Idle
	s.https.ConnState = hearTLS
	err := s.https.ServeTLS(s.connections.Listen(l), "", "")
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// hearTLS counts a connection as heard once it is active, after its handshake: with the head of a request, or over HTTP/2
// with the preface. net/http bounds the time until then.
func hearTLS(c net.Conn, state http.ConnState) {
	if state != http.StateActive {
		return
	}
	if encrypted, ok := c.(*tls.Conn); ok {
		if placed, ok := encrypted.NetConn().(*admission.Conn); ok {
			placed.Heard()
		}
	}
}
