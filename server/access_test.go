package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// guarded is a client of a server with access control.
type guarded struct {
	*client
	control *access.Control
	source  *rand.ChaCha8
	audit   bytes.Buffer
}

func newGuarded(t *testing.T) *guarded {
	g := &guarded{control: access.NewControl(new(access.Tokens), 10), source: rand.NewChaCha8([32]byte{})}
	g.client = clientOf(t, memstore.New(memstore.Options{MaxValue: 1 << 20}), Options{
		Access: g.control, Audit: slog.New(slog.NewJSONHandler(&g.audit, nil)),
	})
	return g
}

// token adds a token and returns its secret.
func (g *guarded) token(scope access.Scope, tables ...string) string {
	g.t.Helper()
	token, secret, err := access.NewToken(g.source, access.Token{Scope: scope, Tables: tables, Created: time.Now()})
	if err != nil {
		g.t.Fatal(err)
	}
	tokens, err := g.control.Tokens().With(token)
	if err != nil {
		g.t.Fatal(err)
	}
	g.control.SetTokens(tokens)
	return secret
}

// as sends a request with an Authorization, "" for none.
func (g *guarded) as(authorization, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

// codeOf returns the code of an error, or "".
func codeOf(w *httptest.ResponseRecorder) string {
	var e envelope
	if json.Unmarshal(w.Body.Bytes(), &e) != nil || e.Error == nil {
		return ""
	}
	return e.Error.Code
}

// needed is the scope that each route needs. It says so again, beside the routes, so that a route that is added or changed
// is looked at.
var needed = map[string]access.Scope{
	"GET /healthz": access.None, "GET /readyz": access.None, "GET /v1/openapi.json": access.None,
	"GET /metrics": access.Read, "GET /v1/token": access.Read,
	"GET /v1/table": access.Read, "GET /v1/table/{table}": access.Read, "GET /v1/table/{table}/row": access.Read,
	"GET /v1/table/{table}/advice": access.Read, "GET /v1/table/{table}/keyspace": access.Read, "POST /v1/table/{table}/rows": access.Read, "POST /v1/table/{table}/scan": access.Read,
	"POST /v1/table/{table}/count": access.Read, "POST /v1/table/{table}/aggregate": access.Read,
	"POST /v1/table/{table}/write": access.Write, "POST /v1/table/{table}/mutate": access.Write,
	"POST /v1/table/{table}/check-and-mutate": access.Write, "POST /v1/table/{table}/read-modify-write": access.Write,
	"POST /v1/table/{table}/delete": access.Write, "DELETE /v1/table/{table}/row": access.Write,
	"PUT /v1/table/{table}": access.Admin, "PATCH /v1/table/{table}": access.Admin, "DELETE /v1/table/{table}": access.Admin,
	"POST /v1/table/{table}/column-family": access.Admin, "PATCH /v1/table/{table}/column-family/{family}": access.Admin,
	"DELETE /v1/table/{table}/column-family/{family}": access.Admin,
	"GET /v1/slow-query":                              access.Admin, "POST /v1/table/{table}/compact": access.Admin,
	"GET /v1/checkpoint":  access.Admin,
	"POST /v1/checkpoint": access.Admin, "GET /v1/checkpoint/{checkpoint}/file/{file}": access.Admin,
	"DELETE /v1/checkpoint/{checkpoint}": access.Admin,
}

// TestAccess sends each request with each kind of token.
func TestAccess(t *testing.T) {
	g := newGuarded(t)
	secrets := map[access.Scope]string{}
	others := map[access.Scope]string{}
	whole := map[access.Scope]string{}
	for scope := access.Read; scope <= access.Admin; scope++ {
		secrets[scope], others[scope], whole[scope] = g.token(scope, "log", "web*"), g.token(scope, "other"), g.token(scope, "*")
	}
	for i := range routes {
		r := &routes[i]
		pattern := r.method + " /" + strings.Join(r.path, "/")
		need, ok := needed[pattern]
		if !ok {
			t.Errorf("%s: say in this test which scope it needs", pattern)
			continue
		}
		path := strings.NewReplacer(tableSegment, "web1", familySegment, "f").Replace("/" + strings.Join(r.path, "/"))
		for name, c := range map[string]struct {
			authorization, code string
		}{
			"nothing":      {"", "missing_token"},
			"no token":     {"Bearer", "missing_token"},
			"other scheme": {"Basic " + secrets[access.Admin], "invalid_token"},
			"unknown":      {"Bearer cln_aaaaaaaa_aaaaaaaaaaaaaaaaaaaaaaaaaa", "invalid_token"},
		} {
			w := g.as(c.authorization, r.method, path, "")
			if need == access.None {
				if w.Code != http.StatusOK {
					t.Errorf("%s with %s: %d", pattern, name, w.Code)
				}
				continue
			}
			if w.Code != http.StatusUnauthorized || codeOf(w) != c.code || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s with %s: %d %s, %q", pattern, name, w.Code, w.Body, w.Header().Get("WWW-Authenticate"))
			}
		}
		fitting := secrets
		if !r.lists && !slices.Contains(r.path, tableSegment) { // it is about all tables
			fitting = whole
		}
		for scope, secret := range fitting {
			if w := g.as("bearer "+secret, r.method, path, "{}"); (w.Code == http.StatusForbidden) != (scope < need) || w.Code == http.StatusUnauthorized {
				t.Errorf("%s with scope %s: %d %s", pattern, scope, w.Code, w.Body)
			}
			w := g.as("Bearer "+others[scope], r.method, path, "{}")
			if forbidden := need != access.None && !r.lists; (w.Code == http.StatusForbidden) != forbidden {
				t.Errorf("%s with scope %s for another table: %d %s", pattern, scope, w.Code, w.Body)
			}
		}
		forgetFailures(g)
	}
}

