package kill9

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is one life of the server.
type process struct {
	cmd    *exec.Cmd
	ready  chan string // the URL, once it is printed; closed without one
	stderr lockedBuffer
	done   chan struct{} // closed when the process has ended
	err    error         // set before done is closed
}

const readyLine = "listening on "

// startProcess starts cmd, which prints where it listens.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, ready: make(chan string, 1), done: make(chan struct{})}
	cmd.Stderr = &p.stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if url, ok := strings.CutPrefix(lines.Text(), readyLine); ok {
				p.ready <- url
			}
		}
		close(p.ready)
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// startTimeout is far beyond any start, and short of a test's patience.
const startTimeout = time.Minute

// url waits until the server is ready.
func (p *process) url() (string, error) {
	select {
	case url, ok := <-p.ready:
		if !ok {
			<-p.done
			return "", fmt.Errorf("the server ended before it was ready: %v\n%s", p.err, p.stderr.String())
		}
		return url, nil
	case <-time.After(startTimeout):
		p.kill()
		return "", fmt.Errorf("the server was not ready after %v\n%s", startTimeout, p.stderr.String())
	}
}

// kill ends the process at once and waits for its end.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// terminate asks the process to end and reports unless it ends well. With
// impatience it is killed some time after.
func (p *process) terminate(impatience time.Duration) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if impatience > 0 {
		time.Sleep(impatience)
		p.kill()
		return nil
	}
	select {
	case <-p.done:
	case <-time.After(startTimeout):
		p.kill()
		return errors.New("the server has not ended after SIGTERM")
	}
	if p.err != nil {
		return fmt.Errorf("the server ended badly after SIGTERM: %v\n%s", p.err, p.stderr.String())
	}
	return nil
}

// lockedBuffer keeps the last of what is written to it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b.Len() > 1<<20 {
		l.b.Reset()
	}
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
