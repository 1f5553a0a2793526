package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// systemctl stands in for systemd's: a service is a process of the shell, with the options of the package. "start" and
// "restart" return when the server listens.
const systemctl = `
systemctl() {
	case $1 in
	start)
		colonnade serve --config /etc/colonnade/colonnade.toml >output 2>>log &
		server=$!
		read -r line <output
		;;
	stop) kill $server; wait $server; server= ;;
	restart) systemctl stop; systemctl start ;;
	reload) kill -HUP $server ;;
	kill) kill -KILL $server; wait $server || true; systemctl start ;;
	esac
}
mkfifo output
trap 'test -z "${server:-}" || systemctl stop' EXIT
mkdir -p /etc/colonnade /var/lib /backup
`

func TestCommandsOfTheOperationsPage(t *testing.T) {
	needCommands(t, "bash", "curl", "sha256sum", "diff", "dd", "sed")
	options, err := os.ReadFile("../../deploy/packages/colonnade.toml")
	if err != nil {
		t.Fatal(err)
	}
	before := systemctl + "cat >/etc/colonnade/colonnade.toml <<'END'\n" + string(options) + "END\n"
	port := freePort(t)
	url := " --url http://127.0.0.1:" + port
	// What is absolute for the package is relative here, and the default address is another.
	dir, output := runPage(t, "../../docs/operations.md", before, "9876", port, "9877", freePort(t),
		"colonnade ready", "colonnade ready"+url, "import --table drill", "import --table drill"+url, "export drill |", "export drill"+url+" |",
		"/etc/colonnade", "etc/colonnade", "/var/lib", "var/lib", "/backup", "backup", "/var/log", "var/log")
	for _, want := range []string{
		`cache-mib = 256 `, "The server takes requests", "no damage", "is damaged", `"code":"disk_full"`, "no server answers at",
	} {
		if !strings.Contains(output, want) {
			t.Errorf("no %q in\n%s", want, output)
		}
	}
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil || !strings.Contains(string(log), "log-level") {
		t.Errorf("nothing was reloaded: %v\n%s", err, log)
	}
}
