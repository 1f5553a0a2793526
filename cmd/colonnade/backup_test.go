package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
)

// counting writes numbered rows, each in two families of two partitions, one request after the other.
type counting struct {
	begun, acked atomic.Int64
	stop         chan struct{}
	ended        chan error
}

// count writes rows until end is called.
func (s *served) count() *counting {
	c := &counting{stop: make(chan struct{}), ended: make(chan error, 1)}
	go func() {
		for n := int64(1); ; n++ {
			select {
			case <-c.stop:
				c.ended <- nil
				return
			default:
			}
			c.begun.Store(n)
			body := fmt.Sprintf(`{"items":[{"row_key":"%08d","cells":[{"column_key":"f:","type":"i64","value":%d},{"column_key":"g:","type":"string","value":"%d %s"}]}]}`, n, n, n, strings.Repeat("x", 500))
			resp, err := http.Post(s.url+"/v1/table/web/write", "application/json", strings.NewReader(body))
			if err == nil {
				resp.Body.Close()
				if resp.StatusCode != 200 {
					err = fmt.Errorf("status %d", resp.StatusCode)
				}
			}
			if err != nil {
				c.ended <- err
				return
			}
			c.acked.Store(n)
		}
	}()
	return c
}

func (c *counting) end(t *testing.T) {
	t.Helper()
	close(c.stop)
	if err := <-c.ended; err != nil {
		t.Fatal(err)
	}
}

const twoFamilies = `{"column_families":[{"name":"f"},{"name":"g","gc_settings":{"version_limit":3}}],"locality_groups":[["g"]]}`

// wantState opens a restored directory and checks that it has the rows 1 to n, both cells of each, for an n between.
func wantState(t *testing.T, dir string, least, most int64) {
	t.Helper()
	if got := runLine("", "check", "--data", dir); got.code != 0 {
		t.Errorf("check of %s: %+v", dir, got)
	}
	s := startServe(t, dir)
	var got struct {
		Result struct {
			Rows  int64 `json:"row_count"`
			Cells int64 `json:"cell_count"`
		}
	}
	if err := json.Unmarshal([]byte(s.call("POST", "/v1/table/web/count", "{}")), &got); err != nil {
		t.Fatal(err)
	}
	n := got.Result.Rows
	if n < least || n > most || got.Result.Cells != 2*n {
		t.Errorf("%s has %d rows and %d cells, want %d to %d rows of two", dir, n, got.Result.Cells, least, most)
	}
	if last := s.call("POST", "/v1/table/web/count", fmt.Sprintf(`{"row":{"range":{"end":"%08d","inclusive":true}}}`, n)); n > 0 && !strings.Contains(last, fmt.Sprintf(`"row_count":%d,`, n)) {
		t.Errorf("%s: %d rows, but not the first ones: %s", dir, n, last)
	}
	s.stop(syscall.SIGTERM)
}

// TestBackupUnderLoad: backups of a server that takes writes, in its directory's file system and another way, have all that
// was acknowledged before, and nothing in part.
func TestBackupUnderLoad(t *testing.T) {
	top := t.TempDir()
	s := startServe(t, filepath.Join(top, "data"), "--memtable-mib", "8")
	s.call("PUT", "/v1/table/web", twoFamilies)
	c := s.count()
	repository := filepath.Join(top, "repository")
	for i := range 4 {
		until(t, "the writer goes on", func() bool { return c.acked.Load() >= int64(i)*150 })
		least := c.acked.Load()
		got := runLine("", "backup", "create", repository, "--url", s.url)
		most := c.begun.Load()
		if got.code != 0 {
			t.Fatalf("create: %+v", got)
		}
		dir := filepath.Join(top, fmt.Sprint("restored", i))
		if got := runLine("", "backup", "restore", repository, dir, "--backup", strings.TrimSpace(got.stdout)); got.code != 0 {
			t.Fatalf("restore: %+v", got)
		}
		wantState(t, dir, least, most)
	}
	c.end(t)
	if left, _ := filepath.Glob(filepath.Join(top, "data", "checkpoints", "*")); len(left) > 0 {
		t.Errorf("checkpoints are left: %q", left)
	}
	if got := runLine("", "backup", "verify", repository); got.code != 0 || !strings.Contains(got.stdout, "4 backups") {
		t.Errorf("verify: %+v", got)
	}
	if got := runLine("", "backup", "prune", repository, "--keep", "2"); got.code != 0 || strings.Count(got.stdout, "\n") != 2 {
		t.Errorf("prune: %+v", got)
	}
	if got := runLine("", "backup", "verify", repository); got.code != 0 || !strings.Contains(got.stdout, "2 backups") {
		t.Errorf("verify after prune: %+v", got)
	}
	restoreAs(t, s, repository)
}

