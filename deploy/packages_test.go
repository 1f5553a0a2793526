package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestScriptsOfPackages runs the scripts with the arguments that dpkg and rpm pass, and looks what they would do to the
// machine. Nothing is ever removed.
func TestScriptsOfPackages(t *testing.T) {
	const (
		user   = "useradd --system --user-group --home-dir /var/lib/colonnade --no-create-home --shell /usr/sbin/nologin colonnade"
		reload = "systemctl daemon-reload"
		again  = "systemctl try-restart colonnade.service"
		end    = "systemctl disable --now colonnade.service"
	)
	tests := []struct {
		when, line string
		known      bool // the user is there
		want       []string
	}{
		{"dpkg installs", "postinstall configure", false, []string{user, reload, again}},
		{"dpkg upgrades", "postinstall configure 1.0.0-1", true, []string{reload, again}},
		{"dpkg has failed to upgrade", "postinstall abort-upgrade 1.0.0-1", true, nil},
		{"rpm installs", "postinstall 1", false, []string{user, reload, again}},
		{"rpm upgrades", "postinstall 2", true, []string{reload, again}},

		{"dpkg upgrades", "preremove upgrade 1.1.0-1", true, nil},
		{"dpkg removes", "preremove remove", true, []string{end}},
		{"rpm upgrades", "preremove 1", true, nil},
		{"rpm removes", "preremove 0", true, []string{end}},

		{"dpkg upgrades", "postremove upgrade 1.1.0-1", true, nil},
		{"dpkg removes", "postremove remove", true, []string{reload}},
		{"dpkg purges", "postremove purge", true, nil},
		{"rpm upgrades", "postremove 1", true, nil},
		{"rpm removes", "postremove 0", true, []string{reload}},
	}
	for _, test := range tests {
		for _, systemd := range []bool{true, false} {
			var want []string
			for _, call := range test.want {
				if systemd || call == user {
					want = append(want, call)
				}
			}
			if got := callsOf(t, test.line, test.known, systemd); got != strings.Join(want, "\n") {
				t.Errorf("%s, systemd %v: %s calls\n%s\nwant\n%s", test.when, systemd, test.line, got, strings.Join(want, "\n"))
			}
		}
	}
}

// callsOf runs a script among commands that only note how they are called, and nothing else, and returns the notes.
func callsOf(t *testing.T, line string, known, systemd bool) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"useradd", "systemctl"} {
		note := fmt.Sprintf("#!/bin/sh\necho \"%s $*\" >>%s/calls\n", name, dir)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(note), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	getent := "#!/bin/sh\nexit 2\n"
	if known {
		getent = "#!/bin/sh\nexit 0\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "getent"), []byte(getent), 0o700); err != nil {
		t.Fatal(err)
	}
	if systemd {
		if err := os.MkdirAll(filepath.Join(dir, "run/systemd/system"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	words := strings.Fields(line)
	cmd := exec.Command("/bin/sh", append([]string{"packages/" + words[0]}, words[1:]...)...)
	cmd.Env = []string{"PATH=" + dir, "DPKG_ROOT=" + dir}
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", line, err, output)
	}
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(calls), "\n")
}
