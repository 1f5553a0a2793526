// Package remote is an HTTP client of the server, for parts of the harness that kill it.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Client is a client of one life of the server. It is safe for concurrent use.
type Client struct {
	url  string
	http *http.Client
}

// NewClient returns a client of the server at a URL. It keeps at most the given number of connections.
func NewClient(url string, connections int) *Client {
	return &Client{url: url, http: &http.Client{
		// Longer than any response, so it only ends hangs.
		Timeout:   20 * time.Second,
		Transport: &http.Transport{MaxIdleConns: connections, MaxIdleConnsPerHost: connections, DisableCompression: true},
	}}
}

// Close closes the connections that are idle.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Do sends a request and decodes the result of the response, unless result is nil. The error is a *StatusError, a
// *LostError, or says that the response is malformed.
func (c *Client) Do(ctx context.Context, method, path string, body []byte, result any) error {
	return c.send(ctx, "", method, path, body, result)
}

// send is Do under an idempotency key, empty for none.
func (c *Client) send(ctx context.Context, key, method, path string, body []byte, result any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return &LostError{err}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return &LostError{err}
	}
	if resp.StatusCode/100 != 2 {
		return &StatusError{resp.StatusCode, string(answer)}
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer, &struct{ Result any }{result})
}

// StatusError is a response with an error.
type StatusError struct {
	Status int
	Text   string
}

func (e *StatusError) Error() string { return fmt.Sprintf("status %d: %s", e.Status, e.Text) }

// Says reports whether err is a response with an error of that code.
func Says(err error, code string) bool {
	var status *StatusError
	return errors.As(err, &status) && strings.Contains(status.Text, fmt.Sprintf(`"code":%q`, code))
}

// LostError is a request without a whole response.
type LostError struct{ Cause error }

func (e *LostError) Error() string { return e.Cause.Error() }

// Outcome is what a client knows of a request after its end.
type Outcome int

const (
	Done    Outcome = iota
	Refused         // nothing was done
	Lost            // there is no answer, as of a server that was killed
	Unknown         // the answer says that nobody knows
	Wrong           // an answer that does not belong here
)

// OutcomeOf returns the outcome for an error of Do.
func OutcomeOf(err error) Outcome {
	var lost *LostError
	var status *StatusError
	switch {
	case err == nil:
		return Done
	case errors.As(err, &lost):
		return Lost
	case !errors.As(err, &status):
		return Wrong
	}
	switch status.Status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusInsufficientStorage:
		return Refused
	case http.StatusGatewayTimeout:
		return Unknown
	}
	return Wrong
}
