package branches

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/colonnade-db/colonnade/reliability/report"
)

// Part counts the error branches of the packages that keep data safe. With
// GOCOVERDIR set, and this program built with -cover, what the parts before it
// have run counts as well.
var Part = report.Part{
	Name:    "branches",
	About:   "error branches that have run",
	Minimum: func(report.Env) map[string]int64 { return map[string]int64{"error_branches": 200} },
	Limit:   10 * time.Minute,
	Run:     run,
}

// packages are those whose every error branch has to run.
var packages = []string{"wal", "sstable", "engine", "engine/compaction", "engine/manifest", "engine/rowmerge"}

func run(ctx context.Context, env report.Env, s *report.Section) error {
	root, err := command(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/colonnade-db/colonnade")
	if err != nil {
		return err
	}
	root = strings.TrimSpace(root)
	if err := test(ctx, root, env.Dir); err != nil {
		s.Fail("-part branches", "%v", err)
		return nil
	}
	covered, err := merge(ctx, env.Dir, os.Getenv("GOCOVERDIR"))
	if err != nil {
		return err
	}
	var all []branch
	for _, name := range packages {
		found, err := find(filepath.Join(root, name), "github.com/colonnade-db/colonnade/"+name)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	judge(s, covered, all)
	return nil
}

// judge counts the branches that have run, and tells of those that have not.
func judge(s *report.Section, covered profile, all []branch) {
	var not []branch
	for _, b := range all {
		if !covered.ran(b) {
			not = append(not, b)
			fmt.Printf("%v: no test makes this error happen\n", b)
		}
	}
	s.Add("error_branches", int64(len(all)))
	s.Add("error_branches_run", int64(len(all)-len(not)))
	if len(not) > 0 {
		s.Fail("-part branches", "no test makes these %d errors happen: %v", len(not), not)
	}
}

// test runs the packages' own tests, and those of the store above them, and
// leaves their coverage in dir.
func test(ctx context.Context, root, dir string) error {
	args := []string{"test", "-count=1", "-cover", "-coverpkg=" + imports()}
	for _, name := range append(packages, "widecol/lsmstore") {
		args = append(args, "./"+name)
	}
	args = append(args, "-args", "-test.short", "-test.gocoverdir="+dir)
	_, err := command(ctx, root, "go", args...)
	return err
}

func imports() string {
	var list []string
	for _, name := range packages {
		list = append(list, "github.com/colonnade-db/colonnade/"+name)
	}
	return strings.Join(list, ",")
}

// merge reads all coverage in the directories.
func merge(ctx context.Context, dir, more string) (profile, error) {
	text := filepath.Join(dir, "profile.txt")
	in := dir
	if more != "" {
		in += "," + more
	}
	if _, err := command(ctx, "", "go", "tool", "covdata", "textfmt", "-i="+in, "-o="+text); err != nil {
		return nil, err
	}
	f, err := os.Open(text)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readProfile(f)
}

func command(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out), nil
}
