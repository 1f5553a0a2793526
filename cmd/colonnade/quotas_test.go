package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// ask sends a request and returns the status, Retry-After and the body of the answer.
func (s *served) ask(secret, method, path, body string) (status int, retry, text string) {
	s.t.Helper()
	answer, err := http.DefaultClient.Do(s.request(secret, method, path, body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get("Retry-After"), string(all)
}

// TestQuotas: a server has the quotas of its file, of tables and of tokens, and takes others while it runs.
func TestQuotas(t *testing.T) {
	dir := t.TempDir()
	path, tokens := filepath.Join(dir, "colonnade.toml"), filepath.Join(dir, "tokens.json")
	_, admin := makeToken(t, tokens, "--scope", "admin")
	_, crawler := makeToken(t, tokens, "--scope", "read", "--name", "crawler")
	head := fmt.Sprintf("tokens = %q\n", tokens)
	if err := os.WriteFile(path, []byte(head), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, filepath.Join(dir, "data"), "--config", path)
	must := func(secret, method, path, body string) {
		t.Helper()
		if status, _, text := s.ask(secret, method, path, body); status/100 != 2 {
			t.Fatalf("%s %s: %d %.300s", method, path, status, text)
		}
	}
	rows := func(n int) string {
		return `{"items":[` + strings.Repeat(`{"row_key":"a","cells":[{"column_key":"f:","type":"i64","value":1}]},`, n-1) +
			`{"row_key":"b","cells":[{"column_key":"f:","type":"string","value":"` + strings.Repeat("v", 2<<20) + `"}]}]}`
	}
	for _, table := range []string{"web", "log"} {
		must(admin, "PUT", "/v1/table/"+table, `{"column_families":[{"name":"f"}]}`)
		must(admin, "POST", "/v1/table/"+table+"/write", rows(2))
	}
	s.hangup(path, head+"[quota.table.\"*\"]\nrows-per-second = 1\n[quota.table.log]\nstorage-mib = 1\n[quota.token.\"crawl*\"]\nbytes-per-second = 1\n", "an option has changed")

	must(admin, "POST", "/v1/table/web/write", rows(1000))
	status, retry, text := s.ask(admin, "POST", "/v1/table/web/scan", `{}`)
	if status != 429 || len(retry) != 3 || !strings.Contains(text, `"code":"quota_exceeded"`) { // nearly 1,000 s
		t.Errorf("%d, %s, %.300s", status, retry, text)
	}
	must(admin, "POST", "/v1/table/log/scan", `{}`) // a more exact pattern without a limit of rows
	if status, _, text := s.ask(admin, "POST", "/v1/table/log/write", rows(1)); status != 507 || !strings.Contains(text, "storage_quota_exceeded") {
		t.Errorf("%d, %.300s", status, text)
	}
	must(admin, "POST", "/v1/table/log/delete", `{"row":{"key":"b"}}`)
	must(crawler, "POST", "/v1/table/log/scan", `{}`)
	if status, _, text := s.ask(crawler, "POST", "/v1/table/log/scan", `{}`); status != 429 || !strings.Contains(text, `token \"crawler\"`) {
		t.Errorf("%d, %.300s", status, text)
	}
	_, _, text = s.ask(admin, "GET", "/metrics", "")
	for _, want := range []string{
		`colonnade_quota_refusals_total{limit="rows",of="table",pattern="*"} 1`,
		`colonnade_quota_refusals_total{limit="storage",of="table",pattern="log"} 1`,
		`colonnade_quota_refusals_total{limit="bytes",of="token",pattern="crawl*"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
	s.hangup(path, head+"[quota.table.\"*\"]\nrows-per-second = 0\n", "must be a whole number from 1 to 1000000000 (rows/s)")
	if status, _, _ := s.ask(admin, "POST", "/v1/table/web/scan", `{}`); status != 429 {
		t.Errorf("a file with a mistake was taken: %d", status)
	}
	s.hangup(path, head, "an option has changed")
	must(admin, "POST", "/v1/table/web/scan", `{}`)
	must(admin, "POST", "/v1/table/log/write", rows(1))
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("code %d:\n%s", code, s.stderr)
	}
}

// TestQuotaMistakes: each is reported with its place, and what must be.
func TestQuotaMistakes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.toml")
	for text, want := range map[string]string{
		"[quota.table.\"*\"]\nrows-per-second = 0":          "c.toml:2: rows-per-second = 0: must be a whole number from 1 to 1000000000 (rows/s)",
		"[quota.table.t]\nbytes-per-second = 1.5":           "c.toml:2: bytes-per-second = 1.5: must be a whole number from 1 to 1099511627776 (bytes/s)",
		"[quota.table.t]\nstorage-mib = \"1 GiB\"":          `c.toml:2: storage-mib = "1 GiB": must be a whole number from 1 to 1073741824 (MiB)`,
		"[quota.token.t]\nstorage-mib = 1":                  `c.toml:2: unknown key "storage-mib" in [quota.token."t"]`,
		"[quota.table.t]\nrow-per-second = 1":               "did you mean rows-per-second?",
		"[quota.tables.t]\nrows-per-second = 1":             `c.toml:1: [quota.tables.t] begins a table, and options stand outside of tables, but for [quota.table."PATTERN"] and [quota.token."PATTERN"]`,
		"[quota.table.\"\"]\nrows-per-second = 1":           "c.toml:1: [quota.table.]: a pattern must be 1 to 200 bytes",
		"[quota.table.\"web[0-9]\"]\nrows-per-second = 1":   "c.toml:1: [quota.table.web[0-9]]: no table can have such a name",
		"[quota.table.t]\nrows-per-second = 1\ncache-mib=9": `c.toml:3: unknown key "cache-mib" in [quota.table."t"]`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := runLine("", "config", "--config", path); got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%q: %+v, want %q", text, got, want)
		}
	}
}
