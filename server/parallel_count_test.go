package server

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/colonnade-db/colonnade/admission"
	"github.com/colonnade-db/colonnade/clock"
)

// haveCores makes the machine look as if it had so many.
func haveCores(t *testing.T, n int) {
	before := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// dividing is streaming with queries in parts, and slots for so many goroutines.
func dividing(t *testing.T, slots, parts int) (*client, *fakeStore) {
	haveCores(t, 4)
	c, store, _ := streaming(t, fakeRows{rows: 100})
	c.limit(admission.Scan, limiter(slots, clock.System))
	store.parts = parts
	t.Cleanup(func() {
		if store.early.Load() {
			t.Error("a view was closed before its answers")
		}
		eventually(t, "all is given back", func() bool {
			return c.admission.Limiter(admission.Scan).Free() == slots && store.open.Load() == 0 && c.admission.Scans().Free() == c.opt.Limits.Scans && c.parallelScans.Free() == maxParallelScans
		})
	})
	return c, store
}

// TestPartsAddUp: whoever works on them, the parts of a count add up.
func TestPartsAddUp(t *testing.T) {
	for _, slots := range []int{1, 2, 8} {
		c, _ := dividing(t, slots, 10)
		result := string(c.must(200, "POST", "/v1/table/t/count", "{}"))
		if !strings.HasPrefix(result, `{"row_count":1000,"cell_count":10000,`) {
			t.Errorf("with %d slots, ten parts of 100 rows are %s", slots, result)
		}
	}
}

// TestPartsAtOnce: parts are worked on at the same time, one for each slot that is
// free and each core, and no more.
func TestPartsAtOnce(t *testing.T) {
	for _, e := range []struct{ slots, parts, want int64 }{{1, 6, 1}, {3, 6, 3}, {9, 6, 4}, {9, 2, 2}} {
		c, store := dividing(t, int(e.slots), int(e.parts))
		var begun, most atomic.Int64
		together := make(chan struct{})
		store.onScan = func(ctx context.Context) *fakeRows {
			// The first ones meet here; those who come later need not wait.
			if n := begun.Add(1); n == e.want {
				close(together)
			}
			<-together
			n := store.open.Load() // of the view and of the parts
			for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
			}
			return &fakeRows{rows: 1}
		}
		c.must(200, "POST", "/v1/table/t/count", "{}")
		if begun.Load() != e.parts || most.Load() > e.want {
			t.Errorf("%+v: %d parts, %d open at once", e, begun.Load(), most.Load())
		}
	}
}

// TestPartFails: an error or a panic in any part fails the count, stops the others,
// and nothing stays taken.
func TestPartFails(t *testing.T) {
	for _, bad := range []fakeRows{{err: errors.New("late")}, {panic: true}} {
		for at := range int64(4) {
			c, store := dividing(t, 4, 4)
			var begun atomic.Int64
			store.onScan = func(context.Context) *fakeRows {
				if begun.Add(1)-1 == at {
					return &bad
				}
				return &fakeRows{rows: -1} // until it is stopped
			}
			if at == 0 {
				store.parts = 1 // alone
			}
			if e := c.call("POST", "/v1/table/t/count", "{}"); e.Status != 500 || e.Error.Code != "internal" {
				t.Errorf("part %d: got %d %+v, want 500", at, e.Status, e.Error)
			}
		}
	}
}
