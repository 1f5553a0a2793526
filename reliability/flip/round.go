package flip

import (
	"context"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/colonnade-db/colonnade/reliability/report"
)

// round is a list of cases that workers share.
type round struct {
	store   *store
	list    []damage
	section *report.Section
	env     report.Env
	next    atomic.Int64
	stop    atomic.Bool
	alone   sync.RWMutex // held for writing by a case that is measured
	longest time.Duration
}

// Bounds of a case. A sound one takes milliseconds, and allocates about a MiB.
const (
	longest = 5 * time.Second
	most    = 64 << 20 // bytes allocated
)

func (r *round) work(ctx context.Context) {
	for ctx.Err() == nil && !r.stop.Load() {
		i := r.next.Add(1) - 1
		if i >= int64(len(r.list)) {
			return
		}
		d := &r.list[i]
		v := r.measured(d)
		r.section.Add("cases", 1)
		r.section.Add(string(v.class), 1)
		if !v.good() {
			r.section.Fail(r.env.Repeat("flip"), "%s: %s: %s", v.class, d.what, v.why)
		}
		if v.class == hung || !v.good() && r.env.First {
			r.stop.Store(true)
		}
	}
}

// measured runs a case. It counts allocations of all cases together. If they are too many, it runs the case
// again, alone.
func (r *round) measured(d *damage) verdict {
	r.alone.RLock()
	before := allocated()
	v := r.timed(d)
	sum := allocated() - before
	r.alone.RUnlock()
	if sum < most {
		return v
	}
	r.alone.Lock()
	defer r.alone.Unlock()
	before = allocated()
	v = r.timed(d)
	if sum = allocated() - before; sum >= most {
		return verdictf(excessive, "%d bytes were allocated", sum)
	}
	return v
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// timed runs a case that may hang, and abandons it then.
func (r *round) timed(d *damage) verdict {
	done := make(chan verdict, 1)
	go func() { done <- r.store.judge(d) }()
	limit := time.NewTimer(r.longest)
	defer limit.Stop()
	select {
	case v := <-done:
		return v
	case <-limit.C:
		return verdictf(hung, "still at it after %v", r.longest)
	}
}
