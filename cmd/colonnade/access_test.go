package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/internal/testcert"
)

// createToken makes a token with the flags, and returns its ID and the token.
func makeToken(t *testing.T, path string, flags ...string) (id, secret string) {
	t.Helper()
	got := runLine("", append([]string{"token", "create", "--tokens", path}, flags...)...)
	secret = strings.TrimSpace(got.stdout)
	parts := strings.Split(secret, "_")
	if got.code != 0 || len(parts) != 3 {
		t.Fatalf("%+v", got)
	}
	return parts[1], secret
}

func TestTokenCommands(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tokens.json")
	if got := runLine("", "token", "list", "--tokens", path); got.code != exitFailed || !strings.Contains(got.stderr, "colonnade token create --tokens "+path+" --scope admin makes one") {
		t.Errorf("%+v", got)
	}
	if got := runLine("", "token", "revoke", "--tokens", path, "abcdefgh"); got.code != exitFailed || !strings.Contains(got.stderr, "makes one") {
		t.Errorf("%+v", got)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("commands that failed left %v", left)
	}
	first, secret := makeToken(t, path, "--scope", "write", "--table", "web*", "--table", "log", "--table", "*_p$i$t.x#-", "--name", "crawler", "--expires", "90d")
	second, _ := makeToken(t, path, "--scope", "admin")
	text, err := os.ReadFile(path)
	if err != nil || bytes.Contains(text, []byte(secret[13:])) {
		t.Errorf("%v, the file is\n%s", err, text)
	}
	got := runLine("", "token", "list", "--tokens", path)
	lines := strings.Split(got.stdout, "\n")
	if got.code != 0 || len(lines) != 4 {
		t.Fatalf("%+v", got)
	}
	if want := []string{first, "write", "web*,log,*_p$i$t.x#-"}; !hasFields(lines[1], want) || !strings.HasSuffix(lines[1], "crawler") {
		t.Errorf("got %q, want %v", lines[1], want)
	}
	if want := []string{second, "admin", "*"}; !hasFields(lines[2], want) || !strings.Contains(lines[2], "never") {
		t.Errorf("got %q, want %v", lines[2], want)
	}
	if got := runLine("", "token", "revoke", "--tokens", path, first, "aaaaaaaa"); got.code != exitFailed || !strings.Contains(got.stderr, "nothing was revoked") {
		t.Errorf("%+v", got)
	}
	if got := runLine("", "token", "revoke", "--tokens", path, secret); got.code != exitFailed || !strings.Contains(got.stderr, "in place of its id, which is "+first) || strings.Contains(got.stderr, secret[13:]) {
		t.Errorf("%+v", got)
	}
	if got := runLine("", "token", "revoke", "--tokens", path, first); got != (result{}) {
		t.Errorf("%+v", got)
	}
	if got := runLine("", "token", "list", "--tokens", path); strings.Contains(got.stdout, first) || !strings.Contains(got.stdout, second) {
		t.Errorf("%+v", got)
	}
}

// hasFields reports whether a line begins with some fields.
func hasFields(line string, want []string) bool {
	got := strings.Fields(line)
	return len(got) >= len(want) && strings.Join(got[:len(want)], " ") == strings.Join(want, " ")
}

// TestTokenNotPrinted has a standard output that is full.
func TestTokenNotPrinted(t *testing.T) {
	var stderr bytes.Buffer
	code := run([]string{"token", "create", "--scope", "read", "--tokens", filepath.Join(t.TempDir(), "tokens.json")}, strings.NewReader(""), fullWriter{}, &stderr)
	if code != exitFailed || !strings.Contains(stderr.String(), "colonnade token revoke") {
		t.Errorf("code %d, %s", code, &stderr)
	}
}

