package server

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/access"
	"github.com/colonnade-db/colonnade/widecol/memstore"
)

// lines returns the lines of a log in JSON, without the fields that differ from run to run.
func logged(t *testing.T, log *bytes.Buffer) (lines []map[string]any) {
	t.Helper()
	for line := range strings.Lines(log.String()) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		for _, name := range []string{"time", "level", "msg"} {
			if _, ok := l[name]; !ok {
				t.Errorf("no %s in %s", name, line)
			}
			delete(l, name)
		}
		lines = append(lines, l)
	}
	return lines
}

// TestAccessLog: each request has a line with its names and sizes.
func TestAccessLog(t *testing.T) {
	var log bytes.Buffer
	c := clientOf(t, memstore.New(memstore.Options{MaxValue: 1 << 20}), Options{AccessLog: slog.New(slog.NewJSONHandler(&log, nil))})
	c.webtable()
	const trace = "0af7651916cd43dd8448eb211c80319c"
	for _, test := range []struct {
		method, path, body, trace string
		want                      map[string]any
	}{
		{"GET", "/v1/table/t/row?key=org.a", "", "00-" + trace + "-b7ad6b7169203331-01",
			map[string]any{"route": "GET /v1/table/{table}/row", "table": "t", "status": 200., "rows": 1., "cells": 4., "trace_id": trace}},
		{"POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"org.b"}},{"row":{"key":"none"}}]}`, "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01",
			map[string]any{"route": "POST /v1/table/{table}/rows", "table": "t", "status": 200., "rows": 1., "cells": 2.}},
		{"POST", "/v1/table/t/scan", `{}`, "00-" + strings.ToUpper(trace) + "-b7ad6b7169203331-01",
			map[string]any{"route": "POST /v1/table/{table}/scan", "table": "t", "status": 200., "rows": 3., "cells": 7.}},
		{"POST", "/v1/table/t/count", `{"column":{"key":"title"}}`, "x",
			map[string]any{"route": "POST /v1/table/{table}/count", "table": "t", "status": 200., "rows": 3., "cells": 4.}},
		{"POST", "/v1/table/t/aggregate", `{"of":["count"]}`, "",
			map[string]any{"route": "POST /v1/table/{table}/aggregate", "table": "t", "status": 200., "rows": 3., "cells": 7.}},
		{"POST", "/v1/table/t/write", `{"items":[{"row_key":"k","cells":[{"column_key":"title:secret","type":"string","value":"secret"},{"column_key":"title:","type":"i64","value":1}]}]}`, "",
			map[string]any{"route": "POST /v1/table/{table}/write", "table": "t", "status": 200., "rows": 1., "cells": 2.}},
		{"POST", "/v1/table/t/mutate", `{"items":[{"row_key":"secret","mutations":[{"delete_row":true}]}]}`, "",
			map[string]any{"route": "POST /v1/table/{table}/mutate", "table": "t", "status": 200., "rows": 1., "cells": 0.}},
		{"DELETE", "/v1/table/t/row", `{"row_key":"k"}`, "",
			map[string]any{"route": "DELETE /v1/table/{table}/row", "table": "t", "status": 202., "rows": 1., "cells": 2.}},
		{"GET", "/v1/table/nope/row?key=secret", "", "",
			map[string]any{"route": "GET /v1/table/{table}/row", "table": "nope", "status": 404., "rows": 0., "cells": 0.}},
		{"POST", "/v1/secret", `secret`, "",
			map[string]any{"route": "unknown", "status": 404., "rows": 0., "cells": 0.}},
	} {
		log.Reset()
		r := httptest.NewRequest(test.method, test.path, strings.NewReader(test.body))
		if test.trace != "" {
			r.Header.Set("Traceparent", test.trace)
		}
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		text := log.String()
		lines := logged(t, &log)
		if len(lines) != 1 {
			t.Fatalf("%s %s: %d lines", test.method, test.path, len(lines))
		}
		got := lines[0]
		in := float64(len(test.body))
		if test.want["route"] == unknownRoute { // nobody reads its body
			in = 0
		}
		maps.Copy(test.want, map[string]any{"method": test.method, "address": "192.0.2.1", "bytes_in": in, "bytes_out": float64(w.Body.Len())})
		if took, ok := got["took"].(float64); !ok || took <= 0 {
			t.Errorf("%s took %v", test.path, got["took"])
		}
		delete(got, "took")
		if !maps.Equal(got, test.want) {
			t.Errorf("%s %s:\ngot  %v\nwant %v", test.method, test.path, got, test.want)
		}
		if strings.Contains(text, "secret") || strings.Contains(text, "org.") {
			t.Errorf("the log has something of a row: %s", text)
		}
	}
}

// TestAccessLogLines: of a body of lines all that was written counts, also before a mistake.
func TestAccessLogLines(t *testing.T) {
	var log bytes.Buffer
	c := clientOf(t, memstore.New(memstore.Options{MaxValue: 1 << 20}), Options{AccessLog: slog.New(slog.NewJSONHandler(&log, nil))})
	c.webtable()
	log.Reset()
	body := strings.Repeat(`{"row_key":"r","cells":[{"column_key":"title:a","type":"i64","value":1},{"column_key":"title:b","type":"i64","value":1}]}`+"\n", 5)
	w := c.writeLines(body + "{}\n")
	if got := logged(t, &log); len(got) != 1 || got[0]["rows"] != 5. || got[0]["cells"] != 10. || got[0]["bytes_in"] != float64(len(body)+3) || got[0]["bytes_out"] != float64(w.Body.Len()) {
		t.Errorf("got %v", got)
	}
}

// TestAccessLogOfTokens: a line says whose token it was, and never the token.
func TestAccessLogOfTokens(t *testing.T) {
	var log bytes.Buffer
	g := newGuarded(t)
	g.opt.AccessLog = slog.New(slog.NewJSONHandler(&log, nil))
	secret := g.token(access.Read, "*")
	token := g.control.Tokens().All()[0]
	token.Name = "crawler"
	g.as("Bearer "+secret, "GET", "/v1/table/t", "")
	g.as("Bearer x"+secret, "GET", "/v1/table/t", "")
	lines := logged(t, &log)
	if len(lines) != 2 || lines[0]["token"] != token.ID || lines[0]["token_name"] != "crawler" || lines[1]["token"] != nil || lines[1]["status"] != 401. {
		t.Errorf("got %v", lines)
	}
	if strings.Contains(log.String(), secret[len(secret)-20:]) {
		t.Errorf("the log has the token:\n%s", log.String())
	}
}