// restoreAs restores the table under another name into the server, and compares the exports of a directory that was restored too.
func restoreAs(t *testing.T, s *served, repository string) {
	t.Helper()
	if got := runLine("", "backup", "restore", repository, "--table", "web", "--as", "copy", "--url", s.url); got.code != 0 {
		t.Fatalf("restore --as: %+v", got)
	}
	dir := filepath.Join(t.TempDir(), "whole")
	if got := runLine("", "backup", "restore", repository, dir); got.code != 0 {
		t.Fatalf("restore: %+v", got)
	}
	old := startServe(t, dir)
	want, got := runLine("", "export", "web", "--url", old.url), runLine("", "export", "copy", "--url", s.url)
	if want.code != 0 || got.code != 0 || want.stdout != got.stdout || len(got.stdout) < 1000 {
		t.Errorf("the copy has %d bytes as lines, the backup %d: %d, %d", len(got.stdout), len(want.stdout), got.code, want.code)
	}
	schema := regexp.MustCompile(`"column_families":.*?"locality_groups"`)
	if a, b := schema.FindString(old.call("GET", "/v1/table/web", "")), schema.FindString(s.call("GET", "/v1/table/copy", "")); a != b || a == "" {
		t.Errorf("the families are %s, want %s", b, a)
	}
	if got := runLine("", "backup", "restore", repository, "--table", "web", "--as", "copy", "--url", s.url); got.code != 1 || !strings.Contains(got.stderr, "copy") {
		t.Errorf("restore --as a table that is there: %+v", got)
	}
}

// ageKeys are a pair of keys of age.
type ageKeys struct{ recipient, file string }