type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestTokenMistakes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	for line, want := range map[string]string{
		"token":                                         "needs a command",
		"token frob":                                    `unknown command "frob"`,
		"token create":                                  "--scope is missing: read, write or admin",
		"token create --scope root":                     "is none of read, write and admin",
		"token create --scope read extra":               "unknown command",
		"token create --scope read --expires=":          "is neither never nor a time such as 90d",
		"token create --scope read --expires 0d":        "is neither never",
		"token create --scope read --expires -1h":       "is neither never",
		"token create --scope read --expires 90":        "is neither never",
		"token create --scope read --expires 1000000d":  "is neither never",
		"token create --scope read --expires 99999999h": "is neither never",
		"token create --scope read --table [":           `--table "[": no table can have such a name`,
		"token create --scope read --table web|log":     "* stands for any characters",
		"token create --scope read --table _x*":         "the first of them no _",
		"token revoke":                                  "it has 0 arguments, and takes: colonnade token revoke ID...",
	} {
		got := runLine("", append(strings.Fields(line), "--tokens", path)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v, want %q", line, got, want)
		}
	}
	if got := runLine("", "token", "create", "--tokens", filepath.Join(path, "none"), "--scope", "read"); got.code != exitFailed || !strings.Contains(got.stderr, "make the directory of "+path) {
		t.Errorf("in a directory that is not there: %+v", got)
	}
	if got := noTokens(path, fs.ErrPermission).Error(); !strings.Contains(got, "be the user of the server, or root") {
		t.Errorf("of another user: %s", got)
	}
	if got := runLine("", "token", "create", "--tokens", path, "--scope", "read", "--table", ""); got.code != exitUsage || !strings.Contains(got.stderr, "must be 1 to 200 bytes") {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("mistakes made a file")
	}
}

func TestExpiry(t *testing.T) {
	now := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{"90d": 90 * 24 * time.Hour, "12h": 12 * time.Hour, "30m": 30 * time.Minute, "36500d": 36500 * 24 * time.Hour} {
		if got, err := expiry(text, now); err != nil || got.Sub(now) != want {
			t.Errorf("%s: %v, %v", text, got.Sub(now), err)
		}
	}
	if got, err := expiry("never", now); err != nil || !got.IsZero() {
		t.Errorf("never: %v, %v", got, err)
	}
}

// secured is a server with TLS and tokens, and the files that it was started with.
type secured struct {
	*served
	dir, tokens, audit string
	client             *http.Client
}

func (s *secured) path(name string) string { return filepath.Join(s.dir, name) }

func (s *secured) write(name string, text []byte) string {
	s.t.Helper()
	// In place of the one before, as programs that renew certificates do it.
	if err := os.WriteFile(s.path(name+".new"), text, 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(s.path(name+".new"), s.path(name)); err != nil {
		s.t.Fatal(err)
	}
	return s.path(name)
}

// issue makes a new authority, and the files of a certificate of it.
func (s *secured) issue(name string) *testcert.Authority {
	s.t.Helper()
	authority := testcert.NewAuthority(s.t, name)
	cert, key := authority.Issue(s.t, name)
	s.write("key.pem", key)
	s.write("cert.pem", cert)
	return authority
}

func (s *secured) trust(authority *testcert.Authority, pairs ...tls.Certificate) {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority.PEM)
	s.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: pairs}, ForceAttemptHTTP2: true, DisableKeepAlives: true}}
}

func startSecured(t *testing.T, args ...string) *secured {
	t.Helper()
	s := &secured{served: &served{t: t}, dir: t.TempDir()}
	s.tokens, s.audit = s.path("tokens.json"), s.path("audit.log")
	authority := s.issue("first")
	s.write("ca.pem", authority.PEM)
	s.trust(authority)
	makeToken(t, s.tokens, "--scope", "read", "--name", "unused")
	s.served = startServe(t, s.path("data"), append([]string{"--listen", "127.0.0.1:0", "--tokens", s.tokens, "--audit-log", s.audit,
		"--tls-cert", s.path("cert.pem"), "--tls-key", s.path("key.pem")}, args...)...)
	if !strings.HasPrefix(s.url, "https://") {
		t.Fatalf("listening on %s", s.url)
	}
	return s
}

