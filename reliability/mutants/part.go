package mutants

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/colonnade-db/colonnade/reliability/report"
)

// rotation is in how many full rounds every mutant has its turn once.
const rotation = 5

// rotationOf is the same for rounds such as this one.
func rotationOf(env report.Env) uint64 {
	if env.Short {
		return report.Shares * rotation
	}
	return rotation
}

// Part plants a fifth of the bugs each round, those of which the number leaves
// the seed's remainder, so that five rounds in a row try all of them. A short round
// plants an eighth of those, and hunts them with full rounds of the other parts.
var Part = report.Part{
	Name:  "mutants",
	About: "planted bugs that the other parts have to catch",
	Minimum: func(env report.Env) map[string]int64 {
		return map[string]int64{"planted": int64(len(planted)) / int64(rotationOf(env))}
	},
	Limit: 75 * time.Minute, // five at the backstop, and building them
	Run:   run,
}

const (
	// budget is how much a hunt may take: what three minutes give on two cores that
	// nobody else uses. It is CPU time, as that is the work done; what it takes
	// beside others says nothing of the hunter.
	budget = 6 * time.Minute
	// backstop ends a hunt that hangs. A part's round ends by itself, so it is far
	// beyond any that proceeds.
	backstop = 14 * time.Minute
)

func run(ctx context.Context, env report.Env, s *report.Section) error {
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	for _, m := range chosen(env) {
		if err := m.try(ctx, root, env, s); err != nil {
			return err
		}
		if env.First && s.Failed() {
			return nil
		}
	}
	return nil
}

// chosen returns the bugs of a round.
func chosen(env report.Env) (list []mutant) {
	every := rotationOf(env)
	for _, m := range planted {
		if uint64(m.number)%every == env.Seed%every {
			list = append(list, m)
		}
	}
	return list
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
	limited, cancel := context.WithTimeout(ctx, backstop)
	defer cancel()
	h, err := hunt(limited, p.harness, "-part", m.part, "-server", p.server, "-first", "-seed", fmt.Sprint(env.Seed))
	if err != nil {
		return fmt.Errorf("part %s cannot work on mutant %d: %w", m.part, m.number, err)
	}
	s.Add("planted", 1)
	s.Largest("longest_life_cpu_ms", h.work.Milliseconds())
	if escaped := h.escaped(); escaped != "" {
		s.Fail(env.Repeat("mutants"), "mutant %d (%s) lives on: part %s %s\n%s", m.number, m.bug, m.part, escaped, h.output)
		return nil
	}
	s.Add("caught", 1)
	return nil
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/colonnade-db/colonnade").Output()
	if err != nil {
		return "", fmt.Errorf("find the source of the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
