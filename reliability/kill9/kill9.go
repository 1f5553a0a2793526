// Package kill9 kills a server again and again while clients write to it. After every restart it checks that
// nothing is lost, torn or undeleted:
//
//   - a row has the version of its last acknowledged request, or of a later one with an unknown outcome;
//   - all cells of a row, in three locality groups, have one version, and so have all rows of a request, while the
//     families move from group to group;
//   - a version that a client has read is still there;
//   - what one restart has shown, the next one shows too.
//
// Sometimes it kills the recovery too, sends SIGTERM instead, looks for damage, starts a second server on the
// directory, or copies the directory while it changes. Clients write their requests to a log on the disk before
// they send them. That log says what must be there.
//
// The pages of a killed process stay in the kernel, so this says nothing about a loss of power.
package kill9

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/colonnade-db/colonnade/internal/process"
	"github.com/colonnade-db/colonnade/reliability/remote"
	"github.com/colonnade-db/colonnade/reliability/report"
)

// Part kills the server some hundred times.
var Part = report.Part{
	Name:    "kill9",
	About:   "a real server is killed under load, and nothing is lost, torn or come back",
	Minimum: report.Least(map[string]int64{"kills": 300, "terminations": 12, "kills_in_recovery": 20, "acked_rows": 100_000, "rows_verified": 100_000, "checks": 6, "intruders": 9, "copies": 9, "moves": 500}),
	Limit:   5 * time.Minute,
	Run:     round,
}

// A round works on some directories, one after the other.
const (
	directories = 3
	lives       = 112
)

func round(ctx context.Context, env report.Env, s *report.Section) error {
	count(s, nil)
	repeat := env.Repeat("kill9")
	for i := range env.Share(directories) {
		dir := filepath.Join(env.Dir, fmt.Sprint(i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		c := Config{
			Program: func(args ...string) *exec.Cmd { return exec.Command(env.Server, args...) },
			Dir:     dir,
			Lives:   lives,
			Seed:    env.Seed<<8 + uint64(i),
		}
		if err := Run(ctx, c, s); err != nil {
			s.Fail(repeat, "%v", err)
			count(s, err)
		}
		if env.First && s.Failed() {
			break
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// count counts a broken promise.
func count(s *report.Section, err error) {
	for _, figure := range []string{"lost", "torn"} {
		s.Add(figure, 0)
		if err != nil && strings.Contains(err.Error(), figure+": ") {
			s.Add(figure, 1)
		}
	}
}

// Config configures a run.
type Config struct {
	// Program returns the command for a command line of the program under test.
	Program func(args ...string) *exec.Cmd
	// Dir is an empty directory, for the data and the harness's files.
	Dir   string
	Lives int // of the server, each with an end of its own
	Seed  uint64
}

// minAcks is the least average number of acknowledgements in a life. With fewer, a run says little.
const minAcks = 50

// The first few of the clients only read.
const (
	minClients = 8
	maxClients = 32
	watchers   = 2
)

// run is the history of one directory.
type run struct {
	Config
	section *report.Section
	rnd     *rand.Rand
	data    string           // the server's directory
	settled map[string]int64 // the versions that the last verification found
	version atomic.Int64     // of the last attempt
	acks    atomic.Int64
	emptied bool          // the last life has ended well
	opening time.Duration // that the last start took until there was a server
}

// Run starts and ends the server, and adds figures to s. The error names the broken promise.
func Run(ctx context.Context, c Config, s *report.Section) error {
	r := &run{Config: c, section: s, rnd: rand.New(rand.NewPCG(c.Seed, 0)), data: filepath.Join(c.Dir, "data")}
	for life := range c.Lives + 1 { // the last one only verifies
		if err := r.life(ctx, life); err != nil {
			return fmt.Errorf("directory %d, life %d: %w", c.Seed&0xff, life, err)
		}
	}
	if acks := r.acks.Load(); acks < int64(minAcks*c.Lives) {
		return fmt.Errorf("only %d acknowledgements in %d lives: the run says too little, want %d a life", acks, c.Lives, minAcks)
	}
	return nil
}

// life starts the server and verifies its content. Unless it is the last life, it then runs clients and ends the
// server.
func (r *run) life(ctx context.Context, number int) error {
	for number > 0 && r.rnd.IntN(6) == 0 {
		if err := r.endRecovery(); err != nil {
			return err
		}
	}
	emptied := r.emptied
	begin := time.Now()
	p, err := process.Start(r.serve(r.data))
	if err != nil {
		return err
	}
	defer p.Kill()
	url, err := p.URL()
	if err != nil {
		return err
	}
	r.opening = time.Since(begin)
	r.section.Largest("max_recovery_ms", r.opening.Milliseconds())
	clients := minClients + r.rnd.IntN(maxClients-minClients+1)
	c := remote.NewClient(url, clients)
	defer c.Close()
	t := tablesOf(c)
	if number == 0 {
		if err := t.create(ctx); err != nil {
			return fmt.Errorf("create the tables: %w", err)
		}
	}
	if err := r.verify(ctx, &t, number); err != nil {
		return fmt.Errorf("%w\n%s", err, p.Output())
	}
	if number == r.Lives {
		err = p.Terminate(0)
	} else {
		err = r.riot(ctx, number, p, &t, clients)
	}
	if err == nil && emptied {
		err = checkEmptied(p)
	}
	return err
}

// serve returns the command of a server, with random budgets.
func (r *run) serve(data string) *exec.Cmd {
	memtable := []string{"1", "1", "2", "128"}[r.rnd.IntN(4)]
	cache := []string{"1", "64"}[r.rnd.IntN(2)]
	return r.Program("serve", "--data", data, "--listen", "127.0.0.1:0", "--memtable-mib", memtable, "--cache-mib", cache)
}

// logPath returns the clients' log of the last life.
func (r *run) logPath() string { return filepath.Join(r.Dir, "clients.log") }

// verify reads everything, and takes it as settled.
func (r *run) verify(ctx context.Context, t *tables, number int) error {
	present, err := t.scan(ctx)
	if err != nil {
		return err
	}
	if number > 0 {
		h, err := readLog(r.logPath(), r.settled)
		if err != nil {
			return err
		}
		acked, err := h.verify(present)
		if err != nil {
			return err
		}
		r.section.Add("rows_verified", acked)
	}
	r.settled = present
	return r.pointReads(ctx, t)
}

// pointReads compares some rows by key with the scan.
func (r *run) pointReads(ctx context.Context, t *tables) error {
	for range 4 {
		client := r.rnd.IntN(maxClients)
		var keys []string
		for _, i := range r.rnd.Perm(rowsPerClient)[:8] {
			keys = append(keys, rowKey(client, i))
		}
		got, err := t.of(client).Get(ctx, keys...)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if got[key] != r.settled[key] {
				return fmt.Errorf("row %s has version %d by key and %d in a scan", key, got[key], r.settled[key])
			}
		}
	}
	return nil
}
