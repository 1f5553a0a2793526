package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// typist types into a program on a terminal of its own, and sees what that shows.
type typist struct {
	t        *testing.T
	terminal *os.File
	screen   *watched
	at       int // on the screen, where what was waited for ends
}

// startTyping runs a command line on a terminal of 80 columns.
func startTyping(t *testing.T, state string, args ...string) (*typist, func() int) {
	t.Helper()
	cmd := program(args...)
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state, "TERM=xterm")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	x := &typist{t: t, terminal: terminal, screen: newWatched("\x00")}
	go io.Copy(x.screen, terminal) // ends with the process
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait(); terminal.Close() })
	return x, func() int { cmd.Wait(); return cmd.ProcessState.ExitCode() }
}

// types types, and waits until the screen shows these, one behind the other, behind what was waited for before.
func (x *typist) types(keys string, wants ...string) {
	x.t.Helper()
	if _, err := io.WriteString(x.terminal, keys); err != nil {
		x.t.Fatal(err)
	}
	for _, want := range wants {
		x.sees(want)
	}
}

// runs types a line, and waits for what it shows and for the next prompt.
func (x *typist) runs(line, want string) {
	x.t.Helper()
	x.types(line+"\r", want, "colonnade> ")
}

// sees waits until the screen shows something.
func (x *typist) sees(want string) {
	for w := x.screen; ; {
		w.mu.Lock()
		if i := strings.Index(w.b.String()[x.at:], want); i >= 0 {
			x.at += i + len(want)
			w.mu.Unlock()
			return
		}
		come := make(chan struct{})
		w.waits = append(w.waits, wait{want, x.at, come})
		w.mu.Unlock()
		<-come
	}
}

// TestShell: a person at a terminal, with history, TAB, Ctrl-C, several lines and mistakes.
func TestShell(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	state := t.TempDir()
	x, wait := startTyping(t, state, "shell", "--url", s.url)
	x.sees("colonnade> ")
	x.runs("create 'web', 'title', 'n'", "created web")
	x.runs("put web com.example/a title: 'A page'", "wrote 1 cell")
	x.types("put web com.example/b title: \\\r", "...> ")
	x.runs("B", "wrote 1 cell")
	x.runs("put web 'two words' n:i i64:5", "wrote 1 cell")
	x.types("g\t", "get ")
	x.types("w\t", "web ")
	x.types("com\t", "com.example/")
	x.types("\t", "com.example/a  com.example/b")
	x.types("a ti\t", "title:")
	x.runs("", "  A page")
	x.types("get web two\t", "'two words' ")
	x.runs("", "i64:5")
	x.types("scan web --pre\t", "--prefix ")
	x.types("com --out\t", "--output ")
	x.types("c\t", "csv ")
	x.runs("", "com.example/b,title:,")
	x.runs("nope", `error: unknown command "nope"`)
	x.runs("get web none", "error: web has no row none")
	x.types("half of a line\x03", "^C", "colonnade> ")
	x.runs("count web", "ROWS  CELLS")
	x.types("get web com.example/\x12", "get web com.example/a title:")
	x.runs("", "  A page")
	x.runs("help scan", "--key-regex")
	x.types("\x1b[A", "help scan") // the line before
	x.types("\x03", "^C", "colonnade> ")
	x.runs("export web "+filepath.Join(state, "web.ndjson"), "3 rows, 3 cells")
	x.types("exit\r", "\n")
	if code := wait(); code != 0 {
		t.Errorf("code %d", code)
	}
	again, wait := startTyping(t, state, "shell", "--url", s.url)
	again.sees("colonnade> ")
	again.types("\x1b[A\x1b[A", "export web")
	again.types("\x03", "^C", "colonnade> ")
	again.types("\x04", "\n")
	if code := wait(); code != 0 {
		t.Errorf("code %d", code)
	}
}

// TestShellInterrupt: Ctrl-C ends the request that runs, not the shell.
func TestShellInterrupt(t *testing.T) {
	slow := newSlowServer(t)
	x, _ := startTyping(t, t.TempDir(), "shell", "--url", slow.url)
	x.sees("colonnade> ")
	x.types("tables\r", "\n")
	<-slow.asked
	x.types("\x03", "interrupted", "colonnade> ")
	<-slow.left
	x.runs("help get", "Get prints a row")
}

// TestShellScript: without a terminal the shell runs a script, and its code says how that went.
func TestShellScript(t *testing.T) {
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	for _, e := range []struct {
		script string
		code   int
		stdout string
		stderr string
	}{
		{"create t f\nput t r f:q 'a b' # one\ncount t\n", 0, `{"rows":1,"cells":1}` + "\n", ""},
		{"get t r --output csv\nget t none\ndrop t\n", exitFailed, ",a b\n", "line 2: t has no row none"},
		{"tables\nput t r\n", exitUsage, `"t"`, "line 2: it has 2 arguments, and takes: put TABLE KEY COLUMN VALUE"},
		{"gte t r\n", exitUsage, "", `line 1: unknown command "gte"`},
		{"drop 't'\nexit\nnope\n", 0, "", ""},
	} {
		got := runLine(e.script, "shell", "--url", s.url)
		if got.code != e.code || !strings.Contains(got.stdout, e.stdout) || !strings.Contains(got.stderr, e.stderr) {
			t.Errorf("%q: %+v, want code %d, %q and %q", e.script, got, e.code, e.stdout, e.stderr)
		}
	}
}

// slowServer answers no request but that of its health.
type slowServer struct {
	url         string
	asked, left chan struct{} // closed when a request has come, and when its client has gone
}

func newSlowServer(t *testing.T) *slowServer {
	s := &slowServer{asked: make(chan struct{}), left: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			_, _ = io.WriteString(w, "{}")
			return
		}
		close(s.asked)
		<-r.Context().Done()
		close(s.left)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}
