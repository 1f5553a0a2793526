package cores

import (
	"runtime"
	"testing"
)

func TestAddSpare(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(before)
		spares.Store(0)
	})
	for _, test := range []struct{ may, spare int }{
		{1, 0},
		{max(2, runtime.NumCPU()), 1},
		{runtime.NumCPU() + 2, 1},
		{max(1, runtime.NumCPU()-1), 0}, // a quota, or one
	} {
		runtime.GOMAXPROCS(test.may)
		spares.Store(0)
		AddSpare()
		if got := runtime.GOMAXPROCS(0); got != test.may+test.spare {
			t.Errorf("of %d processors: code runs on %d", test.may, got)
		}
		if got := Count(); got != test.may {
			t.Errorf("of %d processors: %d are counted", test.may, got)
		}
	}
}
