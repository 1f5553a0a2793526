package server

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guard refuses what a web page could make a browser send here. A page of
// another origin is stopped by CrossOriginProtection, whatever content type it
// sends. A page whose own name was rebound to a loopback address (its requests
// are of one origin, as far as the browser knows) is stopped by the name that
// it has to give as Host.
func (s *Server) guard(r *http.Request) error {
	if !s.knownHost(r) {
		return refuse(http.StatusForbidden, "host_not_allowed", atHeader,
			"this server answers to localhost and IP addresses, not to the host %q", shorten(r.Host))
	}
	if err := s.origin.Check(r); err != nil {
		return refuse(http.StatusForbidden, "cross_origin", atHeader, "requests from pages of another origin are refused")
	}
	return nil
}

// knownHost reports whether the request may have come here under the name that
// it gives. On addresses that other machines can reach, any name may.
func (s *Server) knownHost(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !local.IP.IsLoopback() || r.Host == "" { // no Host is HTTP/1.0, and no browser
		return true
	}
	host := hostname(r.Host)
	if host == "localhost" || s.hosts[host] {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}

// hostname returns the name out of the form name or name:port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}
