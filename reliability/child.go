package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/colonnade-db/colonnade/reliability/report"
)

// garbagePercent is GOGC of a part. Parts keep little, and open and drop hundreds of thousands of stores.
// With 100 they take a tenth to a third longer.
const garbagePercent = 400

// child runs one part in this process.
func child(ctx context.Context, f flags, p report.Part, dir string) error {
	debug.SetGCPercent(garbagePercent)
	var s report.Section
	if err := p.Run(ctx, f.env(f.seed, dir), &s); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	data, err := json.Marshal(&s)
	if err != nil {
		return err
	}
	return os.WriteFile(f.child, data, 0o600)
}

// parent runs one round of a part in a child process, which may crash or hang.
func parent(ctx context.Context, f flags, p report.Part, env report.Env) *report.Section {
	var s report.Section
	repeat := env.Repeat(p.Name)
	self, err := os.Executable()
	if err != nil {
		s.Fail(repeat, "%v", err)
		return &s
	}
	result := env.Dir + "/section.json"
	os.Remove(result)
	args := []string{"-child", result, "-part", p.Name, "-seed", fmt.Sprint(env.Seed), "-server", f.server}
	if f.first {
		args = append(args, "-first")
	}
	if f.short {
		args = append(args, "-short")
	}
	limited, cancel := context.WithTimeout(ctx, p.Limit)
	defer cancel()
	cmd := exec.CommandContext(limited, self, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // prints the stacks
	cmd.WaitDelay = 10 * time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = os.Stderr, &output
	runErr := cmd.Run()
	data, readErr := os.ReadFile(result)
	switch {
	case limited.Err() != nil:
		s.Fail(repeat, "still running after %v:\n%s", p.Limit, end(output.String()))
	case runErr != nil || readErr != nil:
		s.Fail(repeat, "the process ended early: %v\n%s", runErr, end(output.String()))
	default:
		if err := json.Unmarshal(data, &s); err != nil {
			s.Fail(repeat, "its report cannot be read: %v", err)
		}
	}
	return &s
}

// end returns the end of a long output, or its start if the runtime wrote it.
func end(text string) string {
	const most = 16 << 10
	if i := strings.Index(text, "panic:"); i >= 0 {
		text = text[i:]
	} else if i := strings.Index(text, "fatal error:"); i >= 0 {
		text = text[i:]
	} else if i := strings.Index(text, "SIGQUIT:"); i >= 0 {
		text = text[i:]
	} else {
		return text[max(0, len(text)-most):]
	}
	return text[:min(most, len(text))]
}
