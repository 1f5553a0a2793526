package keyspace

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/widecol"
)

// Times are in microseconds.
const (
	minute = 60_000_000
	// windowTime is how long a window is, and coarseTime that of an older one.
	windowTime, coarseTime = minute, 10 * minute
	// coarseAge is when windows become coarse, and forgetAge when they go.
	coarseAge, forgetAge = 60 * minute, 24 * 60 * minute
)

// Table counts the load of a table. It is safe for concurrent use.
type Table struct {
	Reads, Writes Load
	until         atomic.Int64 // the end of the current window
	sampler       *Sampler

	mu      sync.Mutex
	dropped bool
	windows []window // before the current one, in order
	current window
	bytes   int64 // that all of them take
}

// take adds what a sample stands for to the current window.
func (t *Table) take(l *Load, key []byte, rows, bytes float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dropped {
		return
	}
	var c counts
	c[2*l.kind], c[2*l.kind+1] = rows, bytes
	before := t.current.bytes
	t.current.add(key, &c)
	t.account(t.current.bytes - before)
	l.sampledLocked()
}

// turn begins a new window, unless it has begun, and does what its age does to those before.
func (t *Table) turn(now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now < t.until.Load() {
		return
	}
	t.endLocked(now)
	t.Reads.restartLocked()
	t.Writes.restartLocked()
	t.current = window{start: now - now%windowTime, end: now - now%windowTime + windowTime}
	t.until.Store(t.current.end)
	t.measured()
}

// endLocked ends the current window.
func (t *Table) endLocked(now int64) {
	if len(t.current.points) > 0 {
		t.current.condense()
		t.windows = append(t.windows, t.current)
	}
	t.windows = aged(t.windows, now)
}

// aged returns the windows that are left, the older ones joined. It changes them.
func aged(windows []window, now int64) []window {
	kept := windows[:0]
	for _, w := range windows {
		if w.end <= now-forgetAge {
			continue
		}
		if last := len(kept) - 1; w.end <= now-coarseAge && last >= 0 && kept[last].start/coarseTime == w.start/coarseTime {
			kept[last].join(&w)
			continue
		}
		kept = append(kept, w)
	}
	clear(windows[len(kept):])
	return kept
}

// account keeps account of memory that is taken, or given back. mu is held.
func (t *Table) account(bytes int64) {
	t.bytes += bytes
	t.sampler.bytes.Add(bytes)
}

// measured accounts for a change of any windows. mu is held.
func (t *Table) measured() {
	bytes := t.current.bytes
	for i := range t.windows {
		bytes += t.windows[i].bytes
	}
	t.account(bytes - t.bytes)
}

// oldest returns when the oldest window began.
func (t *Table) oldest() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case len(t.windows) > 0:
		return t.windows[0].start
	case len(t.current.points) > 0:
		return t.current.start
	}
	return math.MaxInt64
}

// forgetOldest forgets the oldest window.
func (t *Table) forgetOldest() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.windows) > 0 {
		t.windows = append(t.windows[:0:0], t.windows[1:]...)
	} else {
		t.current = window{start: t.current.start, end: t.current.end}
	}
	t.measured()
}

// KeySpace returns the load in times. Its ranges are bounded where there is load, and by the keys in bounds.
func (t *Table) KeySpace(now int64, times widecol.TimeRange, bounds [][]byte) widecol.KeySpace {
	return answer(t.within(now, times), bounds)
}

// within returns copies of the windows that overlap times, each with its points condensed.
func (t *Table) within(now int64, times widecol.TimeRange) (list []window) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current.condense()
	for _, w := range append(t.windows[:len(t.windows):len(t.windows)], t.current) {
		if w.end > now-forgetAge && w.start < times.End && w.end > times.Start && len(w.points) > 0 {
			w.points = append(w.points[:0:0], w.points...)
			list = append(list, w)
		}
	}
	t.measured()
	return list
}
