package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/colonnade-db/colonnade/bench/dataset"
)

// sessionLimit bounds a session: one that hangs is killed.
const sessionLimit = time.Hour

// run measures everything, prints the report and puts it into the document.
func run(o options) error {
	dir, err := os.MkdirTemp(o.dir, "peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := &report{o: o, results: make(results)}
	r.machine = fmt.Sprintf("%d CPUs, %s", runtime.GOMAXPROCS(0), runtime.Version())
	if r.raw, err = makeData(dir, o.rows); err != nil {
		return err
	}
	busy, err := watchOthers()
	if err != nil {
		return err
	}
	for n := range o.runs {
		order := slices.Clone(o.engines)
		if n%2 == 1 {
			slices.Reverse(order)
		}
		for _, t := range o.tables {
			for _, e := range order {
				if e.Ceiling && !t.Ceilings {
					continue
				}
				start := time.Now()
				figures, err := startSession(o, dir, t, e)
				if err != nil {
					r.failures = append(r.failures, fmt.Errorf("table %s on %s, run %d: %w", t.Name, e.Name, n+1, err))
				}
				r.results.add(t.Name, e.Name, figures)
				fmt.Fprintf(os.Stderr, "run %d of %d, %s on %s: %.1f s\n", n+1, o.runs, t.Name, e.Name, time.Since(start).Seconds())
			}
		}
	}
	if r.others, err = busy(); err != nil {
		return err
	}
	text := r.markdown()
	fmt.Print(text)
	if o.out != "" {
		if err := insert(o.out, text); err != nil {
			return err
		}
		if err := r.plots(filepath.Join(filepath.Dir(o.out), plotsDir)); err != nil {
			return err
		}
	}
	return errors.Join(r.failures...)
}

// makeData writes the files of the data, and returns the raw bytes of the rows.
func makeData(dir string, rows int) (raw int64, err error) {
	t, err := dataset.Generated(rows, 100)
	if err != nil {
		return 0, err
	}
	raw = t.Raw()
	if err := writeData(rowsFile(dir), t); err != nil {
		return 0, err
	}
	if err := writeData(shuffledFile(dir), t.In(t.Shuffled(1))); err != nil {
		return 0, err
	}
	if t, err = dataset.Generated(max(rows/10, 1), 6000); err != nil {
		return 0, err
	}
	err = writeData(wideFile(dir), t.In(t.Shuffled(1)))
	debug.FreeOSMemory() // the sessions have the machine to themselves
	return raw, err
}

func writeData(name string, t *dataset.Table) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = t.WriteTo(f)
	return errors.Join(err, f.Close())
}

// startSession runs a table on an engine in a process of its own.
func startSession(o options, dir string, t *Table, e *Engine) (map[string]float64, error) {
	defer os.RemoveAll(storeDir(dir))
	ctx, cancel := context.WithTimeout(context.Background(), sessionLimit)
	defer cancel()
	c := exec.CommandContext(ctx, "/proc/self/exe", "-session", "-engines", e.Name, "-tables", t.Name,
		"-rows", fmt.Sprint(o.rows), "-each", o.each.String(), "-dir", dir)
	var complaint strings.Builder
	c.Stderr = &complaint
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, firstLines(complaint.String(), 5))
	}
	var figures map[string]float64
	return figures, json.Unmarshal(out, &figures)
}

func firstLines(text string, n int) string {
	lines := strings.SplitN(strings.TrimSpace(text), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}

// watchOthers starts to watch what else the machine does. The returned function gives the share of the
// CPUs that other processes have used since.
func watchOthers() (func() (float64, error), error) {
	look := func() (all, busy, own time.Duration, err error) {
		text, err := os.ReadFile("/proc/stat")
		if err != nil {
			return 0, 0, 0, err
		}
		var user, nice, system, idle, wait, irq, soft, steal int64
		if _, err := fmt.Sscanf(string(text), "cpu %d %d %d %d %d %d %d %d",
			&user, &nice, &system, &idle, &wait, &irq, &soft, &steal); err != nil {
			return 0, 0, 0, fmt.Errorf("read /proc/stat: %w", err)
		}
		const tick = 10 * time.Millisecond
		busy = time.Duration(user+nice+system+irq+soft+steal) * tick
		all = busy + time.Duration(idle+wait)*tick
		for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
			var u syscall.Rusage
			if err := syscall.Getrusage(who, &u); err != nil {
				return 0, 0, 0, err
			}
			own += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
		return all, busy, own, nil
	}
	all0, busy0, own0, err := look()
	return func() (float64, error) {
		all, busy, own, err := look()
		return max(float64(busy-busy0-(own-own0))/float64(max(all-all0, 1)), 0), err
	}, err
}

// plotsDir is next to the document.
const plotsDir = "plots"
