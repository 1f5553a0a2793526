package kill9

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/colonnade-db/colonnade/internal/process"
)

// end ends the server: mostly by a kill, sometimes by SIGTERM. After every second SIGTERM a kill follows while
// the server stops.
func (r *run) end(number int, p *process.Process) error {
	r.emptied = false
	if number%25 != 2 {
		r.section.Add("kills", 1)
		p.Kill()
		return nil
	}
	r.section.Add("terminations", 1)
	if number%50 != 2 {
		r.section.Add("kills_in_drain", 1)
		return p.Terminate(time.Duration(1+r.rnd.IntN(5_000)) * time.Microsecond)
	}
	r.emptied = true
	return p.Terminate(0)
}

// logEnd is how the server reports the end of a log segment that it reads.
var logEnd = regexp.MustCompile(`msg="log segment read" .*end=(\w+)`)

// checkEmptied returns an error unless the log that a server found was empty. The server before
// it had ended well, so it had flushed everything and replaced the log.
func checkEmptied(p *process.Process) error {
	out := p.Output()
	ends := logEnd.FindAllStringSubmatch(out, -1)
	if len(ends) == 1 && ends[0][1] == "empty" {
		return nil
	}
	return fmt.Errorf("the server before ended well and has not emptied its log:\n%s", out)
}

// endRecovery starts the server and ends it while it opens, after a random part of the time that the last open
// took: by a kill, or by SIGTERM, maybe before the server handles signals.
func (r *run) endRecovery() error {
	r.emptied = false
	p, err := process.Start(r.serve(r.data))
	if err != nil {
		return err
	}
	time.Sleep(time.Duration(r.rnd.Int64N(int64(r.opening))))
	polite := r.rnd.IntN(4) == 0
	if polite {
		err = p.Interrupt()
	} else {
		p.Kill()
	}
	if !p.WasReady() {
		r.section.Add("kills_in_recovery", 1)
	}
	return err
}

// intrude starts a second server on the directory of the first, which must fail.
func (t *riot) intrude() error {
	p, err := process.Start(t.serve(t.data))
	if err != nil {
		return err
	}
	defer p.Kill()
	t.section.Add("intruders", 1)
	url, err := p.URL()
	if err == nil {
		return fmt.Errorf("a second server serves the directory, at %s", url)
	}
	if want := fmt.Sprintf("is in use by the process with id %d", t.process.PID()); !strings.Contains(p.Output(), want) {
		return fmt.Errorf("a second server on the directory does not say %q: %w", want, err)
	}
	return nil
}

// check looks for damage in the files of the ended server.
func (r *run) check() error {
	r.section.Add("checks", 1)
	out, err := r.Program("check", "--data", r.data).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "no damage") {
		return errors.Join(err, fmt.Errorf("check says: %s", out))
	}
	return nil
}
