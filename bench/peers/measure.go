package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// usage is what the process has used until now.
type usage struct {
	at      time.Time
	cpu     time.Duration // of all threads
	read    int64         // bytes requested by read calls, including those from the page cache
	written int64         // bytes passed to write calls
	dirtied int64         // bytes of the page cache made dirty, including through memory maps
	mallocs uint64
}

func readUsage() (u usage, err error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return u, err
	}
	u.cpu = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	io, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return u, err
	}
	for name, at := range map[string]*int64{"rchar": &u.read, "wchar": &u.written, "write_bytes": &u.dirtied} {
		if *at, err = number(io, name); err != nil {
			return u, err
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.mallocs = m.Mallocs
	u.at = time.Now()
	return u, nil
}

// since is what was used between two moments.
func (u usage) since(v usage) used {
	return used{u.at.Sub(v.at), u.cpu - v.cpu, u.read - v.read, u.written - v.written, u.dirtied - v.dirtied, u.mallocs - v.mallocs}
}

type used struct {
	wall, cpu              time.Duration
	read, written, dirtied int64
	mallocs                uint64
}

// writtenBy returns the bytes that an engine wrote to files. Dirty pages would overstate them where
// there are write calls: the kernel counts a whole large folio each time a part of it is rewritten
// after a sync, as a log does that reuses old segments.
func (u used) writtenBy(e *Engine) int64 {
	if e.MappedWrites {
		return u.dirtied
	}
	return u.written
}

// rate returns n things per second.
func (u used) rate(n int) float64 { return float64(n) / u.wall.Seconds() }

// cpuEach is the CPU time of one of n things, in microseconds.
func (u used) cpuEach(n int) float64 { return float64(u.cpu.Nanoseconds()) / 1e3 / float64(n) }

// number returns a number from a file of lines such as "name: 12 kB".
func number(text []byte, name string) (int64, error) {
	for line := range bytes.Lines(text) {
		if f := bytes.Fields(line); len(f) > 1 && string(f[0]) == name+":" {
			return strconv.ParseInt(string(f[1]), 10, 64)
		}
	}
	return 0, fmt.Errorf("no line %s in what the system tells of this process", name)
}

// anonymous returns the anonymous memory of the process, in KiB.
func anonymous() (int64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	return number(text, "RssAnon")
}

// memory tracks the anonymous memory of the process above a base.
type memory struct {
	base int64 // KiB
	peak atomic.Int64
	stop chan struct{}
	done sync.WaitGroup
}

// watchMemory starts tracking. The present memory is the base.
func watchMemory() (*memory, error) {
	debug.FreeOSMemory()
	base, err := anonymous()
	if err != nil {
		return nil, err
	}
	m := &memory{base: base, stop: make(chan struct{})}
	m.done.Go(m.watch)
	return m, nil
}

func (m *memory) watch() {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-tick.C:
			if kb, err := anonymous(); err == nil {
				m.peak.Store(max(m.peak.Load(), kb))
			}
		}
	}
}

// reset returns free memory to the system and forgets the maximum.
func (m *memory) reset() {
	debug.FreeOSMemory()
	m.peak.Store(0)
}

// most returns the maximum since watchMemory or reset, in MB.
func (m *memory) most() float64 { return megabytes(max(m.peak.Load()-m.base, 0) << 10) }

// end stops watching.
func (m *memory) end() {
	close(m.stop)
	m.done.Wait()
}

// awaitQuiet waits until the process uses less than a quarter of a CPU and writes next to nothing for
// a tenth of a second. It returns the usage at the start of that time. Engines report in different
// ways, or not at all, whether compactions are left; this works for all of them.
func awaitQuiet() (usage, error) {
	const window, windows = 20 * time.Millisecond, 5
	const little = 4096 // bytes: the runtime wakes its poller through a file
	last, err := readUsage()
	if err != nil {
		return last, err
	}
	first, quiet := last, 0
	for quiet < windows {
		time.Sleep(window)
		now, err := readUsage()
		if err != nil {
			return now, err
		}
		if d := now.since(last); d.cpu < d.wall/4 && d.written < little {
			quiet++
		} else {
			first, quiet = now, 0
		}
		last = now
	}
	return first, nil
}

// latencies are the durations of operations, a histogram of 28 KB per goroutine. A list of millions
// would count as the engine's memory, and a finer histogram would fill the CPU caches that the engine
// uses.
type latencies []*hdrhistogram.Histogram

// newLatencies returns latencies for n goroutines, of up to sessionLimit, with a resolution of half a
// microsecond or one percent.
func newLatencies(goroutines int) latencies {
	l := make(latencies, goroutines)
	for g := range l {
		l[g] = hdrhistogram.New(time.Microsecond.Nanoseconds(), sessionLimit.Nanoseconds(), 2)
	}
	return l
}

// add counts an operation of a goroutine. It cannot take longer than its session.
func (l latencies) add(g int, d time.Duration) {
	if err := l[g].RecordValue(d.Nanoseconds()); err != nil {
		panic(err)
	}
}

// percentile returns the given percentile, in milliseconds.
func (l latencies) percentile(percent float64) float64 {
	all := newLatencies(1)[0]
	for _, h := range l {
		all.Merge(h)
	}
	return float64(all.ValueAtQuantile(percent)) / 1e6
}
