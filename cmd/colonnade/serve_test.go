package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// served is a serve in a process of its own.
type served struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string
	stderr *watched
}

// watched keeps what is written to it, and tells when a word has come.
type watched struct {
	come <-chan struct{} // closed when the word is there

	mu    sync.Mutex
	b     bytes.Buffer
	waits []wait
}

// wait is for a word behind some offset.
type wait struct {
	word  string
	after int
	come  chan struct{}
}

func newWatched(word string) *watched {
	w := new(watched)
	w.come = w.next(word)
	return w
}

// next returns a channel that is closed when a word is written from now on.
func (w *watched) next(word string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	come := make(chan struct{})
	w.waits = append(w.waits, wait{word, w.b.Len(), come})
	return come
}

// line returns the first line with a word. It waits until that has been written.
func (w *watched) line(word string) string {
	w.mu.Lock()
	come := make(chan struct{})
	if strings.Contains(w.b.String(), word) {
		close(come)
	} else {
		w.waits = append(w.waits, wait{word, 0, come})
	}
	w.mu.Unlock()
	<-come
	before, after, _ := strings.Cut(w.String(), word)
	line, _, _ := strings.Cut(word+after, "\n")
	return before[strings.LastIndexByte(before, '\n')+1:] + line
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.b.Write(p)
	w.waits = slices.DeleteFunc(w.waits, func(x wait) bool {
		found := strings.Contains(w.b.String()[x.after:], x.word)
		if found {
			close(x.come)
		}
		return found
	})
	return len(p), nil
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// startServe starts a server on dir and waits until it is ready.
func startServe(t *testing.T, dir string, args ...string) *served {
	t.Helper()
	return startCommand(t, program(append([]string{"serve", "--data", dir, "--listen", "127.0.0.1:0"}, args...)...))
}

func startCommand(t *testing.T, cmd *exec.Cmd) *served {
	t.Helper()
	s := &served{t: t, cmd: cmd, stderr: newWatched("stopping")}
	cmd.Stderr = s.stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		cmd.Wait()
		t.Fatalf("no first line: %v\n%s", err, s.stderr)
	}
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("first line %q, want where it listens", line)
	}
	s.url = url
	return s
}

func (s *served) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// stop sends a signal and returns the exit code.
func (s *served) stop(sig os.Signal) int {
	s.t.Helper()
	s.signal(sig)
	s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

// call sends a request and returns the answer's body, which must be a success.
func (s *served) call(method, path, body string) string {
	s.t.Helper()
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode/100 != 2 {
		s.t.Fatalf("%s %s: status %d, %v: %s", method, path, resp.StatusCode, err, text)
	}
	return string(text)
}

func TestServeKeepsDataOverARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	s := startServe(t, dir)
	s.call("PUT", "/v1/table/t", `{"column_families":[{"name":"f"}]}`)
	s.call("POST", "/v1/table/t/write", `{"items":[{"row_key":"a","cells":[{"column_key":"f:q","type":"string","value":"kept"}]}]}`)
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		if code := s.stop(sig); code != 0 {
			t.Errorf("%v: code %d, want 0\n%s", sig, code, s.stderr)
		}
		s = startServe(t, dir, "--memtable-mib", "8", "--cache-mib", "8")
		if got := s.call("POST", "/v1/table/t/rows", `{"items":[{"row":{"key":"a"}}]}`); !strings.Contains(got, `"kept"`) {
			t.Errorf("after %v: %s", sig, got)
		}
	}
}

// TestPathsAreAbsolute: the paths of partitions in listings mean the same to everybody, also when
// --data is relative.
func TestPathsAreAbsolute(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	relative, err := filepath.Rel(here, dir)
	if err != nil {
		t.Fatal(err)
	}
	s := startServe(t, relative)
	s.call("PUT", "/v1/table/t", "")
	for _, path := range []string{"/v1/table", "/v1/table/t"} {
		if got := s.call("GET", path, ""); !strings.Contains(got, `"path":"`+dir+"/partitions/") {
			t.Errorf("%s does not name paths below %s: %s", path, dir, got)
		}
	}
}

// TestExposedDirectory: others can read what is in it, and the log says so.
func TestExposedDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, exposed := range []bool{false, true, false} { // made by serve, opened up, closed again
		if err := os.Chmod(dir, 0o700); err == nil && exposed {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		s := startServe(t, dir)
		s.stop(syscall.SIGTERM)
		if got := strings.Contains(s.stderr.String(), "chmod 700"); got != exposed {
			t.Errorf("exposed %v: the log says\n%s", exposed, s.stderr.String())
		}
	}
}

