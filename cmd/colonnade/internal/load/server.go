package load

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/colonnade-db/colonnade/client"
)

// Server is the server of a load or an export.
type Server struct {
	URL   string
	Token string      // to send; "" for none
	TLS   *tls.Config // nil for the default
	// Dial makes connections, nil for those of the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client returns a client with the defaults of package client.
func (s *Server) Client() (*client.Client, error) {
	return client.New(s.URL, client.Options{HTTPClient: &http.Client{Transport: s.transport()}, Token: s.Token})
}

func (s *Server) transport() *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if s.TLS != nil {
		transport.TLSClientConfig = s.TLS.Clone()
	}
	if s.Dial != nil {
		transport.DialContext, transport.Proxy = s.Dial, nil
	}
	return transport
}

// connect returns a client that sends every request once, within a time, 0 for any. The retrier of this package also
// lets a request under way end after an interrupt, and needs no idempotency keys.
func (s *Server) connect(userAgent string, connections int, timeout time.Duration) (*client.Client, error) {
	transport := s.transport()
	transport.MaxIdleConnsPerHost = connections
	return client.New(s.URL, client.Options{
		HTTPClient:  &http.Client{Transport: transport, Timeout: timeout},
		Token:       s.Token,
		UserAgent:   userAgent,
		Compression: client.Uncompressed, // the server is mostly near, and the lines cost enough
		Attempts:    1,
	})
}
