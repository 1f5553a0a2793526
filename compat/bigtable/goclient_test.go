package bigtable

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	goClient = "cloud.google.com/go/bigtable@v1.58.0"
	// addressVariable tells the patched tests where the emulator is.
	addressVariable = "COLONNADE_EMULATOR"
)

// patches are what differs in the client's tests, by file: they talk to a server that runs already, in place of one that
// they start, and try what that has and Google's emulator does not.
var patches = map[string][]string{
	"export_test.go": {
		`bttest.NewServer("localhost:0", serverOptions...)`, `&bttest.Server{Addr: os.Getenv("` + addressVariable + `")}, error(nil)`,
		"\te.server.Close()\n", "",
		`config.Instance = "instance"`, `config.Instance, config.Cluster = "instance", "colonnade"`,
	},
	"integration_test.go": {
		`t.Skip("emulator doesn't support PingAndWarm")`, `t.Log("the emulator has PingAndWarm")`,
		noBackups + "it-bkp-src-", theBackups + "it-bkp-src-",
		noBackups + "it-cpy-src-", theBackups + "it-cpy-src-",
		"t.Cleanup(func() { iAdminClient.Close() })\n\n\tlist := func(", "_ = iAdminClient // there is none\n\n\tlist := func(",
		`createRandomInstance(ctx, iAdminClient)`, `"elsewhere", "colonnade", error(nil)`,
		`deleteInstance(context.Background(), iAdminClient, diffInstance)`, `error(nil)`,
		"&ProdEnv{\n\t\t\tconfig: diffConf", "&EmulatedEnv{\n\t\t\tserver: testEnv.(*EmulatedEnv).server, config: diffConf",
	},
}

// The tests of backups begin alike, up to their first name.
const (
	noBackups    = `t.Skip("emulator doesn't support backups")` + beforeBackup
	theBackups   = `t.Log("the emulator has backups")` + beforeBackup
	beforeBackup = `
	}

	timeout := 15 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, timeout)
	t.Cleanup(cancel)

	tableUID := uid.NewSpace("`
)

// skipped are the integration tests that skip themselves without Google's service, and why they would fail here.
var skipped = map[string][]string{
	"they need an instance of Google's service": {
		"AdminCreateInstance", "AdminEncryptionInfo", "AdminUpdateInstanceAndSyncClusters", "Autoscaling", "DirectPathFallback", "NodeScalingFactor",
		"InstanceAdminClient_Clusters_WithFailedLocations", "ExportBuiltInMetrics", "NoopMetricsProvider",
	},
	"no backup is made by itself": {"AutomatedBackups"},
	"there are no views, and no SQL": {
		"AdminLogicalView", "AdminMaterializedView", "DataMaterializedView", "AuthorizedView", "AuthorizedViewIAM", "Execute",
	},
	"there are no schema bundles and row key schemas": {"AdminSchemaBundle", "CreateTableWithRowKeySchema", "UpdateRowKeySchemaInTable"},
	"there are no change streams":                     {"EnableChangeStream"},
	"there is no IAM":                                 {"TableIam", "BackupIAM"},
}

// passes is how many tests are not among the skipped.
const passes = 33

// TestGoClient runs the integration tests of Google's Go client, as they are in its module but for patches. The module
// is the main one there, so that its own go.sum says what it is tested with.
func TestGoClient(t *testing.T) {
	t.Parallel()
	dir := patched(t)
	cmd := exec.Command("go", "test", "-json", "-count=1", "-vet=off", "-timeout", "10m", "-run", "^TestIntegration_", ".")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = environment("GOFLAGS=-mod=readonly", "GOWORK=off", addressVariable+"="+emulator(t, "--backup-repository", t.TempDir()))
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("go test: %v", err)
	}
	outcomes, said := outcomesOf(t, string(out))
	for _, name := range outcomes["fail"] {
		t.Errorf("%s fails:\n%s", name, said[name])
	}
	if got := outcomes["pass"]; len(got) != passes {
		t.Errorf("%d tests pass, want %d: %s", len(got), passes, strings.Join(got, " "))
	}
	var want []string
	for _, names := range skipped {
		want = append(want, names...)
	}
	slices.Sort(want)
	if got := outcomes["skip"]; !slices.Equal(got, want) {
		t.Errorf("skipped are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// download returns the directory of a module in the module cache.
func download(module string) (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil {
		return "", fmt.Errorf("go mod download %s: %w: %s", module, err, out)
	}
	var m struct{ Dir string }
	err = json.Unmarshal(out, &m)
	return m.Dir, err
}

// patched returns a directory with the client's module, patched. go test -overlay cannot replace files of the module
// cache.
func patched(t *testing.T) string {
	t.Helper()
	module, err := download(goClient)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "client")
	if err := os.CopyFS(dir, os.DirFS(module)); err != nil {
		t.Fatal(err)
	}
	for file, list := range patches {
		path := filepath.Join(dir, file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(list); i += 2 {
			if strings.Count(string(text), list[i]) != 1 {
				t.Fatalf("%s of %s does not have once: %s", file, goClient, list[i])
			}
		}
		if err := os.WriteFile(path, []byte(strings.NewReplacer(list...).Replace(string(text))), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// outcomesOf returns the tests without their common prefix, sorted, by their outcome, and what each has said.
func outcomesOf(t *testing.T, events string) (outcomes map[string][]string, said map[string]string) {
	outcomes, said = make(map[string][]string), make(map[string]string)
	for line := range strings.Lines(events) {
		var e struct{ Action, Test, Output string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if e.Test == "" {
			continue
		}
		name, _, sub := strings.Cut(strings.TrimPrefix(e.Test, "TestIntegration_"), "/")
		said[name] += e.Output
		if !sub && slices.Contains([]string{"pass", "skip", "fail"}, e.Action) {
			outcomes[e.Action] = append(outcomes[e.Action], name)
		}
	}
	for _, names := range outcomes {
		slices.Sort(names)
	}
	return outcomes, said
}
