package mutants

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestWorkOfAHunt: what counts is the work of the hunter's whole family, and not
// the time that it waits.
func TestWorkOfAHunt(t *testing.T) {
	if os.Getenv("GRANDCHILD") != "" {
		begin := cpu(t)
		for cpu(t)-begin < 200*time.Millisecond {
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h, err := hunt(t.Context(), "sh", "-c", `GRANDCHILD=1 "$0" -test.run TestWorkOfAHunt; exit 1`, self)
	if err != nil {
		t.Fatal(err)
	}
	if h.work < 200*time.Millisecond || h.escaped() != "" {
		t.Errorf("got %v of work and %q, want those of a child's child that has worked 200 ms", h.work, h.escaped())
	}
	if h, err = hunt(t.Context(), "sleep", "0.3"); err != nil || h.work > 200*time.Millisecond || h.escaped() == "" {
		t.Errorf("got %+v, %v, want a hunt that has waited, worked little and found nothing", h, err)
	}
}

// cpu returns the CPU time of this process so far.
func cpu(t *testing.T) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestEscaped: only what was found for its price is caught.
func TestEscaped(t *testing.T) {
	for _, test := range []struct {
		h    hunted
		want string
	}{
		{hunted{red: true, work: budget}, ""},
		{hunted{red: true, work: budget + time.Second}, "6m1s of CPU time"},
		{hunted{work: time.Second}, "did not catch it"},
		{hunted{red: true, late: true}, "still looking"},
	} {
		if got := test.h.escaped(); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%+v: got %q, want %q", test.h, got, test.want)
		}
	}
}

// TestHuntsThatFail: a hunter that cannot work has caught nothing, and one that
// hangs is told to end.
func TestHuntsThatFail(t *testing.T) {
	if h, err := hunt(t.Context(), "sh", "-c", "echo no such part; exit 2"); err == nil || !strings.Contains(err.Error(), "no such part") {
		t.Errorf("got %+v, %v, want its own words", h, err)
	}
	if h, err := hunt(t.Context(), "/no/such/program"); err == nil {
		t.Errorf("got %+v from a program that is not there", h)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	h, err := hunt(ctx, "sleep", "600")
	if err != nil || !h.late {
		t.Errorf("got %+v, %v, want it late", h, err)
	}
}
