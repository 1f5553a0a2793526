package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// request is a request as it is sent, once or several times.
type request struct {
	class    class
	method   string
	path     string
	body     []byte
	encoding string    // Content-Encoding of body
	source   io.Reader // the body, as lines that come, in place of body
	key      string    // Idempotency-Key, "" for none
	lines    bool      // the answer shall be lines
	text     bool      // the answer is no JSON, but text
}

const (
	jsonType  = "application/json"
	linesType = "application/x-ndjson"
)

// change returns a request that changes cells, under the key of the context or a new one.
func (c *Client) change(ctx context.Context, method, path string, body []byte) *request {
	key, ok := ctx.Value(keyOfContext{}).(string)
	if !ok {
		key = c.newKey()
	}
	return &request{class: keyedChange, method: method, path: path, body: body, key: key}
}

// send sends a request once. It returns the inflated body of a success, which the caller must close; it is
// reused for other requests if it was read to its end. An error that
// another attempt may mend is an *Error or a *noAnswer.
func (c *Client) send(ctx context.Context, r *request) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err // nothing was sent
	}
	var source io.Reader = bytes.NewReader(r.body)
	if r.source != nil {
		source = r.source
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, source)
	if err != nil {
		return nil, err
	}
	h := req.Header
	h.Set("Accept", jsonType)
	switch {
	case r.lines:
		h.Set("Accept", linesType)
	case r.text:
		h.Set("Accept", "text/plain")
	}
	h.Set("Accept-Encoding", c.opt.Compression.accepted())
	h.Set("User-Agent", c.opt.UserAgent)
	if c.opt.Token != "" {
		h.Set("Authorization", "Bearer "+c.opt.Token)
	}
	if len(r.body) > 0 {
		h.Set("Content-Type", jsonType)
	}
	if r.source != nil {
		h.Set("Content-Type", linesType)
	}
	if r.encoding != "" {
		h.Set("Content-Encoding", r.encoding)
	}
	if r.key != "" {
		h.Set("Idempotency-Key", r.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		var op *net.OpError
		unsent := errors.As(err, &op) && op.Op == "dial"
		return nil, &noAnswer{cause: err, unsent: unsent, ended: ctx.Err() != nil}
	}
	body, err := inflate(resp)
	if err != nil {
		resp.Body.Close()
		return nil, brokeOff(ctx, err)
	}
	if resp.StatusCode/100 != 2 {
		defer body.Close()
		return nil, refusal(resp, body)
	}
	if kind := resp.Header.Get("Content-Type"); r.lines && kind != linesType {
		body.Close()
		return nil, fmt.Errorf("the server answers with %q and not with lines: it is older than this program", kind)
	}
	return body, nil
}

// maxRefusal bounds the bytes read of an answer with an error.
const maxRefusal = 1 << 20

// refusal reads an answer with an error.
func refusal(resp *http.Response, body io.Reader) error {
	text, _ := io.ReadAll(io.LimitReader(body, maxRefusal)) // what is there may still say something
	var answer struct {
		Message string  `json:"message"`
		Error   outcome `json:"error"`
	}
	// Of a proxy, or of another server.
	e := &Error{Status: resp.StatusCode, Message: strconv.Quote(string(text[:min(len(text), 200)]))}
	if json.Unmarshal(text, &answer) == nil && answer.Error.Code != "" {
		e = newError(resp.StatusCode, answer.Error.Code, answer.Error.At, answer.Message)
	}
	e.RetryAfter = retryAfter(resp.Header.Get("Retry-After"))
	return e
}

// retryAfter parses Retry-After: seconds or a date.
func retryAfter(header string) time.Duration {
	const most = 1 << 30 // seconds that a Duration holds
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(min(max(seconds, 0), most)) * time.Second
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(time.Until(date), 0)
	}
	return 0
}

// noAnswer is a request without a whole answer.
type noAnswer struct {
	cause  error
	unsent bool // there was no connection: nothing has happened
	ended  bool // the caller's context ended it
}

func (e *noAnswer) Error() string { return e.cause.Error() }

func (e *noAnswer) Unwrap() error { return e.cause }

// Is reports whether the failure may pass.
func (e *noAnswer) Is(target error) bool { return target == ErrUnavailable && !e.ended }

// brokeOff is the error for an answer whose body could not be read to its end.
func brokeOff(ctx context.Context, err error) error {
	return &noAnswer{cause: fmt.Errorf("the answer broke off: %w", err), ended: ctx.Err() != nil}
}
