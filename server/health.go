package server

import "net/http"

// health is GET /healthz: the process answers.
func (s *Server) health(x *exchange) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	return x.reply(http.StatusOK, "The server is alive")
}

// ready is GET /readyz: the server takes requests.
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
	return x.reply(http.StatusOK, "The server takes requests")
}
