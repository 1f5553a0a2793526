package load

import (
	"crypto/tls"
	"net/http"
	"time"

	"colonnade/client"
)

// Server is the server of a load or an export.
type Server struct {
	URL   string
	Token string      // to send; "" for none
	TLS   *tls.Config // nil for the default
}

// connect returns a client that sends every request once, within a time, 0 for any. The retrier of this package also
// lets a request under way end after an interrupt, and needs no idempotency keys.
func (s *Server) connect(userAgent string, connections int, timeout time.Duration) (*client.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = connections
	if s.TLS != nil {
		transport.TLSClientConfig = s.TLS.Clone()
	}
	return client.New(s.URL, client.Options{
		HTTPClient:  &http.Client{Transport: transport, Timeout: timeout},
		Token:       s.Token,
		UserAgent:   userAgent,
		Compression: client.Uncompressed, // the server is mostly near, and the lines cost enough
		Attempts:    1,
	})
}
