package server

import "net/http"

// health is GET /healthz: the process answers.
func (s *Server) health(x *exchange) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	return x.reply(http.StatusOK, "The server is alive")
}

// healthy is what a Store can offer beside the contract: Health returns why it
// takes no writes any more, or nil.
type healthy interface{ Health() error }

// ready is GET /readyz: the server takes requests. It still does when its store
// takes no writes any more, and says so.
func (s *Server) ready(x *exchange) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	s.mu.RLock()
	draining := s.draining
	s.mu.RUnlock()
	if draining {
		return shuttingDown()
	}
	if h, ok := s.store.(healthy); ok {
		if h.Health() != nil {
			return x.reply(http.StatusOK, "The server takes reads, but no writes until it is restarted")
		}
	}
	return x.reply(http.StatusOK, "The server takes requests")
}
