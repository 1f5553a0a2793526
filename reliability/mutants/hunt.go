package mutants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// hunted is what came of a hunt.
type hunted struct {
	red    bool          // something was found
	late   bool          // it was still looking when its time was over
	work   time.Duration // CPU time of the hunter and of all that it has started and seen end
	output string
}

// red is the exit code of the harness when it has found something.
const red = 1

// hunt runs a part of the harness on a mutant, until its first failure, the end of
// its round or the end of ctx. The error is for a part that could not work.
func hunt(ctx context.Context, harness string, args ...string) (hunted, error) {
	cmd := exec.CommandContext(ctx, harness, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		return hunted{}, err
	}
	h := hunted{work: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), output: string(out)}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		h.late = true
	case errors.As(err, &exit) && exit.ExitCode() == red:
		h.red = true
	case err != nil:
		return h, fmt.Errorf("%w\n%s", err, out)
	}
	return h, nil
}

// escaped says why the mutant was not caught, and nothing if it was.
func (h hunted) escaped() string {
	switch {
	case h.late:
		return fmt.Sprintf("was still looking for it after %v", backstop)
	case !h.red:
		return "did not catch it"
	case h.work > budget:
		return fmt.Sprintf("took %v of CPU time to catch it, the budget is %v", h.work.Round(time.Second), budget)
	}
	return ""
}
