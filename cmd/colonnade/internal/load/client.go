package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// requestTimeout bounds one request. A server responds earlier, if only with 503.
const requestTimeout = 2 * time.Minute

// client sends requests about one table. It is safe for concurrent use.
type client struct {
	http  *http.Client
	table string // URL of the table
}

func newClient(base, table string, connections int) (*client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no URL such as http://127.0.0.1:9876", base)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = connections
	return &client{
		http:  &http.Client{Transport: transport, Timeout: requestTimeout},
		table: strings.TrimRight(base, "/") + "/v1/table/" + url.PathEscape(table),
	}, nil
}

// HTTPError is a response with an error.
type HTTPError struct {
	Status     int
	Code       string        // stable name of the failure, if the server gave one
	At         string        // what part of the request it is about, if known
	Message    string        // for people, without At
	RetryAfter time.Duration // 0 when the server did not say
}

func (e *HTTPError) Error() string {
	text := fmt.Sprintf("%s (status %d)", e.Message, e.Status)
	if e.At == "" || e.At == "path" { // the path is our own, and the message names the thing
		return text
	}
	return e.At + ": " + text
}

// answer is the envelope of every response.
type answer struct {
	Message string          `json:"message"`
	Result  json.RawMessage `json:"result"`
	Error   struct {
		Code string `json:"code"`
		At   string `json:"at"`
	} `json:"error"`
}

// errCutAnswer is a connection that broke inside an answer.
var errCutAnswer = errors.New("the answer broke off")

// maxAnswer bounds the bytes read of a response. The responses to this client are much smaller.
const maxAnswer = 16 << 20

// do sends one request and decodes the result of a success into result, unless that is nil. The error is
// an *HTTPError if the server responded with one.
func (c *client) do(ctx context.Context, method, path string, body []byte, result any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.table+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%w: %w", errCutAnswer, err)
	}
	var a answer
	decodeErr := json.Unmarshal(text, &a)
	if resp.StatusCode/100 != 2 {
		if decodeErr != nil {
			a.Message = strconv.Quote(string(text[:min(len(text), 200)]))
		}
		return &HTTPError{
			Status: resp.StatusCode, Code: a.Error.Code, At: a.Error.At,
			Message:    strings.TrimPrefix(a.Message, a.Error.At+": "), // said once is enough
			RetryAfter: retryAfter(resp.Header.Get("Retry-After")),
		}
	}
	if decodeErr == nil && result != nil {
		decodeErr = json.Unmarshal(a.Result, result)
	}
	if decodeErr != nil {
		return fmt.Errorf("the answer to %s %s is not what a Colonnade server says: %w", method, req.URL, decodeErr)
	}
	return nil
}

// retryAfter parses Retry-After: seconds or a date.
func retryAfter(header string) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(max(seconds, 0)) * time.Second
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(time.Until(date), 0)
	}
	return 0
}

// write sends a batch and compares it with the counts of the response.
func (c *client) write(ctx context.Context, b *batch) error {
	var result struct {
		Items struct {
			Rows  int64 `json:"row_count"`
			Cells int64 `json:"cell_count"`
		} `json:"items"`
	}
	if err := c.do(ctx, http.MethodPost, "/write", b.body, &result); err != nil {
		return err
	}
	if result.Items.Cells != b.cells {
		return fmt.Errorf("the server took %d cells of %d", result.Items.Cells, b.cells)
	}
	return nil
}

// tableInfo is the server's description of a table.
type tableInfo struct {
	Families []struct {
		Name string `json:"name"`
	} `json:"column_families"`
	Groups []struct {
		ID       string   `json:"id"`
		Families []string `json:"column_families"`
	} `json:"locality_groups"`
}

// describe returns the description of the table.
func (c *client) describe(ctx context.Context) (tableInfo, error) {
	var info tableInfo
	err := c.do(ctx, http.MethodGet, "", nil, &info)
	return info, err
}

// createTable creates the table unless it exists.
func (c *client) createTable(ctx context.Context) error {
	return exists(c.do(ctx, http.MethodPut, "", nil, nil))
}

// createFamilies creates families, with group in a locality group of their own. An error with status 409
// means that one of them exists.
func (c *client) createFamilies(ctx context.Context, names []string, group bool) error {
	type family struct {
		Name string `json:"name"`
	}
	body := struct {
		Families []family `json:"column_families"`
		Group    bool     `json:"locality_group"`
	}{Group: group}
	for _, name := range names {
		body.Families = append(body.Families, family{name})
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.do(ctx, http.MethodPost, "/column-family", text, nil)
}

// exists returns nil for the error that something exists already.
func exists(err error) error {
	if e, ok := err.(*HTTPError); ok && e.Status == http.StatusConflict {
		return nil
	}
	return err
}
