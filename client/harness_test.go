package client

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/server"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// newServer returns the handler of a server with an empty store, whose commits have the times 1, 2, 3, …
func newServer(t testing.TB) http.Handler {
	return server.New(memstore.New(memstore.Options{}), server.Options{
		Now: time.Now, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}).Handler()
}

// open returns a client of a handler.
func open(t testing.TB, h http.Handler, opt Options) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c, err := New(s.URL, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// webtable returns a table with the families anchor, contents and title, the last in a group of its own.
func webtable(t testing.TB, c *Client) *Table {
	t.Helper()
	table := c.Table("web")
	err := table.Create(t.Context(), TableSpec{
		Families: []Family{{Name: "title"}, {Name: "contents"}, {Name: "anchor"}},
		Groups:   [][]string{{"title"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// all returns the rows of a scan.
func all(t testing.TB, table *Table, q Query) (rows []Row) {
	t.Helper()
	for row, err := range table.Scan(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func sameRows(a, b []Row) bool { return slices.EqualFunc(a, b, sameRow) }

func sameRow(a, b Row) bool { return a.Key == b.Key && slices.Equal(a.Cells, b.Cells) }

// step answers one request. next is the real server.
type step func(w http.ResponseWriter, r *http.Request, next http.Handler)

// script is a server that takes one step for each request, and is a real server when there are no more.
type script struct {
	next http.Handler

	mu    sync.Mutex
	steps []step
	seen  []sent
}

// sent is a request as it has arrived.
type sent struct{ method, path, key, body string }

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	s.seen = append(s.seen, sent{r.Method, r.URL.Path, r.Header.Get("Idempotency-Key"), string(body)})
	now := pass
	if len(s.steps) > 0 {
		now, s.steps = s.steps[0], s.steps[1:]
	}
	s.mu.Unlock()
	now(w, r, s.next)
}

// play sets the next steps, and forgets what has arrived.
func (s *script) play(steps ...step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps, s.seen = steps, nil
}

func (s *script) requests() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

func pass(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }

// apply lets the server answer, and drops what it says.
func apply(r *http.Request, next http.Handler) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	next.ServeHTTP(w, r)
	return w
}

// loseRequest breaks the connection before anything has happened.
func loseRequest(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// loseAnswer breaks the connection when the request was applied.
func loseAnswer(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	apply(r, next)
	panic(http.ErrAbortHandler)
}

// cut breaks the connection inside the answer, behind its first n bytes.
func cut(n int) step {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		r.Header.Set("Accept-Encoding", "identity")
		answer := apply(r, next)
		w.WriteHeader(answer.Code)
		w.Write(answer.Body.Bytes()[:n])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// say answers with an error, and does nothing else. code "" is a proxy's answer.
func say(status int, code, retryAfter string) step {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
		if code == "" {
			io.WriteString(w, "<html>no</html>")
			return
		}
		io.WriteString(w, `{"message":"no","result":null,"status":0,"time_ms":0,"error":{"code":"`+code+`","at":""}}`)
	}
}

// applyAndSay is say for a request that was applied.
func applyAndSay(status int, code string) step {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		apply(r, next)
		say(status, code, "")(w, r, next)
	}
}

// scripted returns a table on a script, and the pauses of its client, which take no time. Every request has a
// connection of its own, so that net/http repeats none.
func scripted(t *testing.T, opt Options) (*Table, *script, *[]time.Duration) {
	t.Helper()
	s := &script{next: newServer(t)}
	opt.HTTPClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	c := open(t, s, opt)
	var mu sync.Mutex
	var pauses []time.Duration
	c.jitter = func(d time.Duration) time.Duration { return d }
	c.sleep = func(ctx context.Context, d time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		pauses = append(pauses, d)
		return ctx.Err()
	}
	table := webtable(t, c)
	s.play()
	return table, s, &pauses
}
