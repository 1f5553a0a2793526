package cores

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// TestYield: a goroutine that waits for the caller's CPU runs.
func TestYield(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	var ran atomic.Bool
	go ran.Store(true)
	for i := 0; i < 1000 && !ran.Load(); i++ {
		Yield()
	}
	if !ran.Load() {
		t.Error("nobody else ran")
	}
}