// request makes a request with a token, "" for none.
func (s *served) request(token, method, path, body string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

// status sends a request with a token, and returns the status, or an error's text.
func (s *secured) status(token, method, path, body string) string {
	s.t.Helper()
	answer, err := s.client.Do(s.request(token, method, path, body))
	if err != nil {
		return err.Error()
	}
	answer.Body.Close()
	return fmt.Sprintf("%s %d", answer.Proto, answer.StatusCode)
}

func (s *secured) want(token, method, path, body, want string) {
	s.t.Helper()
	if got := s.status(token, method, path, body); !strings.Contains(got, want) {
		s.t.Errorf("%s %s with %.12s: got %q, want %q", method, path, token, got, want)
	}
}

// TestSecured drives the real server with TLS and tokens, which are made and revoked while it runs.
func TestSecured(t *testing.T) {
	s := startSecured(t)
	s.want("", "GET", "/healthz", "", "HTTP/2.0 200")
	s.want("", "GET", "/v1/table", "", "401")

	come := s.stderr.next("token_added")
	id, admin := makeToken(t, s.tokens, "--scope", "admin", "--table", "web*", "--name", "boss")
	<-come
	s.want(admin, "PUT", "/v1/table/web", `{"column_families":[{"name":"f"}]}`, "201")
	s.want(admin, "PUT", "/v1/table/other", `{}`, "403")

	// The commands that send requests.
	in := s.write("rows.ndjson", []byte(`{"row_key":"r","cells":[{"column_key":"f:","type":"string","value":"x","time":1}]}`+"\n"))
	secret := s.write("secret", []byte(admin+"\n"))
	reach := []string{"--url", s.url, "--ca", s.path("ca.pem"), "--token-file", secret}
	if got := runLine("", append([]string{"import", in, "--table", "web"}, reach...)...); got.code != 0 || !strings.Contains(got.stdout, "1 row") {
		t.Errorf("%+v", got)
	}
	if got := runLine("", append([]string{"export", "web"}, reach...)...); got.code != 0 || !strings.Contains(got.stdout, `"row_key":"r"`) {
		t.Errorf("%+v", got)
	}
	if got := runLine("", "export", "web", "--url", s.url, "--ca", s.path("ca.pem"), "--retry-for", "0"); got.code != exitFailed || !strings.Contains(got.stderr, "needs a token") {
		t.Errorf("%+v", got)
	}
	if got := runLine("", "export", "web", "--url", s.url, "--token-file", secret, "--retry-for", "0"); got.code != exitFailed || !strings.Contains(got.stderr, "unknown authority") {
		t.Errorf("%+v", got)
	}

	// A broken file changes nothing, and is said to be broken.
	good, err := os.ReadFile(s.tokens)
	if err != nil {
		t.Fatal(err)
	}
	come = s.stderr.next("the tokens stay as they are")
	s.write("tokens.json", []byte(`{"tokens":[`))
	<-come
	s.want(admin, "GET", "/v1/table/web", "", "200")
	s.write("tokens.json", good)

	come = s.stderr.next("token_removed")
	if got := runLine("", "token", "revoke", "--tokens", s.tokens, id); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	<-come
	s.want(admin, "GET", "/v1/table/web", "", "401")

	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("code %d\n%s", code, s.stderr)
	}
	var events []string
	text, err := os.ReadFile(s.audit)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e struct {
			Msg, Token, Table string
			Status            int
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		events = append(events, fmt.Sprintf("%s %s %s %d", e.Msg, strings.Replace(e.Token, id, "ID", 1), e.Table, e.Status))
	}
	want := []string{"refused   401", "token_added ID  0", "schema_change ID web 201", "refused ID other 403", "refused  web 401", "token_removed ID  0", "refused  web 401"}
	slices.Sort(events) // a request is in the log after its answer, so perhaps behind what came next
	slices.Sort(want)
	if !slices.Equal(events, want) {
		t.Errorf("the audit log has\n%s\nwant\n%s", strings.Join(events, "\n"), strings.Join(want, "\n"))
	}
	if info, err := os.Stat(s.audit); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the audit log has mode %v, %v", info.Mode(), err)
	}
	for _, secret := range []string{admin, admin[13:]} {
		if strings.Contains(string(text)+s.stderr.String(), secret) {
			t.Error("a log has a token")
		}
	}
}

