package server

import (
	"net/http"
	"slices"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/admission"
)

// operation is what a client may know of a route, besides its method and path: what it takes and what it answers. It
// stands beside the handler. Tests hold each against what the handler does.
type operation struct {
	does    string // a sentence
	params  []parameter
	body    schema // nil if it takes none
	lines   schema // of each line, if the body may be lines
	without bool   // the body may be left out
	answer  answer
	also    []answer // others with success, of other statuses
	refuses []int    // statuses of errors, besides those that follow from the route
}

// parameter is one in the query of the URL.
type parameter struct {
	name, does string
	required   bool
	schema     schema
}

// answer is an answer with success.
type answer struct {
	status int
	result schema // in the envelope
	whole  schema // of an answer without envelope, in place of result
	lines  schema // of each line, if the answer may be lines

	texts []string // the media types of an answer that is not JSON
}

// refusals returns the statuses of errors, in order.
func (r *route) refusals() []int {
	all := append(r.refuses, http.StatusBadRequest, http.StatusForbidden, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusRequestHeaderFieldsTooLarge, http.StatusInternalServerError, http.StatusServiceUnavailable)
	if r.scope != access.None {
		all = append(all, http.StatusUnauthorized, http.StatusTooManyRequests)
	}
	if slices.Contains(r.path, tableSegment) {
		all = append(all, http.StatusNotFound)
	}
	if r.keyed {
		all = append(all, http.StatusConflict, http.StatusUnprocessableEntity)
	}
	if r.class == admission.Write {
		all = append(all, http.StatusGatewayTimeout, http.StatusInsufficientStorage)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// refusalMeans says what each status of an error means.
var refusalMeans = map[int]string{
	http.StatusBadRequest:                  "The request breaks a rule; nothing has changed",
	http.StatusUnauthorized:                "The server has access control, and the request has no valid token",
	http.StatusForbidden:                   "The token does not allow this; or a browser sent this for a page of another origin, or under a name that is not the server's",
	http.StatusNotFound:                    "There is no such table, column family or locality group",
	http.StatusRequestTimeout:              "The body did not arrive in time",
	http.StatusConflict:                    "The change does not fit what is stored, or another request has the same key",
	http.StatusRequestEntityTooLarge:       "The body or a value is over a limit",
	http.StatusUnsupportedMediaType:        "The body's type or compression is not taken",
	http.StatusUnprocessableEntity:         "The Idempotency-Key came with a different request before",
	http.StatusTooManyRequests:             "The table or the token is over its quota, or too many requests from this address had no valid token",
	http.StatusRequestHeaderFieldsTooLarge: "The path, its query and the header are too long",
	http.StatusInternalServerError:         "Stored data is damaged, or there is a bug",
	http.StatusServiceUnavailable:          "The server is overloaded, read-only or stopping; nothing has happened",
	http.StatusGatewayTimeout:              "The outcome is unknown: the change may be applied, as a whole, or not",
	http.StatusInsufficientStorage:         "The disk is full, or the table is over its quota of storage; nothing has happened",
}
