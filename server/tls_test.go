package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/internal/testcert"
)

// listenTLS serves s with TLS until the test ends. It returns the address, and a client that trusts it.
func listenTLS(t *testing.T, s *Server) (address string, c *http.Client) {
	t.Helper()
	authority := testcert.NewAuthority(t, "authority")
	pair, err := tls.X509KeyPair(authority.Issue(t, "server"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.ServeTLS(l, &tls.Config{Certificates: []tls.Certificate{pair}}) }()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = s.Shutdown(context.Background())
		if err := <-served; err != nil {
			t.Errorf("ServeTLS: %v", err)
		}
	})
	return l.Addr().String(), &http.Client{Transport: transport, Timeout: patience}
}

// TestTLS sends requests over HTTP/2 and HTTP/1.1.
func TestTLS(t *testing.T) {
	c := newClient(t)
	c.must(201, "PUT", "/v1/table/t", `{"column_families":[{"name":"f"}]}`)
	for i := range 1000 {
		c.must(200, "POST", "/v1/table/t/write", fmt.Sprintf(`{"items":[{"row_key":"r%04d","cells":[{"column_key":"f:","type":"string","value":"%s"}]}]}`, i, strings.Repeat("x", 200)))
	}
	address, h2 := listenTLS(t, c.Server)
	h1 := &http.Client{Transport: h2.Transport.(*http.Transport).Clone(), Timeout: patience}
	h1.Transport.(*http.Transport).ForceAttemptHTTP2 = false
	h1.Transport.(*http.Transport).TLSClientConfig.NextProtos = []string{"http/1.1"}
	defer h1.CloseIdleConnections()
	for proto, client := range map[string]*http.Client{"HTTP/2.0": h2, "HTTP/1.1": h1} {
		r, err := client.Post("https://"+address+"/v1/table/t/scan", "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || r.Proto != proto || r.StatusCode != 200 || !strings.Contains(string(text), `"row_count":1000`) || strings.Count(string(text), "row_key") != 1000 {
			t.Errorf("%s: got %s %d, %v, …%s", proto, r.Proto, r.StatusCode, err, text[max(0, len(text)-300):])
		}
		r, err = client.Post("https://"+address+"/v1/table/t/write", "application/json", strings.NewReader(`{"items":[`))
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := io.ReadAll(r.Body); r.StatusCode != 400 {
			t.Errorf("%s: got %d, %s", proto, r.StatusCode, text)
		}
		r.Body.Close()
	}
}

// TestTLSVersions: clients of old versions, and those without TLS, get no answer of the server.
func TestTLSVersions(t *testing.T) {
	address, trusting := listenTLS(t, newClient(t).Server)
	roots := trusting.Transport.(*http.Transport).TLSClientConfig.RootCAs
	for version, ok := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, MinVersion: version, MaxVersion: version})
		if err == nil {
			conn.Close()
		}
		if (err == nil) != ok {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
	}
	r, err := http.Get("http://" + address + "/healthz")
	if err != nil {
		return
	}
	r.Body.Close()
	if r.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %d", r.StatusCode)
	}
}

// TestTLSShutdown: a request under way is answered.
func TestTLSShutdown(t *testing.T) {
	c, store, _ := streaming(t, fakeRows{})
	started, release := make(chan struct{}), make(chan struct{})
	store.onWrite = func(context.Context) error { close(started); <-release; return nil }
	address, client := listenTLS(t, c.Server)
	status := make(chan string, 1)
	go func() {
		r, err := client.Post("https://"+address+"/v1/table/t/write", "application/json", strings.NewReader(cellOf("i64", "1")))
		if err != nil {
			status <- err.Error()
			return
		}
		r.Body.Close()
		status <- r.Status
	}()
	<-started
	done := make(chan error, 1)
	go func() { done <- c.Shutdown(context.Background()) }()
	eventually(t, "the server is not ready any more", func() bool { return c.send("GET", "/readyz", "").Code == 503 })
	close(release)
	if got := <-status; got != "200 OK" {
		t.Errorf("the request under way: %s", got)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	case <-time.After(patience):
		t.Error("Shutdown does not end")
	}
}

// TestTLSConnections: connections without a request give way to others, as without TLS, also those that have begun a
// handshake, or ended it.
func TestTLSConnections(t *testing.T) {
	c := newClient(t)
	c.opt.MaxConns = 2
	address, client := listenTLS(t, c.Server)
	for i := range 6 {
		silent, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		switch i % 3 {
		case 1:
			_, err = silent.Write([]byte{22, 3, 1}) // the beginning of a record with a handshake
		case 2:
			config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
			config.ServerName = "127.0.0.1"
			err = tls.Client(silent, config).Handshake()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := client.Get("https://" + address + "/healthz")
	if err != nil || r.StatusCode != 200 {
		t.Fatalf("beside silent connections: %v %v", r, err)
	}
	r.Body.Close()
}
