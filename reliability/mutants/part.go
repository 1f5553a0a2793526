package mutants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"colonnade/reliability/report"
)

// rotation is in how many rounds every mutant has its turn once.
const rotation = 5

// Part plants a fifth of the bugs each round, those of which the number leaves
// the seed's remainder, so that five rounds in a row try all of them.
var Part = report.Part{
	Name:    "mutants",
	About:   "planted bugs that the other parts have to catch",
	Minimum: map[string]int64{"planted": int64(len(planted)) / rotation},
	Limit:   20 * time.Minute,
	Run:     run,
}

// limit is how long a mutant may live.
const limit = 3 * time.Minute

func run(ctx context.Context, env report.Env, s *report.Section) error {
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	for _, m := range planted {
		if uint64(m.number)%rotation != env.Seed%rotation {
			continue
		}
		if err := m.try(ctx, root, env, s); err != nil {
			return err
		}
		if env.First && s.Failed() {
			return nil
		}
	}
	return nil
}

// try plants one bug.
func (m mutant) try(ctx context.Context, root string, env report.Env, s *report.Section) error {
	dir := filepath.Join(env.Dir, fmt.Sprint(m.number))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := m.build(ctx, root, dir)
	if err != nil {
		return err
	}
	begin := time.Now()
	caught, what, err := m.hunt(ctx, p, env.Seed)
	if err != nil {
		return err
	}
	s.Add("planted", 1)
	s.Largest("longest_life_ms", time.Since(begin).Milliseconds())
	if !caught {
		s.Fail(fmt.Sprintf("-part mutants -seed %d", env.Seed), "mutant %d (%s) lives on: part %s did not catch it\n%s", m.number, m.bug, m.part, what)
		return nil
	}
	s.Add("caught", 1)
	return nil
}

// hunt runs the part that has to catch the mutant, until its first failure.
func (m mutant) hunt(ctx context.Context, p programs, seed uint64) (caught bool, output string, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.harness, "-part", m.part, "-server", p.server, "-first", "-seed", fmt.Sprint(seed))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return false, fmt.Sprintf("still looking for it after %v", limit), nil
	case err == nil:
		return false, string(out), nil
	case errors.As(err, &exit) && exit.ExitCode() == red:
		return true, "", nil
	}
	return false, "", fmt.Errorf("part %s cannot work on mutant %d: %w\n%s", m.part, m.number, err, out)
}

// red is the exit code of the harness when it has found something.
const red = 1

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "colonnade").Output()
	if err != nil {
		return "", fmt.Errorf("find the source of the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
