// Package lin checks that the server answers as if it did one thing after the
// other, each at some moment between its request and its answer, while it is
// killed again and again.
//
// Clients write, delete, read, scan and count few rows, many at once, on several
// connections, increment, check and change a few counters, and create and drop tables at
// the same time as others. Now and then one gives up before the answer comes. From all requests and answers of a history,
// over several lives of the server, porcupine looks for an order that explains
// them. The rows of a set, up to eight, are one object: a request over several of
// them is one step, and so is a scan. Half of the changes of rows have an idempotency
// key: those are sent again, later or to the next life, until they have an answer, and
// count as one operation each. Rows lie in three locality groups, and one
// that mixes two requests fails at once. All the time families move from group to group.
package lin

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/colonnade-db/colonnade/internal/process"
	"github.com/colonnade-db/colonnade/reliability/report"
)

// Part checks some histories.
var Part = report.Part{
	Name:    "lin",
	About:   "requests to a server that is killed have an order that explains every answer",
	Minimum: report.Least(map[string]int64{"operations": 40_000, "kills": 60, "histories": 15, "unknown": 300, "create_conflicts": 200, "sent_again": 200, "updates": 7_000, "no_numbers": 100, "moves": 500}),
	Limit:   4 * time.Minute,
	Run:     round,
}

// A round is so many histories, of so many lives with so many operations each.
const (
	histories  = 16
	lives      = 5
	operations = 600
)

// checkLimit is how long a history may take to check: beyond it nothing is known.
const checkLimit = time.Minute

func round(ctx context.Context, env report.Env, s *report.Section) error {
	repeat := env.Repeat("lin")
	for i := range env.Share(histories) {
		dir := filepath.Join(env.Dir, fmt.Sprint(i))
		r := &run{
			program: func(args ...string) *exec.Cmd { return exec.Command(env.Server, args...) },
			data:    dir, section: s, history: newHistory(), rnd: rand.New(rand.NewPCG(env.Seed, uint64(i))),
		}
		if err := r.run(ctx); err != nil {
			s.Fail(repeat, "history %d: %v", i, err)
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

// run is one history, on a directory of its own.
type run struct {
	program func(args ...string) *exec.Cmd
	data    string
	section *report.Section
	history *history
	rnd     *rand.Rand
	version atomic.Int64 // that was written last
	keys    atomic.Int64 // idempotency keys so far
	sent    unanswered
}

func (r *run) run(ctx context.Context) error {
	for n := range lives {
		if err := r.life(ctx, n); err != nil {
			return fmt.Errorf("life %d: %w", n, err)
		}
	}
	if err := r.last(ctx); err != nil {
		return fmt.Errorf("after the last life: %w", err)
	}
	begin := time.Now()
	err := r.history.check(checkLimit)
	took := time.Since(begin).Milliseconds()
	r.section.Add("histories", 1)
	r.section.Add("check_ms", took)
	r.section.Largest("longest_check_ms", took)
	return err
}

// start starts the server, a little differently every time, and waits until it is
// ready.
func (r *run) start() (*process.Process, string, error) {
	memtable := []string{"1", "1", "64"}[r.rnd.IntN(3)]
	p, err := process.Start(r.program("serve", "--data", r.data, "--listen", "127.0.0.1:0", "--memtable-mib", memtable, "--cache-mib", "1"))
	if err != nil {
		return nil, "", err
	}
	url, err := p.URL()
	r.history.recovered()
	return p, url, err
}

// life lets clients work until they have done enough, and kills the server while
// they go on.
func (r *run) life(ctx context.Context, number int) error {
	p, url, err := r.start()
	if err != nil {
		return err
	}
	defer p.Kill()
	l := newLife(r, url, 6+r.rnd.IntN(11), int64(operations/2+r.rnd.IntN(operations)))
	defer l.close()
	if number == 0 {
		if err := l.rows(0).Create(ctx, 1); err != nil {
			return fmt.Errorf("create the table: %w", err)
		}
	}
	wait := l.start(ctx)
	<-l.enough
	time.Sleep(time.Duration(r.rnd.IntN(2000)) * time.Microsecond) // a kill follows no answer more closely than another
	p.Kill()
	r.section.Add("kills", 1)
	if err := wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, p.Output())
	}
	return nil
}

// last reads everything once more, and ends the server.
func (r *run) last(ctx context.Context) error {
	p, url, err := r.start()
	if err != nil {
		return err
	}
	defer p.Kill()
	l := newLife(r, url, 1, 0)
	defer l.close()
	c := &client{life: l, rnd: r.rnd}
	for s, ok := r.sent.take(); ok; s, ok = r.sent.take() {
		if over, err := c.send(ctx, s); over || err != nil {
			return fmt.Errorf("send again %v (the server is gone: %v): %w", s.input, over, err)
		}
	}
	for _, in := range readAll() {
		if _, err := c.do(ctx, in); err != nil {
			return err
		}
	}
	return p.Terminate(0)
}
