package bigtable

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// difference is one between Google's emulator and this one. testdata/emulator mends it in theirs, as long as the variable
// EMULATOR_KEEPS does not name it.
type difference struct{ name, reason string }

// theirs are the differences to Google's emulator in the version of its client, goClient, that the differential test finds.
// It does not ask, or does not compare:
//
//   - the text of errors, and which of two errors is told
//   - keys and offsets of SampleRowKeys, and which rows row_sample_filter takes: random there
//   - rows and cells that statistics count as seen: blocks are skipped here
//   - the messages that an answer comes in
//   - AddToCell at the time of the server: an error there
//   - views of GetTable: always the schema there
//   - instances, clusters, app profiles: UNIMPLEMENTED there
//   - GC rules nested deeper than one of each: UNIMPLEMENTED here
var theirs = []difference{
	// Faults of theirs.
	{"sink", "a sink passes everything on, and outputs nothing itself"},
	{"family-order", "row limits and offsets count the families in random order, and answers have them in order of creation"},
	{"late-filters", "a wrong filter is an error only if a row reaches it"},
	{"lax-filters", "taken are: empty filters, labels outside [a-z0-9-]{1,15}, two labels in a chain, conditions without a predicate, sinks in one, false for a strip_value_transformer, offsets below 0, ranges that end before they start"},
	{"strip-labels", "strip_value_transformer takes labels off"},
	{"row-sets", "taken are empty row keys, and ranges that have no key"},
	{"rows-limit", "a rows_limit below 0 is taken for no rows"},
	{"gc", "GC rules act some time later, and intersections never"},
	{"atomic", "if a mutation of a row fails, those before it stay"},
	{"codes", "an unknown family is UNKNOWN, or INTERNAL in MutateRows, and so is an increment of what is no number"},
	{"lax-mutations", "taken are: conditions and rules that change nothing, wrong times where there is nothing to delete, deletions from an unknown family, wrong mutations in a branch that is not taken, SetCell in an aggregate"},
	{"min-max", "min and max of an aggregate keep the last value"},
	{"list-tables", "tables come in random order, without pages"},
	{"modifications", "if a modification of families fails, those before it stay"},
	{"lax-admin", "taken are GC rules of 0 versions, an empty prefix to drop, and update masks that change nothing"},
	// By design of ours.
	{"modified-times", "a ReadModifyWriteRow writes a version behind the newest, as the service, and theirs over it in the same millisecond"},
	{"time-zero", "a version with time 0 has no age here, and versions are counted among those that stay"},
	// Faults that theirs had, by the issue of google-cloud-go.
	{"issue-804", "a predicate was true whose last filter let nothing through"},
	{"issue-839", "block_all_filter passed everything"},
	{"issue-840", "row_sample_filter passed everything"},
	{"issue-1355", "a row key matched in part"},
	{"issue-1399", "value_range_filter, of which HBase's SingleColumnValueFilter is made, passed everything"},
	{"issue-1712", "a chain that let nothing through was true as a predicate"},
}

// TestDifferencesAreUsed: what mends Google's emulator and the table above name the same differences.
func TestDifferencesAreUsed(t *testing.T) {
	var used, listed []string
	for _, file := range []string{"inmem.patch", "mended.go"} {
		text, err := os.ReadFile("testdata/emulator/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`mended\("(.*?)"\)`).FindAllSubmatch(text, -1) {
			used = append(used, string(m[1]))
		}
	}
	for _, d := range theirs {
		listed = append(listed, d.name)
	}
	slices.Sort(used)
	slices.Sort(listed)
	if used = slices.Compact(used); !slices.Equal(used, listed) {
		t.Errorf("mended are\n%q\nlisted are\n%q", used, listed)
	}
}

// buildGoogles builds Google's emulator once, patched.
var buildGoogles = sync.OnceValues(func() (string, error) {
	module, err := download(goClient)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(filepath.Dir(program), "google")
	if err := os.CopyFS(dir, os.DirFS(module)); err != nil {
		return "", err
	}
	mended, err := os.ReadFile("testdata/emulator/mended.go")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "bttest", "mended.go"), mended, 0o666)
	}
	if err != nil {
		return "", err
	}
	patch, err := filepath.Abs("testdata/emulator/inmem.patch")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "emulator")
	for _, args := range [][]string{{"git", "apply", patch}, {"go", "build", "-o", binary, "./cmd/emulator"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir, cmd.Stderr, cmd.Env = dir, os.Stderr, environment("GOFLAGS=-mod=readonly", "GOWORK=off", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		if err := cmd.Run(); err != nil {
			return "", err
		}
	}
	return binary, nil
})

// googleEmulator starts Google's emulator without differences but one, and returns its address.
func googleEmulator(t *testing.T, keeps string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git, which applies the patch of Google's emulator")
	}
	binary, err := buildGoogles()
	if err != nil {
		t.Fatalf("Google's emulator cannot be built: %v", err)
	}
	cmd := exec.Command(binary, "-port", "0")
	cmd.Env = environment("EMULATOR_KEEPS=" + keeps)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "Cloud Bigtable emulator running on ")
	if !ok {
		t.Fatalf("Google's emulator says %q, %v", line, err)
	}
	return address
}
