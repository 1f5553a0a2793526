package server

import (
	"net/http"

	"github.com/rs/cors"
)

// newHandler returns s, for pages of opt.Origins too. Browsers ask first what such a page may send (Fetch, CORS
// protocol); the guard would refuse what they send then.
func newHandler(s *Server, opt Options) http.Handler {
	if len(opt.Origins) == 0 {
		return s
	}
	for _, origin := range opt.Origins {
		if err := s.origin.AddTrustedOrigin(origin); err != nil {
			panic("server: Options.Origins: " + err.Error())
		}
	}
	return cors.New(cors.Options{
		AllowedOrigins: opt.Origins,
		AllowedMethods: []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		AllowedHeaders: []string{"Accept", "Authorization", "Content-Encoding", "Content-Type", "Idempotency-Key"},
		ExposedHeaders: []string{"Retry-After", "X-Took-Ms"},
		MaxAge:         600, // seconds
	}).Handler(s)
}

// CheckOrigin reports what is wrong with a text as an element of Options.Origins.
func CheckOrigin(origin string) error {
	return new(http.CrossOriginProtection).AddTrustedOrigin(origin)
}
