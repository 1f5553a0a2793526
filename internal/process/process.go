// Package process runs the server as a child process, for programs that kill it or measure it.
package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is one run of the server. It ends with the process that started it.
type Process struct {
	cmd    *exec.Cmd
	ready  chan string // the URL, once it is printed; closed without one
	stderr lastOutput
	done   chan struct{} // closed when the process has ended

	// Set before done is closed.
	wasReady bool
	err      error
}

const readyLine = "listening on "

// Start starts cmd, which prints "listening on URL" when it is ready.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, ready: make(chan string, 1), done: make(chan struct{})}
	cmd.Stderr = &p.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started := make(chan error, 1)
	go func() {
		// The signal comes when the starting thread ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if url, ok := strings.CutPrefix(lines.Text(), readyLine); ok {
				p.wasReady = true
				p.ready <- url
			}
		}
		close(p.ready)
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, <-started
}

// timeout is far beyond any start or stop, and below the time limit of a test.
const timeout = time.Minute

// URL waits until the server is ready. If the server ends instead, the error has its output.
func (p *Process) URL() (string, error) {
	select {
	case url, ok := <-p.ready:
		if !ok {
			<-p.done
			return "", fmt.Errorf("the server ended before it was ready: %v\n%s", p.err, p.Output())
		}
		return url, nil
	case <-time.After(timeout):
		p.Kill()
		return "", fmt.Errorf("the server was not ready after %v\n%s", timeout, p.Output())
	}
}

// PID returns the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Output returns the end of the process's standard error.
func (p *Process) Output() string { return p.stderr.String() }

// Kill ends the process at once and waits for its end.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// WasReady waits for the end of the process and reports whether it was ever ready.
func (p *Process) WasReady() bool {
	<-p.done
	return p.wasReady
}

// Interrupt asks the process to end, maybe before it handles signals. An exit code other than 0 is an
// error.
func (p *Process) Interrupt() error {
	err := p.Terminate(0)
	var exit *exec.ExitError
	if errors.As(p.err, &exit) && exit.ExitCode() < 0 {
		return nil // the signal has ended it
	}
	return err
}

// Terminate asks the process to end, and kills it after impatience; 0 is never. A process that was not
// killed must have exit code 0.
func (p *Process) Terminate(impatience time.Duration) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if impatience > 0 {
		time.Sleep(impatience)
		p.Kill()
		return nil
	}
	select {
	case <-p.done:
	case <-time.After(timeout):
		p.Kill()
		return errors.New("the server has not ended after SIGTERM")
	}
	if p.err != nil {
		return fmt.Errorf("the server ended badly after SIGTERM: %w\n%s", p.err, p.Output())
	}
	return nil
}

// lastOutput keeps the end of what is written to it.
type lastOutput struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lastOutput) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b.Len() > 1<<20 {
		l.b.Reset()
	}
	return l.b.Write(p)
}

func (l *lastOutput) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
