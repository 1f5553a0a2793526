package server

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/widecol"
)

// keyed sends a request under idempotency keys, one or several, and returns the status,
// the code and place of an error, and the result without what tells how long it took.
func (c *client) keyed(method, path, body string, keys ...string) (status int, what, result string) {
	c.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for _, key := range keys {
		r.Header.Add("idempotency-key", key)
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	var e envelope
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
		c.t.Fatalf("%s %s: %v in %q", method, path, err, w.Body)
	}
	if e.Error != nil {
		what = e.Error.Code + " at " + e.Error.At
	}
	if retry := w.Header().Get("Retry-After") != ""; retry {
		what += ", later"
	}
	return w.Code, what, stripTimes(e.Result)
}

// TestIdempotencyKey: a write or a deletion that is sent again under its key is answered
// as the first time, and changes nothing (H17).
func TestIdempotencyKey(t *testing.T) {
	c := newClient(t)
	c.webtable()
	const write, row = "/v1/table/t/write", "/v1/table/t/row"
	requests := []struct{ method, path, body, key string }{
		{"POST", write, cellOf("i64", "1"), "w"},
		{"DELETE", row, `{"row_key":"r"}`, "d"},
		{"DELETE", row, `{"row_key":"r"}`, "none-left"},
	}
	var first []string
	for _, r := range requests {
		status, what, result := c.keyed(r.method, r.path, r.body, r.key)
		if status/100 != 2 {
			t.Fatalf("%s: got %d %s", r.key, status, what)
		}
		first = append(first, result)
	}
	c.must(200, "POST", write, cellOf("i64", "2"))
	before := c.everything()
	for i, r := range requests {
		if status, what, again := c.keyed(r.method, r.path, strings.ReplaceAll(r.body, "{", "{ "), r.key); status/100 != 2 || again != first[i] {
			t.Errorf("%s: got %d %s %s, the first time %s", r.key, status, what, again, first[i])
		}
	}
	for _, r := range []struct{ method, path, body, key string }{
		{"POST", write, cellOf("i64", "3"), "w"},
		{"DELETE", row, `{"row_key":"other"}`, "d"},
		{"DELETE", row, `{"row_key":"r"}`, "w"},
	} {
		if status, what, _ := c.keyed(r.method, r.path, r.body, r.key); status != 422 || what != "idempotency_key_reused at header" {
			t.Errorf("%s %s: got %d %s, want 422 idempotency_key_reused", r.method, r.key, status, what)
		}
	}
	if after := c.everything(); after != before {
		t.Errorf("requests sent again changed\n%s\nto\n%s", before, after)
	}
}

// TestIdempotencyKeyRefused: a header that is no key, and one with a request that takes
// none, is refused before anything is read or changed; one with a read has no effect.
func TestIdempotencyKeyRefused(t *testing.T) {
	c := newClient(t)
	c.webtable()
	before := c.everything()
	const invalid = "invalid_idempotency_key at header"
	for _, keys := range [][]string{{""}, {"a b"}, {"é"}, {"a\x7f"}, {strings.Repeat("k", 256)}, {"a", "a"}} {
		if status, what, _ := c.keyed("POST", "/v1/table/t/write", cellOf("i64", "1"), keys...); status != 400 || what != invalid {
			t.Errorf("%.20q: got %d %s, want 400 %s", keys, status, what, invalid)
		}
	}
	for _, r := range []struct{ method, path, body string }{
		{"PUT", "/v1/table/new", ""},
		{"DELETE", "/v1/table/t", ""},
		{"POST", "/v1/table/t/column-family", `{"column_families":[{"name":"new"}]}`},
		{"PATCH", "/v1/table/t/column-family/title", `{"gc_settings":{"version_limit":1}}`},
		{"DELETE", "/v1/table/t/column-family/title", ""},
	} {
		if status, what, _ := c.keyed(r.method, r.path, r.body, "k"); status != 400 || what != "unsupported_header at header" {
			t.Errorf("%s %s: got %d %s, want 400 unsupported_header", r.method, r.path, status, what)
		}
	}
	if status, what, _ := c.keyed("POST", "/v1/table/t/count", "{}", "k"); status != 200 {
		t.Errorf("count: got %d %s", status, what)
	}
	if after := c.everything(); after != before {
		t.Errorf("requests that were refused changed\n%s\nto\n%s", before, after)
	}
}

// TestIdempotencyKeyInUse: who comes while the first request with the key is under way
// is asked to come again.
func TestIdempotencyKeyInUse(t *testing.T) {
	store := newFakeStore()
	c := clientOf(t, store, Options{})
	c.webtable()
	store.onWrite = func(context.Context) error { return widecol.IdempotencyKeyInUse("k") }
	if status, what, _ := c.keyed("POST", "/v1/table/t/write", cellOf("i64", "1"), "k"); status != 409 || what != "idempotency_key_in_use at header, later" {
		t.Errorf("got %d %s, want 409 idempotency_key_in_use", status, what)
	}
}

// TestUnknownOutcomeIsSettledByItsKey: after a 504 the same request under the same key
// is applied once, whichever way the first one went.
func TestUnknownOutcomeIsSettledByItsKey(t *testing.T) {
	for _, applied := range []bool{false, true} {
		store := newFakeStore()
		c := clientOf(t, store, Options{})
		c.webtable()
		unknown := widecol.Errorf(widecol.Unknown, "outcome_unknown", "the sync failed")
		fail := func(context.Context) error { return unknown }
		if applied {
			store.afterWrite = fail
		} else {
			store.onWrite = fail
		}
		if status, what, _ := c.keyed("POST", "/v1/table/t/write", cellOf("i64", "1"), "k"); status != 504 {
			t.Fatalf("got %d %s, want 504", status, what)
		}
		store.onWrite, store.afterWrite = nil, nil
		for range 2 {
			if status, what, _ := c.keyed("POST", "/v1/table/t/write", cellOf("i64", "1"), "k"); status != 200 {
				t.Fatalf("sent again: got %d %s", status, what)
			}
		}
		w := c.send("POST", "/v1/table/t/count", `{"row":{"prefix":"r"}}`)
		if !strings.Contains(w.Body.String(), `"cell_count":1,`) {
			t.Errorf("applied at first: %t; then sent again: %s", applied, w.Body)
		}
	}
}
