package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/colonnade-db/colonnade/reliability/report"
)

type flags struct {
	part   string
	seed   uint64
	hours  float64
	out    string
	server string
	first  bool
	short  bool
	child  string
}

func main() {
	var f flags
	flag.StringVar(&f.part, "part", "", "parts to run, with commas between; default all: "+names())
	flag.Uint64Var(&f.seed, "seed", 1, "seed of the first round; each further round takes the next")
	flag.Float64Var(&f.hours, "hours", 0, "go on with further rounds for this long; 0 for one round")
	flag.StringVar(&f.out, "out", "", "file for the report, as JSON")
	flag.StringVar(&f.server, "server", "", "colonnade binary to test; default: one built from this source")
	flag.BoolVar(&f.first, "first", false, "end at the first failure")
	flag.BoolVar(&f.short, "short", false, "an eighth of each part, which the seed chooses")
	flag.StringVar(&f.child, "child", "", "used by the program itself: run one part and write its section to this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	green, err := run(ctx, f)
	if err != nil {
		fmt.Fprintln(os.Stderr, "reliability:", err)
		os.Exit(2)
	}
	if !green {
		os.Exit(1)
	}
}

// env returns the environment of a round.
func (f *flags) env(seed uint64, dir string) report.Env {
	return report.Env{Seed: seed, Server: f.server, Dir: dir, First: f.first, Short: f.short}
}

func names() string {
	var list []string
	for _, p := range parts {
		list = append(list, p.Name)
	}
	return strings.Join(list, ",")
}

func chosen(list string) ([]report.Part, error) {
	if list == "" {
		return parts, nil
	}
	var picked []report.Part
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(parts, func(p report.Part) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no part %q, only %s", name, names())
		}
		picked = append(picked, parts[i])
	}
	return picked, nil
}

func run(ctx context.Context, f flags) (green bool, err error) {
	list, err := chosen(f.part)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "reliability")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	if f.child != "" {
		return true, child(ctx, f, list[0], dir)
	}
	if f.server == "" {
		if f.server, err = buildServer(ctx, dir); err != nil {
			return false, err
		}
	}
	r := report.Report{Commit: commit(ctx), Go: runtime.Version(), Cores: runtime.NumCPU(), Seed: f.seed, Short: f.short, Begin: time.Now()}
	err = rounds(ctx, f, list, dir, &r)
	r.Finish(time.Now())
	fmt.Print(&r)
	if f.out != "" {
		data, jsonErr := json.MarshalIndent(&r, "", "  ")
		err = errors.Join(err, jsonErr, os.WriteFile(f.out, append(data, '\n'), 0o644))
	}
	return r.Green, err
}

// rounds runs every part once, and then again with the next seed until the time is up.
func rounds(ctx context.Context, f flags, list []report.Part, dir string, r *report.Report) error {
	end := r.Begin.Add(time.Duration(f.hours * float64(time.Hour)))
	for seed := f.seed; ; seed++ {
		for _, p := range list {
			begin := time.Now()
			env := f.env(seed, dir)
			s := parent(ctx, f, p, env)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			took := time.Since(begin)
			r.Add(p, env, s, took)
			fmt.Fprintf(os.Stderr, "%s, seed %d: %.1f s, failed: %v\n", p.Name, seed, took.Seconds(), s.Failed())
			if f.first && s.Failed() || f.hours > 0 && time.Now().After(end) {
				return nil
			}
		}
		if f.hours == 0 {
			return nil
		}
	}
}

// buildServer builds the server under test from the source beside this module.
func buildServer(ctx context.Context, dir string) (string, error) {
	path := dir + "/colonnade"
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/colonnade-db/colonnade/cmd/colonnade")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return path, nil
}

// commit returns the commit of the source, with a + for uncommitted changes.
func commit(ctx context.Context) string {
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(head))
	if changed, err := exec.CommandContext(ctx, "git", "status", "--porcelain").Output(); err != nil || len(changed) > 0 {
		name += "+"
	}
	return name
}
