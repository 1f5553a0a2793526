package cores

import (
	"runtime"
	"testing"
)

func TestSpareHelps(t *testing.T) {
	for _, test := range []struct {
		n, machine int
		want       bool
	}{
		{1, 1, false},
		{1, 2, false},
		{2, 2, true},
		{3, 4, false},
		{4, 4, true},
		{6, 4, true},
	} {
		if got := spareHelps(test.n, test.machine); got != test.want {
			t.Errorf("%d of %d CPUs: got %v", test.n, test.machine, got)
		}
	}
}

func TestAddSpare(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(before)
		spares.Store(0)
	})
	n := 2 * runtime.NumCPU()
	runtime.GOMAXPROCS(n)
	for range 2 { // once
		AddSpare()
		if got := runtime.GOMAXPROCS(0); got != n+1 {
			t.Errorf("GOMAXPROCS is %d, want %d", got, n+1)
		}
		if got := Count(); got != n {
			t.Errorf("Count is %d, want %d", got, n)
		}
	}
	spares.Store(0)
	runtime.GOMAXPROCS(1)
	AddSpare()
	if got := runtime.GOMAXPROCS(0); got != 1 || Count() != 1 {
		t.Errorf("one CPU: GOMAXPROCS is %d, Count is %d", got, Count())
	}
}