func newAgeKeys(t *testing.T, dir string) ageKeys {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	k := ageKeys{id.Recipient().String(), filepath.Join(dir, "backup.key")}
	if err := os.WriteFile(k.file, []byte(id.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// fill writes rows of random bytes, which do not compress.
func (s *served) fill(t *testing.T, rows int) {
	t.Helper()
	var b bytes.Buffer
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= rows; n++ {
		fmt.Fprintf(&b, `{"row_key":"%08d","cells":[{"column_key":"f:","type":"i64","value":%d},{"column_key":"g:","type":"string","value":"`, n, n)
		for range 500 {
			fmt.Fprintf(&b, "%08x", r.Uint32())
		}
		b.WriteString("\"}]}\n")
	}
	if got := runLine(b.String(), "import", "--table", "web", "--url", s.url); got.code != 0 {
		t.Fatalf("import: %+v", got)
	}
}

// killAt runs a command and kills it after a part of the time that it takes.
func killAt(t *testing.T, part float64, whole time.Duration, args ...string) (killed bool) {
	t.Helper()
	cmd := program(args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(time.Duration(part*float64(whole)), func() { cmd.Process.Kill() }).Stop
	err := cmd.Wait()
	stop()
	return err != nil
}

// TestBackupKilled kills create and restore at random moments. The server, the backups before and the target stay usable.
func TestBackupKilled(t *testing.T) {
	top := t.TempDir()
	s := startServe(t, filepath.Join(top, "data"), "--memtable-mib", "8")
	s.call("PUT", "/v1/table/web", twoFamilies)
	s.fill(t, 3000)
	keys := newAgeKeys(t, top)
	repository := filepath.Join(top, "repository")
	create := []string{"backup", "create", repository, "--url", s.url, "--recipient", keys.recipient}
	begin := time.Now()
	if got := runLine("", append(create[:2:2], append([]string{filepath.Join(top, "trial")}, create[3:]...)...)...); got.code != 0 {
		t.Fatalf("create: %+v", got)
	}
	whole := 2 * time.Since(begin) // a process takes longer to start
	r := rand.New(rand.NewPCG(3, 4))
	kills := 0
	for range 8 {
		if killAt(t, r.Float64(), whole, create...) {
			kills++
		}
		if _, err := os.Stat(filepath.Join(repository, "colonnade-backup.json")); err == nil {
			if got := runLine("", "backup", "verify", repository, "--identity", keys.file); got.code != 0 {
				t.Errorf("verify after a kill: %+v", got)
			}
		}
	}
	if got := runLine("", create...); got.code != 0 {
		t.Fatalf("create after kills: %+v", got)
	}
	target := filepath.Join(top, "restored")
	restore := []string{"backup", "restore", repository, target, "--identity", keys.file}
	for range 6 {
		if killAt(t, r.Float64(), whole/2, restore...) {
			kills++
		}
		if _, err := os.Stat(target); err == nil {
			wantState(t, target, 3000, 3000)
			os.RemoveAll(target)
		}
	}
	if got := runLine("", restore...); got.code != 0 {
		t.Fatalf("restore after kills: %+v", got)
	}
	wantState(t, target, 3000, 3000)
	if kills == 0 {
		t.Error("no process was killed in time")
	}
	s.call("POST", "/v1/table/web/write", `{"items":[{"row_key":"after","cells":[{"column_key":"f:","type":"i64","value":1}]}]}`)
	if got := runLine("", "backup", "verify", repository); got.code != 0 || !strings.Contains(got.stdout, "not decrypted") {
		t.Errorf("verify without a key: %+v", got)
	}
}

// TestBackupErrors: each error says what to do.
func TestBackupErrors(t *testing.T) {
	top := t.TempDir()
	s := startServe(t, filepath.Join(top, "data"))
	s.call("PUT", "/v1/table/web", twoFamilies)
	repository, full := filepath.Join(top, "repository"), filepath.Join(top, "full")
	os.MkdirAll(full, 0o700)
	os.WriteFile(filepath.Join(full, "mine"), nil, 0o600)
	if got := runLine("", "backup", "create", repository, "--url", s.url); got.code != 0 {
		t.Fatalf("create: %+v", got)
	}
	nobody := "http://127.0.0.1:" + freePort(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"create", repository, "--url", nobody}, 1, "no server answers at " + nobody},
		{[]string{"create", full, "--url", s.url}, 1, "holds other things, such as mine"},
		{[]string{"create", filepath.Join(full, "mine"), "--url", s.url}, 1, "not a directory"},
		{[]string{"create", repository, "--url", s.url, "--table", "none"}, 1, "none"},
		{[]string{"create", repository, "--url", s.url, "--recipient", "me"}, 2, "must be like age1"},
		{[]string{"create", "gs://bucket", "--url", s.url}, 2, "a repository is a directory, or s3://BUCKET"},
		{[]string{"create", "s3://", "--url", s.url}, 2, "names no bucket"},
		{[]string{"create", "", "--url", s.url}, 2, "is a variable of the shell empty?"},
		{[]string{"list", filepath.Join(top, "none")}, 1, "there are no backups: name the place that has them, or make the first one"},
		{[]string{"list", full}, 1, "there are no backups"},
		{[]string{"restore", repository, filepath.Join(full, "mine")}, 1, "is no directory: name one that is not there yet"},
		{[]string{"restore", repository, "--table", "web", "--as", "b", "--url", s.url, "--temp", filepath.Join(top, "none")}, 1, "--temp names no directory to write to"},
		{[]string{"verify", repository, "--identity", filepath.Join(top, "none")}, 1, "--identity"},
		{[]string{"verify", repository, "19"}, 1, "there is no backup 19"},
		{[]string{"restore", repository}, 2, "name a directory"},
		{[]string{"restore", repository, full}, 1, "is not empty, it has mine"},
		{[]string{"restore", repository, filepath.Join(top, "x"), "--table", "none"}, 1, `no table "none"`},
		{[]string{"restore", repository, "--as", "b"}, 2, "--as needs one --table"},
		{[]string{"restore", repository, "--table", "web", "--as", "web", "--url", s.url, "--temp", "none"}, 1, "the server has a table web already: give --as another name"},
		{[]string{"restore", repository, "--table", "web", "--as", "b", "--url", nobody, "--temp", "none"}, 1, "no server answers at " + nobody},
		{[]string{"prune", repository}, 2, "--keep must be at least 1"},
	} {
		got := runLine("", append([]string{"backup"}, c.args...)...)
		if got.code != c.code || !strings.Contains(got.stderr, c.want) {
			t.Errorf("backup %v: %+v, want code %d and %q", c.args, got, c.code, c.want)
		}
	}
	if left, _ := os.ReadDir(filepath.Join(top, "data", "checkpoints")); len(left) > 0 {
		t.Errorf("%d checkpoints are left", len(left))
	}
	if left, _ := filepath.Glob(filepath.Join(top, "x*")); len(left) > 0 {
		t.Errorf("restores that failed left %q", left)
	}
}

// TestInterruptedSaysWhatIsLeft: what a command says of the state that it leaves is not lost when it is interrupted.
func TestInterruptedSaysWhatIsLeft(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	broken := errors.New("connection broken")
	left := func() error {
		return interrupted(ctx, fmt.Errorf("table a is not whole: %w", interrupted(ctx, broken)))
	}
	if got := left().Error(); got != "table a is not whole: connection broken" {
		t.Errorf("without an interrupt: %s", got)
	}
	stop()
	if got := left().Error(); got != "table a is not whole: interrupted" {
		t.Errorf("after an interrupt: %s", got)
	}
	if got := interrupted(ctx, broken).Error(); got != "interrupted" {
		t.Errorf("of another error: %s", got)
	}
}

// TestBackupKeys: a secret key in place of a public one is not shown, and with a wrong one verify finds no damage.
func TestBackupKeys(t *testing.T) {
	top := t.TempDir()
	s := startServe(t, filepath.Join(top, "data"))
	s.call("PUT", "/v1/table/web", twoFamilies)
	keys, repository := newAgeKeys(t, top), filepath.Join(top, "repository")
	secret, err := os.ReadFile(keys.file)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{{"backup", "create", repository, "--recipient"}, {"config", "--archive", repository, "--archive-recipient"}} {
		got := runLine("", append(line, strings.TrimSpace(string(secret)))...)
		if got.code != exitUsage || !strings.Contains(got.stderr, "a secret key was given as a recipient") || strings.Contains(got.stdout+got.stderr, string(secret[15:30])) {
			t.Errorf("%q with a secret key: %+v", line, got)
		}
	}
	if got := runLine("", "backup", "create", repository, "--url", s.url, "--recipient", keys.recipient); got.code != 0 {
		t.Fatalf("create: %+v", got)
	}
	other := newAgeKeys(t, t.TempDir())
	if got := runLine("", "backup", "verify", repository, "--identity", other.file); got.code != exitFailed || strings.Contains(got.stdout, "damage: ") || !strings.Contains(got.stderr, "encrypted for other keys than those of --identity") {
		t.Errorf("verify with another key: %+v", got)
	}
}

// TestBackupOverHTTP: where the directory of the server cannot be read, files come over HTTP, and are the same.
func TestBackupOverHTTP(t *testing.T) {
	top := t.TempDir()
	s := startServe(t, filepath.Join(top, "data"))
	s.call("PUT", "/v1/table/web", twoFamilies)
	s.fill(t, 300)
	local, remote := filepath.Join(top, "local"), filepath.Join(top, "remote")
	if got := runLine("", "backup", "create", local, "--url", s.url); got.code != 0 || !strings.Contains(got.stderr, "0 copied") {
		t.Errorf("create: %+v, want links", got)
	}
	to, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := &httputil.ReverseProxy{ // on another machine there is no such directory
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method != http.MethodPost {
				return nil
			}
			text, err := io.ReadAll(r.Body)
			text = bytes.ReplaceAll(text, []byte(`"path":"`), []byte(`"path":"/elsewhere`))
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			r.Header.Set("Content-Length", fmt.Sprint(len(text)))
			return err
		},
	}
	proxy := httptest.NewServer(elsewhere)
	defer proxy.Close()
	got := runLine("", "backup", "create", remote, "--url", proxy.URL)
	if got.code != 0 || !strings.Contains(got.stderr, " 0 linked") {
		t.Errorf("create over HTTP: %+v, want copies", got)
	}
	for _, repository := range []string{local, remote} {
		dir := filepath.Join(t.TempDir(), "restored")
		if got := runLine("", "backup", "restore", repository, dir); got.code != 0 {
			t.Fatalf("restore: %+v", got)
		}
		wantState(t, dir, 300, 300)
	}
}

// TestCommandsOfTheBackupPage runs the commands of docs/backup.md in a shell, as they stand there.
func TestCommandsOfTheBackupPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/backup.md")
	if err != nil {
		t.Fatal(err)
	}
	var script []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		script = append(script, block[1])
	}
	top := t.TempDir()
	port := freePort(t)
	os.WriteFile(filepath.Join(top, "colonnade"), fmt.Appendf(nil, "#!/bin/sh\nexec env %s=1 %s \"$@\"\n", mainVariable, os.Args[0]), 0o700)
	s := startCommand(t, program("serve", "--data", filepath.Join(top, "data"), "--listen", "127.0.0.1:"+port, "--archive", filepath.Join(top, "backup", "colonnade")))
	s.call("PUT", "/v1/table/webtable", `{"column_families":[{"name":"f"}]}`)
	s.call("POST", "/v1/table/webtable/write", `{"items":[{"row_key":"a","cells":[{"column_key":"f:","type":"i64","value":1}]}]}`)
	keys := newAgeKeys(t, top)
	text := strings.NewReplacer("/backup/", top+"/backup/", "/var/lib/", top+"/lib/", "9876", port, "9877", freePort(t), "age1…", keys.recipient, "backup.key", keys.file).Replace(strings.Join(script, ""))
	text = regexp.MustCompile(`(?m)^colonnade backup (create .*|restore .*--as .*)$`).ReplaceAllString(text, "colonnade backup $1 --url http://127.0.0.1:"+port)
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", text)
	cmd.Dir = top
	cmd.Env = append(os.Environ(), "PATH="+top+":"+os.Getenv("PATH"))
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, text, output)
	}
	if strings.Count(string(output), "no damage") < 2 || !slices.ContainsFunc(strings.Split(string(output), "\n"), func(l string) bool { return strings.Contains(l, `"row_count":1`) }) {
		t.Errorf("the commands print\n%s", output)
	}
}