// TestCertificatesReloaded renews the certificate of a running server. What is broken is not taken.
func TestCertificatesReloaded(t *testing.T) {
	s := startSecured(t)
	come := s.stderr.next("the certificates stay as they are")
	s.write("key.pem", []byte("broken"))
	<-come
	s.want("", "GET", "/healthz", "", "200")
	second := s.issue("second")
	s.trust(second)
	// The files are replaced one after the other: the pair may be looked at between.
	for deadline := time.Now().Add(time.Minute); s.status("", "GET", "/healthz", "") != "HTTP/2.0 200"; {
		if time.Now().After(deadline) {
			t.Fatalf("the new certificate is not shown:\n%s", s.stderr)
		}
	}
}

// TestClientCertificates: with --tls-client-ca a client without a certificate of that authority gets nothing.
func TestClientCertificates(t *testing.T) {
	clients, strangers := testcert.NewAuthority(t, "clients"), testcert.NewAuthority(t, "strangers")
	file := filepath.Join(t.TempDir(), "clients.pem")
	if err := os.WriteFile(file, clients.PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	s := startSecured(t, "--tls-client-ca", file)
	ca, err := os.ReadFile(s.path("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	server := &testcert.Authority{PEM: ca}
	if got := s.status("", "GET", "/healthz", ""); strings.Contains(got, "HTTP/") {
		t.Errorf("a client without a certificate got %s", got)
	}
	for _, authority := range []*testcert.Authority{clients, strangers} {
		cert, key := authority.Issue(t, "client")
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		s.trust(server, pair)
		if got := s.status("", "GET", "/healthz", ""); strings.Contains(got, "HTTP/2.0 200") != (authority == clients) {
			t.Errorf("the client of %s got %s", authority.PEM, got)
		}
		got := runLine("", "export", "none", "--url", s.url, "--ca", s.path("ca.pem"), "--cert", s.write("client.pem", cert), "--key", s.write("client.key", key), "--retry-for", "0")
		if known := strings.Contains(got.stderr, "needs a token"); got.code != exitFailed || known != (authority == clients) {
			t.Errorf("export: %+v", got)
		}
	}
}

// TestAuditRotated moves the audit log away and hangs up, as logrotate does.
func TestAuditRotated(t *testing.T) {
	s := startSecured(t)
	s.want("", "GET", "/v1/table/before", "", "401")
	if err := os.Rename(s.audit, s.audit+".1"); err != nil {
		t.Fatal(err)
	}
	s.signal(syscall.SIGHUP)
	awaitFile(t, s.served, s.audit, "")
	s.want("", "GET", "/v1/table/after", "", "401")
	for path, want := range map[string]string{s.audit: "after", s.audit + ".1": "before"} {
		if text, err := os.ReadFile(path); err != nil || strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), want) {
			t.Errorf("%s has %q, %v", path, text, err)
		}
	}
}

// TestAuditNotWritten has the audit log on a device that is full: the server's log says so once, and the stop is in order.
func TestAuditNotWritten(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	s := startServe(t, filepath.Join(dir, "data"), "--audit-log", "/dev/full")
	for _, name := range []string{"a", "b"} {
		r, err := http.NewRequest(http.MethodPut, s.url+"/v1/table/"+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil || answer.StatusCode != http.StatusCreated {
			t.Fatalf("%v, %v", answer, err)
		}
		answer.Body.Close()
	}
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("code %d", code)
	}
	if n := strings.Count(s.stderr.String(), "the audit log cannot be written"); n != 1 {
		t.Errorf("the log says %d times that the audit log cannot be written:\n%s", n, s.stderr)
	}
}

// TestAuditWrittenAgain counts the lines that were lost.
func TestAuditWrittenAgain(t *testing.T) {
	var log bytes.Buffer
	path := filepath.Join(t.TempDir(), "audit.log")
	file, err := openLogFile("audit log", path, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	audit := slog.New(slog.NewJSONHandler(file, nil))
	good := file.f
	if file.f, err = os.Open(path); err != nil { // for reading
		t.Fatal(err)
	}
	audit.Info("one")
	audit.Info("two")
	file.f.Close()
	file.f = good
	audit.Info("three")
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	if strings.Count(log.String(), "\n") != 2 || !strings.Contains(log.String(), "cannot be written") || !strings.Contains(log.String(), "lost_lines=2") {
		t.Errorf("the log is\n%s", &log)
	}
}

// TestAccessMistakes: nothing starts, and the error says what to do.
func TestAccessMistakes(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	cert, key := testcert.NewAuthority(t, "authority").Issue(t, "server")
	_, other := testcert.NewAuthority(t, "other").Issue(t, "server")
	for name, text := range map[string][]byte{"cert": cert, "key": key, "other": other, "text": []byte("text")} {
		if err := os.WriteFile(path(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	makeToken(t, path("tokens"), "--scope", "read")
	if err := os.WriteFile(path("open"), []byte(`{"tokens":[]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line, want string
		code       int
	}{
		{"--tls-cert cert", "needs tls-key", 2},
		{"--tls-key key", "needs tls-cert", 2},
		{"--tls-client-ca cert", "needs tls-cert and tls-key", 2},
		{"--tls-cert cert --tls-key other", "private key does not match public key", 1},
		{"--tls-cert text --tls-key key", "text", 1},
		{"--tls-cert none --tls-key key", "no such file", 1},
		{"--tls-cert cert --tls-key key --tls-client-ca text", "text has no certificate in PEM", 1},
		{"--tokens none", "colonnade token create --tokens", 1},
		{"--tokens open", "chmod 600", 1},
		{"--tokens text", "text: invalid character", 1},
		{"--audit-log none/audit", "--audit-log: open", 1},
		{"--auth-failures -1", "must be a whole number from 0 to 1000", 2},
		{"--audit-log none/audit", ": make its directory first", 1},
		{"--host https://a", `"https://a" is no name such as tables.example.com`, 2},
		{"--host *.a", "is no name", 2},
		{"--cors-origin *", "is no origin such as https://console.example.com", 2},
		{"--cors-origin https://a/b", "is no origin", 2},
		{"--cors-origin https://*.a", "without *", 2},
		{"--listen 0.0.0.0:0 --tokens tokens", "needs tokens, tls-cert and tls-key", 2},
		{"--listen 0.0.0.0:0 --tls-cert cert --tls-key key", "needs tokens, tls-cert and tls-key", 2},
	} {
		args := []string{"serve", "--data", path("data"), "--listen", "127.0.0.1:0"}
		for _, word := range strings.Fields(c.line) {
			switch word {
			case "cert", "key", "other", "text", "none", "tokens", "open", "none/audit":
				word = path(word)
			}
			args = append(args, word)
		}
		got := runLine("", args...)
		if got.code != c.code || !strings.Contains(got.stderr, c.want) || got.stdout != "" {
			t.Errorf("%s: %+v, want code %d and %q", c.line, got, c.code, c.want)
		}
		if _, err := os.Stat(path("data")); err == nil {
			t.Fatalf("%s made the directory", c.line)
		}
	}
}
