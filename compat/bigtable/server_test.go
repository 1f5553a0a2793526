package bigtable

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable"
)

// server is the program serving a directory to clients of both protocols.
type server struct {
	cmd     *exec.Cmd
	http    string // URL
	address string // for clients of Bigtable
}

var bigtableAddress = regexp.MustCompile(`Bigtable's clients are served.* address=(\S+)`)

// serve serves a directory until the test ends.
func serve(t testing.TB, dir string) *server {
	t.Helper()
	s := &server{cmd: exec.Command(program, "serve", "--data", dir, "--listen", "127.0.0.1:0", "--bigtable-listen", "127.0.0.1:0")}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	logged, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	var seen strings.Builder
	for lines := bufio.NewScanner(logged); s.address == ""; {
		if !lines.Scan() {
			t.Fatalf("the server does not start: %s", &seen)
		}
		seen.WriteString(lines.Text() + "\n")
		if m := bigtableAddress.FindStringSubmatch(lines.Text()); m != nil {
			s.address = m[1]
		}
	}
	go io.Copy(io.Discard, logged)
	line, err := bufio.NewReader(out).ReadString('\n')
	if s.http = strings.TrimPrefix(strings.TrimSpace(line), "listening on "); err != nil || s.http == "" {
		t.Fatalf("the server says %q, %v", line, err)
	}
	return s
}

// kill ends the process as kill -9 does.
func (s *server) kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

// call makes a call of the JSON API and returns its result.
func (s *server) call(t testing.TB, method, path, body string) json.RawMessage {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.http+"/v1/table/"+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var m struct {
		Result  json.RawMessage
		Message string
	}
	if err := json.NewDecoder(answer.Body).Decode(&m); err != nil || answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %s %v", method, path, answer.Status, m.Message, err)
	}
	return m.Result
}

// client returns Google's Go client of the instance whose tables have plain names.
func client(t testing.TB, address string) *bigtable.Client {
	t.Helper()
	t.Setenv("BIGTABLE_EMULATOR_HOST", address)
	c, err := bigtable.NewClientWithConfig(context.Background(), "colonnade", "colonnade", bigtable.ClientConfig{MetricsProvider: bigtable.NoopMetricsProvider{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func createTable(t testing.TB, address, name string, families ...string) {
	t.Helper()
	t.Setenv("BIGTABLE_EMULATOR_HOST", address)
	admin, err := bigtable.NewAdminClient(t.Context(), "colonnade", "colonnade")
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	config := &bigtable.TableConf{TableID: name, ColumnFamilies: make(map[string]bigtable.Family)}
	for _, f := range families {
		config.ColumnFamilies[f] = bigtable.Family{}
	}
	if err := admin.CreateTableFromConf(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}