// TestFileAsDirectory: what is no directory is not to be closed by chmod.
func TestFileAsDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	got := runLine("", "serve", "--data", path, "--listen", "127.0.0.1:0")
	if got.code != exitFailed || !strings.Contains(got.stderr, "not a directory") || strings.Contains(got.stderr, "chmod") {
		t.Errorf("%+v", got)
	}
}

func TestServeTakesItsOptionsFromTheEnvironment(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	cmd := program("serve")
	cmd.Env = append(cmd.Env, dataVariable+"="+dir, "COLONNADE_LISTEN"+"="+listener.Addr().String())
	text, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(text), "address already in use: another process listens there: stop it, or choose another port") {
		t.Errorf("on a port that is taken: %v, %s", err, text)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a server that could not listen has made its directory")
	}

	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd = program("serve")
	cmd.Env = append(cmd.Env, dataVariable+"="+dir, "COLONNADE_LISTEN"+"=127.0.0.1:0")
	text, err = cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(text), dir) {
		t.Errorf("with a file as directory: %v, %s", err, text)
	}
}

func TestDirectoryHeldByAnotherProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := startServe(t, dir)
	want := fmt.Sprintf("directory %s is in use by the process with id %d", dir, s.cmd.Process.Pid)
	for _, line := range [][]string{{"serve", "--data", dir, "--listen", "127.0.0.1:0"}, {"check", "--data", dir}} {
		got := runLine("", line...)
		if got.code != exitFailed || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v, want %q", line[0], got, want)
		}
	}
	s.stop(os.Kill)
	if got := runLine("", "check", "--data", dir); got.code != 0 {
		t.Errorf("after a kill the directory is not free: %+v", got)
	}
}

// slowRequest begins a request that does not end by itself, with a body of some length.
func slowRequest(t *testing.T, url, line string, length int) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	// An answer to the header says that the server waits for the body.
	fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", line, length)
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(answer, "100 Continue") {
		t.Fatalf("answer %q, %v, want one to go on", answer, err)
	}
	return conn
}

func TestRequestUnderWayIsFinished(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := startServe(t, dir)
	conn := slowRequest(t, s.url, "PUT /v1/table/slow", 100)
	s.signal(syscall.SIGTERM)
	<-s.stderr.come
	fmt.Fprintf(conn, "{%98s}", "")
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(answer), "201 Created") {
		t.Errorf("answer %q, %v, want 201", answer, err)
	}
	s.cmd.Wait()
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("code %d, want 0\n%s", code, s.stderr)
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	for sig, want := range map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 143} {
		s := startServe(t, filepath.Join(t.TempDir(), "data"))
		slowRequest(t, s.url, "PUT /v1/table/slow", 100)
		s.signal(syscall.SIGTERM)
		<-s.stderr.come
		if code := s.stop(sig); code != want {
			t.Errorf("%v after SIGTERM: code %d, want %d\n%s", sig, code, want, s.stderr)
		}
	}
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.8.9.1": true, "::1": true, "localhost": true, "::ffff:127.0.0.1": true,
		"": false, "0.0.0.0": false, "::": false, "192.0.2.1": false, "2001:db8::1": false,
	} {
		if got, err := loopback(context.Background(), host); got != want || err != nil {
			t.Errorf("loopback(%q) = %t, %v, want %t", host, got, err, want)
		}
	}
}

func TestInsecureListensAnywhere(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"), "--listen", "0.0.0.0:0", "--insecure")
	if !strings.HasPrefix(s.url, "http://[::]:") && !strings.HasPrefix(s.url, "http://0.0.0.0:") {
		t.Errorf("listens on %s, want all addresses", s.url)
	}
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("code %d, want 0", code)
	}
}

// TestMaxInflight: the bodies under way leave room for the rest of the process, and
// one body of any size that is allowed always fits.
func TestMaxInflight(t *testing.T) {
	for _, e := range []struct{ memory, want int64 }{
		{math.MaxInt64, 256}, {4 << 30, 256}, {484 << 20, 121}, {256 << 20, 65}, {1, 65},
	} {
		if got := maxInflightMiB(e.memory, 64); got != e.want {
			t.Errorf("of %d bytes of memory: got %d, want %d", e.memory, got, e.want)
		}
	}
}
