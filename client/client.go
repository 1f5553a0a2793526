package client

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/colonnade-db/colonnade/internal/backoff"
)

// Options configure a Client. The zero value is ready for use.
type Options struct {
	// HTTPClient sends the requests. nil is one with its own pool of connections. A Timeout of the
	// client also bounds whole scans; contexts are the better bound.
	HTTPClient *http.Client
	// TLS is the configuration of connections to an https URL. nil is that of package tls. It must be nil beside
	// HTTPClient, which has its own.
	TLS *tls.Config
	// Token is sent with every request, as Authorization: Bearer. "" is none. Without https it can be read on the way.
	Token string
	// UserAgent is sent with every request. "" is "colonnade-go".
	UserAgent string
	// Compression is for bodies of 16 KiB and more, for those of WriteLines, and for answers.
	Compression Compression
	// Attempts bounds how often a request is sent in all. 0 is 6, 1 is without retries.
	Attempts int
	// OnRetry, if it is not nil, is called before each pause with the failure of the last attempt.
	// Calls come from all goroutines that use the Client.
	OnRetry func(err error, wait time.Duration)
}

// Client sends requests to one server. It is safe for concurrent use.
type Client struct {
	base string // URL of the server, without a slash at the end
	http *http.Client
	opt  Options // with defaults filled in

	// A test replaces these.
	sleep  func(context.Context, time.Duration) error
	jitter func(time.Duration) time.Duration
	newKey func() string
}

// idleTimeout is shorter than the server's 60 s, so that the client does not meet a connection that the
// server is about to close.
const (
	idleTimeout = 50 * time.Second
	idlePerHost = 64
)

// New returns a Client of the server at a URL such as http://127.0.0.1:9876. It does not connect.
func New(baseURL string, opt Options) (*Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is no URL such as http://127.0.0.1:9876", baseURL)
	}
	if opt.HTTPClient != nil && opt.TLS != nil {
		return nil, errors.New("Options.TLS is not used beside Options.HTTPClient: set it there")
	}
	if strings.ContainsFunc(opt.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("Options.Token has characters that no token has")
	}
	if opt.UserAgent == "" {
		opt.UserAgent = "colonnade-go"
	}
	if opt.Attempts <= 0 {
		opt.Attempts = 6
	}
	c := &Client{base: strings.TrimRight(baseURL, "/"), http: opt.HTTPClient, opt: opt, sleep: backoff.Sleep, jitter: backoff.Jitter, newKey: newUUID}
	if c.http == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = idlePerHost
		transport.IdleConnTimeout = idleTimeout
		if opt.TLS != nil {
			transport.TLSClientConfig = opt.TLS.Clone()
		}
		c.http = &http.Client{Transport: transport}
	}
	return c, nil
}

// Close closes idle connections. Requests under way go on, and the Client may be used again.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Table returns the table of a name, which need not exist yet. It sends nothing.
func (c *Client) Table(name string) *Table {
	return &Table{c: c, name: name, path: "/v1/table/" + url.PathEscape(name)}
}

// Ready asks once whether the server takes requests. The message is for people: it also says why the server takes no
// writes, or that its files are damaged, if that is so.
func (c *Client) Ready(ctx context.Context) (message string, err error) {
	body, err := c.send(ctx, &request{method: http.MethodGet, path: "/readyz"})
	if err != nil {
		return "", err
	}
	defer body.Close()
	var answer struct {
		Message string `json:"message"`
	}
	if err := json.NewDecoder(body).Decode(&answer); err != nil {
		return "", malformed(err)
	}
	return answer.Message, nil
}

// Do sends a request that the package has no method for, or whose body is JSON already. path begins with
// a slash and is escaped. The "result" of the answer is decoded into result as by encoding/json, unless
// result is nil. Do may still read body after it has returned an error.
//
// Do sends a GET again like other reads, and a change with WithIdempotencyKey like other changes. Any
// other change is sent again only if the server says that nothing has happened.
func (c *Client) Do(ctx context.Context, method, path string, body []byte, result any) error {
	class := once
	key, keyed := ctx.Value(keyOfContext{}).(string)
	switch {
	case method == http.MethodGet:
		class, key = read, ""
	case keyed:
		class = keyedChange
	}
	return c.call(ctx, &request{class: class, method: method, path: path, body: body, key: key}, result)
}

// Lines sends a scan or a rows request as Do does, again like other reads, and returns the body of its answer as
// lines (NDJSON). The caller closes it. Without a last line of statistics the answer is not whole.
func (c *Client) Lines(ctx context.Context, path string, body []byte) (lines io.ReadCloser, err error) {
	r := &request{class: read, method: http.MethodPost, path: path, body: body, lines: true}
	r.compress(c.opt.Compression)
	err = c.retry(ctx, r.class, func() error {
		lines, err = c.send(ctx, r)
		return err
	})
	return lines, err
}

// call sends a request and decodes the result of its answer, unless result is nil.
func (c *Client) call(ctx context.Context, r *request, result any) error {
	r.compress(c.opt.Compression)
	return c.retry(ctx, r.class, func() error {
		body, err := c.send(ctx, r)
		if err != nil {
			return err
		}
		defer body.Close()
		text, err := io.ReadAll(body)
		if err != nil {
			return brokeOff(ctx, err)
		}
		var answer struct {
			Result json.RawMessage `json:"result"`
		}
		err = json.Unmarshal(text, &answer)
		if err == nil && result != nil {
			err = json.Unmarshal(answer.Result, result)
		}
		if err != nil {
			return malformed(err)
		}
		return nil
	})
}
