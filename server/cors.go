package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/rs/cors"
)

// newHandler returns s, for pages of opt.Origins too. Browsers ask first what such a page may send (Fetch, CORS
// protocol); the guard would refuse what they send then.
func newHandler(s *Server, opt Options) http.Handler {
	if len(opt.Origins) == 0 {
		return s
	}
	for _, origin := range opt.Origins {
		if err := errors.Join(CheckOrigin(origin), s.origin.AddTrustedOrigin(origin)); err != nil {
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

// CheckOrigin reports what is wrong with a text as an element of Options.Origins. Package cors would take * for any
// text, and so let other pages read.
func CheckOrigin(origin string) error {
	if strings.Contains(origin, "*") {
		return fmt.Errorf("origin %q has a *, and stands for one origin", origin)
	}
	return new(http.CrossOriginProtection).AddTrustedOrigin(origin)
}
