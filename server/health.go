package server

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/colonnade-db/colonnade/widecol"
)

var healthOperation = operation{does: "Answers while the process runs.", answer: answer{status: http.StatusOK, result: nullSchema}}

// health is GET /healthz: the process responds.
func (s *Server) health(x *requestContext) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	return x.reply(http.StatusOK, "The server is alive")
}

var readyOperation = operation{does: "Answers 200 while the server takes requests, and says whether it takes writes.", answer: answer{status: http.StatusOK, result: nullSchema}}

// ready is GET /readyz: the server accepts requests. If the store refuses writes, the server still
// accepts requests, and the message says why writes fail.
func (s *Server) ready(x *requestContext) error {
	if err := x.decode(true, (*decoder).nothing); err != nil {
		return err
	}
	if s.admission.Draining() {
		return shuttingDown()
	}
	if h, ok := s.store.(widecol.HealthReporter); ok {
		if err := h.Health(); err != nil {
			return x.reply(http.StatusOK, "The server takes reads, but no writes "+until(err))
		}
	}
	if d, ok := s.store.(widecol.DamageReporter); ok {
		if list := d.Damage(); len(list) > 0 {
			if s.opt.Access != nil { // probes have no token, and the errors name files
				return x.reply(http.StatusOK, "The server takes requests, but its files are damaged: its log says which")
			}
			return x.reply(http.StatusOK, "The server takes requests, but its files are damaged: "+summary(list))
		}
	}
	return x.reply(http.StatusOK, "The server takes requests")
}

// summary returns the first errors, and how many more there are.
func summary(list []error) string {
	const most = 5
	var text strings.Builder
	for i, err := range list[:min(len(list), most)] {
		if i > 0 {
			text.WriteString("; ")
		}
		text.WriteString(err.Error())
	}
	if n := len(list) - most; n > 0 {
		fmt.Fprintf(&text, "; and %d more", n)
	}
	return text.String()
}

// until says when a store that refuses writes will accept them again.
func until(err error) string {
	switch widecol.KindOf(err) {
	case widecol.Overloaded:
		return "until its disk answers: the disk is slow"
	case widecol.DiskFull:
		return "until there is room on its disk: the disk is full"
	}
	return "until it is restarted"
}
