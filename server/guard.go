package server

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guard refuses requests that a web page may have made a browser send. CrossOriginProtection stops
// pages of other origins, whatever content type they send. The check of Host stops DNS rebinding: a
// page whose own name was pointed at a loopback address counts as same-origin in the browser, but
// has to send its name as Host.
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

// knownHost reports whether the Host of a request is one of the server's names. Without names it accepts
// all on addresses that other machines can reach.
func (s *Server) knownHost(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !local.IP.IsLoopback() && len(s.hosts) == 0 || r.Host == "" { // no Host is HTTP/1.0, and no browser
		return true
	}
	host := hostname(r.Host)
	if host == "localhost" || s.hosts[host] {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}

// hostname returns the name of "name" or "name:port".
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// CheckHost reports whether a text can be one of Options.Hosts: a name, which may have a port.
func CheckHost(host string) bool {
	return hostname(host) != "" && !strings.ContainsAny(host, "/*@ ")
}
