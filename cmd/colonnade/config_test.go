package main

import (
	"bytes"
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the tables of docs/configuration.md anew")

// TestConfigurationPage: the tables of docs/configuration.md are the declarations.
func TestConfigurationPage(t *testing.T) {
	const name, mark = "../../docs/configuration.md", "<!-- From here on, go test ./cmd/colonnade -run ConfigurationPage -update writes the page. -->\n"
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(page), mark)
	if !found {
		t.Fatalf("%s has no line %s", name, mark)
	}
	var tables bytes.Buffer
	if err := declareOptions(pflag.NewFlagSet("", pflag.ContinueOnError)).config.WriteMarkdown(&tables); err != nil {
		t.Fatal(err)
	}
	want := head + mark + tables.String()
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if string(page) != want {
		t.Errorf("%s is not what the options are: run this test with -update", name)
	}
}

// withoutComments returns the lines of a file of options that set something.
func withoutComments(text string) (lines []string) {
	for line := range strings.Lines(text) {
		setting, _, _ := strings.Cut(line, "#")
		if setting = strings.TrimSpace(setting); setting != "" {
			lines = append(lines, setting)
		}
	}
	return lines
}

// TestConfigPrintsAFile: what config prints is a file with which it prints the same values again.
func TestConfigPrintsAFile(t *testing.T) {
	for _, args := range []string{"", "--data d --listen localhost:0 --host a --host b --cache-mib 2048 --log-level warn --log-format json"} {
		first := runLine("", append([]string{"config"}, strings.Fields(args)...)...)
		path := filepath.Join(t.TempDir(), "colonnade.toml")
		if err := os.WriteFile(path, []byte(first.stdout), 0o600); err != nil {
			t.Fatal(err)
		}
		second := runLine("", "config", "--config", path)
		got, want := withoutComments(second.stdout), withoutComments(first.stdout)
		if first.code != 0 || second.code != 0 || strings.Join(got, "\n") != strings.Join(want, "\n") || len(want) < 8 {
			t.Errorf("%q: got\n%s\nwant\n%s", args, second.stdout+second.stderr, first.stdout+first.stderr)
		}
	}
}

// TestConfigNamesTheSource: of a value, and of a variable that no option takes.
func TestConfigNamesTheSource(t *testing.T) {
	path := filepath.Join(t.TempDir(), "colonnade.toml")
	if err := os.WriteFile(path, []byte("# mine\ncache-mib = 7\nmemtable-mib = 8\ndata = \"f\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("COLONNADE_CONFIG", path)
	t.Setenv("COLONNADE_MEMTABLE_MIB", "9")
	t.Setenv("COLONNADE_DATA", "e")
	t.Setenv("COLONNADE_LISTENS", "x")
	got := runLine("", "config", "--data", "g")
	for _, want := range []string{`"g"`, "# from --data;", "memtable-mib = 9", "# from COLONNADE_MEMTABLE_MIB;", "cache-mib = 7", "# from " + path + ":2;", `"info"`, "# default;"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s", want, got.stdout)
		}
	}
	if want := "colonnade: warning: the environment variable COLONNADE_LISTENS is no option, did you mean COLONNADE_LISTEN?\n"; got.code != 0 || got.stderr != want {
		t.Errorf("code %d, standard error %q, want %q", got.code, got.stderr, want)
	}
}

// hangup has the server read a file of this text, and waits for a word in its log.
func (s *served) hangup(path, text, word string) {
	s.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	come := s.stderr.next(word)
	s.signal(syscall.SIGHUP)
	<-come
}

// TestReload: SIGHUP has a running server read the file again, and a broken file changes nothing.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "colonnade.toml")
	if err := os.WriteFile(path, []byte("log-format = \"json\"\ncache-mib = 16\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, filepath.Join(dir, "data"), "--config", path)
	s.hangup(path, "log-format = \"json\"\nlog-level = \"debug\"\ncache-mib = 17\n", "waits for a restart")
	s.hangup(path, "log-level = \"loud\"\n", "must be debug, info, warn or error")
	s.hangup(path, "log-level = \"error\"\nlog-formt = \"json\"\n", "did you mean log-format?")
	s.hangup(path, "log-format = \"json\"\nlog-level = \"warn\"\ncache-mib = 18\n", `"to":"18"`)
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("code %d, want 0", code)
	}
	got := s.stderr.String()
	for _, want := range []string{
		`{"level":"INFO","msg":"options were read again","file":"` + path + `"}`,
		`{"level":"INFO","msg":"an option has changed","option":"log-level","from":"\"info\"","to":"\"debug\""}`,
		`{"level":"WARN","msg":"a change of an option waits for a restart","option":"cache-mib","from":"16","to":"17"}`,
		`{"level":"ERROR","msg":"the options stay as they are, because the file is wrong","cause":"` + path + `:1: log-level = \"loud\": must be debug, info, warn or error"}`,
		`{"level":"WARN","msg":"a change of an option waits for a restart","option":"cache-mib","from":"16","to":"18"}`,
	} {
		if !strings.Contains(withoutTimes(got), want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "stopping") {
		t.Errorf("the level warn logs information:\n%s", got)
	}
}

// withoutTimes returns a log in JSON without its times.
func withoutTimes(log string) string {
	var b strings.Builder
	for line := range strings.Lines(log) {
		if _, rest, ok := strings.Cut(line, `"level"`); ok {
			line = `{"level"` + rest
		}
		b.WriteString(line)
	}
	return b.String()
}

// TestHangupWithoutAFile: a closed terminal ends the server.
func TestHangupWithoutAFile(t *testing.T) {
	// A process that was started with the signal ignored, as by nohup, would hand that down.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP)
	defer signal.Stop(handled)
	s := startServe(t, filepath.Join(t.TempDir(), "data"))
	s.stop(syscall.SIGHUP)
	if status := s.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGHUP {
		t.Errorf("ended with %v, want the signal", s.cmd.ProcessState)
	}
}