// forgetFailures gives the server a Control with the same tokens.
func forgetFailures(g *guarded) {
	g.control = access.NewControl(g.control.Tokens(), 10)
	g.opt.Access = g.control
}

// TestAccessListing lists the tables that a token may read, and no others.
func TestAccessListing(t *testing.T) {
	g := newGuarded(t)
	all := "Bearer " + g.token(access.Admin, "*")
	for _, table := range []string{"a", "web1", "web2"} {
		if w := g.as(all, "PUT", "/v1/table/"+table, ""); w.Code != http.StatusCreated {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	for _, c := range []struct {
		patterns []string
		want     string
	}{
		{[]string{"*"}, "a web1 web2"}, {[]string{"web*"}, "web1 web2"}, {[]string{"a", "web2"}, "a web2"}, {[]string{"b"}, ""},
	} {
		w := g.as("Bearer "+g.token(access.Read, c.patterns...), "GET", "/v1/table", "")
		var e struct {
			Result struct {
				Tables struct {
					Count int
					Items []struct{ Name string }
				}
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		var names []string
		for _, item := range e.Result.Tables.Items {
			names = append(names, item.Name)
		}
		if got := strings.Join(names, " "); got != c.want || e.Result.Tables.Count != len(names) {
			t.Errorf("%v lists %q, count %d, want %q", c.patterns, got, e.Result.Tables.Count, c.want)
		}
	}
}

// TestAccessFailures has an address fail too often.
func TestAccessFailures(t *testing.T) {
	g := newGuarded(t)
	good := "Bearer " + g.token(access.Read, "*")
	var codes []string
	for range 12 {
		codes = append(codes, codeOf(g.as("Bearer wrong", "GET", "/v1/table", "")))
	}
	want := append(slices.Repeat([]string{"invalid_token"}, 10), "too_many_failures", "too_many_failures")
	if !slices.Equal(codes, want) {
		t.Errorf("the answers are %v", codes)
	}
	if lines := strings.Count(g.audit.String(), "\n"); lines != 10 {
		t.Errorf("the audit log has %d lines, want one for each failure before there were too many", lines)
	}
	w := g.as("", "GET", "/v1/table", "")
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "6" {
		t.Errorf("a request without a token: %d, Retry-After %q, %s", w.Code, w.Header().Get("Retry-After"), w.Body)
	}
	if w := g.as(good, "GET", "/v1/table", ""); w.Code != http.StatusOK {
		t.Errorf("a valid token of the same address: %d %s", w.Code, w.Body)
	}
	if w := g.as("", "GET", "/healthz", ""); w.Code != http.StatusOK {
		t.Errorf("a probe: %d", w.Code)
	}
}

// TestAccessChangesNothing refuses changes, and holds what is stored against what was.
func TestAccessChangesNothing(t *testing.T) {
	g := newGuarded(t)
	admin := "Bearer " + g.token(access.Admin, "*")
	g.as(admin, "PUT", "/v1/table/web", `{"column_families":[{"name":"f"}]}`)
	before := g.everything()
	for _, secret := range []string{"", "Bearer wrong", "Bearer " + g.token(access.Read, "*"), "Bearer " + g.token(access.Admin, "we", "eb", "web2")} {
		for path, body := range map[string]string{
			"POST /v1/table/web/write":             `{"items":[{"row_key":"r","cells":[{"column_key":"f:","type":"string","value":"x"}]}]}`,
			"DELETE /v1/table/web":                 ``,
			"DELETE /v1/table/web/column-family/f": ``,
			"PUT /v1/table/web3":                   ``,
		} {
			method, path, _ := strings.Cut(path, " ")
			if w := g.as(secret, method, path, body); w.Code != http.StatusUnauthorized && w.Code != http.StatusForbidden {
				t.Errorf("%s %s with %q: %d", method, path, secret, w.Code)
			}
		}
		forgetFailures(g)
	}
	if after := g.everything(); after != before {
		t.Errorf("refused requests changed\n%s\nto\n%s", before, after)
	}
}

// TestToken: a token is told what it allows, whatever it is for.
func TestToken(t *testing.T) {
	g := newGuarded(t)
	expires := time.Now().Add(time.Hour).Truncate(time.Second)
	token, secret, err := access.NewToken(g.source, access.Token{Name: `öne "x"`, Scope: access.Write, Tables: []string{"web*", "log"}, Created: time.Now(), Expires: expires})
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := g.control.Tokens().With(token)
	if err != nil {
		t.Fatal(err)
	}
	g.control.SetTokens(tokens)
	for secret, want := range map[string]string{
		secret:                       fmt.Sprintf(`{"token":{"id":%q,"name":"öne \"x\"","scope":"write","tables":["web*","log"],"expires":%d}}`, token.ID, expires.UnixMicro()),
		g.token(access.Read, "none"): fmt.Sprintf(`{"token":{"id":%q,"name":"","scope":"read","tables":["none"],"expires":null}}`, g.control.Tokens().All()[1].ID),
	} {
		w := g.as("Bearer "+secret, "GET", "/v1/token", "")
		var e envelope
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != 200 {
			t.Fatalf("%d %v in %s", w.Code, err, w.Body)
		}
		g.same(e.Result, want)
	}
}

// TestAudit reads the lines about what happened, which have nothing of a row.
func TestAudit(t *testing.T) {
	g := newGuarded(t)
	admin, reader := "Bearer "+g.token(access.Admin, "*"), "Bearer "+g.token(access.Read, "web")
	const row = `{"items":[{"row_key":"secret-row","cells":[{"column_key":"f:secret-column","type":"string","value":"secret-value"}]}]}`
	for _, c := range []struct{ authorization, method, path, body, want string }{
		{admin, "PUT", "/v1/table/web", `{"column_families":[{"name":"f"}]}`, `schema_change PUT web  201 `},
		{admin, "PUT", "/v1/table/web", ``, `schema_change PUT web  409 table_exists`},
		{admin, "POST", "/v1/table/web/write", row, ``},
		{reader, "POST", "/v1/table/web/write", row, `refused POST web  403 insufficient_scope`},
		{reader, "POST", "/v1/table/web/scan", `{}`, ``},
		{reader, "POST", "/v1/table/web/scan", `{"wrong":1}`, ``},
		{"", "POST", "/v1/table/web/write", row, `refused POST web  401 missing_token`},
		{"Bearer secret-token", "DELETE", "/v1/table/web/column-family/f", ``, `refused DELETE web f 401 invalid_token`},
		{admin, "DELETE", "/v1/table/web/column-family/f", ``, `schema_change DELETE web f 202 `},
		{admin, "POST", "/v1/table/web/compact", ``, `compaction POST web  202 `},
		{admin, "POST", "/v1/checkpoint", ``, `checkpoint POST   409 no_checkpoints`},
		{admin, "DELETE", "/v1/checkpoint/c", ``, `checkpoint DELETE   404 unknown_checkpoint`},
		{admin, "GET", "/v1/checkpoint/c/file/f", ``, ``},
		{reader, "GET", "/v1/checkpoint/c/file/f", ``, `refused GET   403 insufficient_scope`},
		{admin, "GET", "/v1/nothing", ``, ``},
		{"", "DELETE", "/v1/table/secret*", ``, ``},
	} {
		g.audit.Reset()
		w := g.as(c.authorization, c.method, c.path, c.body)
		text := g.audit.String()
		got := ""
		if text != "" {
			var line struct {
				Time, Msg, Address, Method, Table, Family, Token, Code string
				Status                                                 int
			}
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatalf("%v in %q", err, text)
			}
			got = fmt.Sprintf("%s %s %s %s %d %s", line.Msg, line.Method, line.Table, line.Family, line.Status, line.Code)
			if line.Address != "192.0.2.1" || (line.Token == "") != (w.Code == http.StatusUnauthorized) || line.Time == "" {
				t.Errorf("%s", text)
			}
		}
		if got != c.want {
			t.Errorf("%s %s: the log has %q, want %q", c.method, c.path, got, c.want)
		}
		if strings.Contains(text, "secret") {
			t.Errorf("the log has what it must not have: %s", text)
		}
	}
}
