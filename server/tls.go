package server

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
)

// ServeTLS is Serve for connections with TLS. net/http serves them: it has HTTP/2, and encryption costs more than what
// http1 saves. config must offer the protocols h2 and http/1.1, also where it is made for each client.
func (s *Server) ServeTLS(l net.Listener, config *tls.Config) error {
	s.https.TLSConfig = config
	s.https.ReadHeaderTimeout = s.timeouts.Header // and of the handshake
	s.https.ReadTimeout = s.timeouts.Read
	s.https.IdleTimeout = s.timeouts.Idle
	err := s.https.ServeTLS(newLimitListener(l, s.opt.MaxConns, false, &s.connections), "", "")
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
