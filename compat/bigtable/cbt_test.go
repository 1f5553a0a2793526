package bigtable

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// cbt is in modules of the client up to this one.
const cbt = "cloud.google.com/go/bigtable/cmd/cbt@v1.13.0"

var (
	now    = regexp.MustCompile(`20\d\d/\d\d/\d\d-\d\d:\d\d:\d\d(\.\d+)?`)
	logged = regexp.MustCompile(`(?m)^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d `)
)

// TestCBT runs cbt with the words of each line of testdata/cbt as arguments. The answer is what it prints, with <now> for
// times of this century. go test -run CBT -rewrite renews the answers.
func TestCBT(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	install := exec.Command("go", "install", cbt)
	install.Env = append(environment("GOBIN="+bin), "GOFLAGS=")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("go install %s: %v\n%s", cbt, err, out)
	}
	rows := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(rows, []byte(",f,,g\n,a,b,c\ni1,1,2,3\ni2,4,,5\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	env := environment("BIGTABLE_EMULATOR_HOST="+emulator(t), "TZ=UTC", "HOME="+t.TempDir())
	run := func(line string) string {
		args := []string{"-creds", os.DevNull, "-project", "p", "-instance", "i"}
		for arg := range strings.FieldsSeq(line) {
			args = append(args, strings.ReplaceAll(arg, "ROWS", rows))
		}
		cmd := exec.Command(filepath.Join(bin, "cbt"), args...)
		var out bytes.Buffer
		cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &out
		if err := cmd.Run(); err != nil {
			out.WriteString(err.Error() + "\n")
		}
		text := logged.ReplaceAllString(strings.ReplaceAll(out.String(), rows, "ROWS"), "")
		return now.ReplaceAllString(text, "<now>")
	}
	datadriven.RunTest(t, "testdata/cbt", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd != "cbt" {
			d.Fatalf(t, "unknown command %s", d.Cmd)
		}
		var answers strings.Builder
		for line := range strings.SplitSeq(strings.TrimSuffix(d.Input, "\n"), "\n") {
			answers.WriteString(run(line))
		}
		return answers.String()
	})
}
