package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// SlowQueries are queries that have taken long, of all tables.
type SlowQueries struct {
	// LimitMicros is how long a query must take, 0 if the server keeps none.
	LimitMicros int64       `json:"limit_micros"`
	Queries     []SlowQuery `json:"queries"` // the newest first
}

// SlowQuery is a query that has taken long.
type SlowQuery struct {
	TimeMicros int64           `json:"time"`  // when it began, since the Unix epoch
	Route      string          `json:"route"` // of the HTTP interface, or a method of Bigtable's clients
	Table      string          `json:"table"`
	TookMicros int64           `json:"took_micros"`
	Token      string          `json:"token"` // the id of whose query it was, "" without access control
	TokenName  string          `json:"token_name"`
	Items      int             `json:"items"`   // how many queries it was, 0 for one that stands for itself
	Shape      json.RawMessage `json:"query"`   // what it selected by and how much, with nothing of a row
	Explain    Explanation     `json:"explain"` // what the server did
}

// SlowQueries returns the last slow queries that the server keeps. A server with access control wants a token of scope admin
// for all tables.
func (c *Client) SlowQueries(ctx context.Context) (slow SlowQueries, err error) {
	err = c.call(ctx, &request{class: read, method: http.MethodGet, path: "/v1/slow-query"}, &slow)
	return slow, err
}
