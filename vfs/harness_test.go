package vfs

import (
	"fmt"
	"syscall"
	"testing"
)

// counter keeps one number in a file, which it replaces. Each flaw is a mistake
// that has been made in earnest, and that some crash must show.
type counter struct {
	fsys FS
	flaw string
}

func (c *counter) set(n int) error {
	c.fsys.Remove("/new")
	f, err := c.fsys.Create("/new")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "%03d", n); err != nil {
		return err
	}
	if c.flaw != "no sync" {
		err = f.Sync()
		if err != nil && c.flaw == "sync retried" {
			err = f.Sync()
		}
		if err != nil {
			return err
		}
	}
	if c.flaw == "removed before rename" {
		c.fsys.Remove("/count")
	}
	if err := c.fsys.Rename("/new", "/count"); err != nil {
		return err
	}
	if c.flaw == "no directory sync" {
		return nil
	}
	return c.fsys.SyncDir("/")
}

// sweep runs the counter with one failing sync, or none if at is negative, and
// returns how many crash images lie: neither the last number acknowledged nor a
// later one that was tried.
func sweep(t *testing.T, flaw string, at int64) (images, lies int) {
	m := NewMem()
	failure := &Failure{At: at, Fault: Fault{Err: syscall.EIO}, Match: func(op Op) bool { return op.Kind == OpSync }}
	if at < 0 {
		failure.Heal()
	}
	c := &counter{fsys: Inject(m, failure.Rule), flaw: flaw}
	acknowledged, tried := -1, -1
	m.SetHook(func(Op, bool) {
		for _, model := range append(m.Systematic(), Subset, SizeNoData, Garbage) {
			images++
			got := -1
			if s := get(m.Crash(model, uint64(images)), "/count"); s != "<none>" {
				if n, err := fmt.Sscanf(s, "%03d", &got); n != 1 || err != nil {
					got = -2
				}
			}
			if got < acknowledged || got > tried {
				lies++
			}
		}
	})
	for n := range 5 {
		tried = n
		if err := c.set(n); err == nil {
			acknowledged = n
		}
	}
	return images, lies
}

// The harness is worth nothing unless it catches what it is there to catch.
func TestCrashesShowFlaws(t *testing.T) {
	for _, test := range []struct {
		flaw  string
		alone bool // shown by a crash without a second fault
	}{
		{"", false},
		{"no sync", true},
		{"no directory sync", true},
		{"removed before rename", true},
		{"sync retried", false},
	} {
		images, lies := sweep(t, test.flaw, -1)
		if images < 100 || (lies > 0) != test.alone {
			t.Errorf("flaw %q: got %d lies in %d images, want some: %v", test.flaw, lies, images, test.alone)
		}
		if test.alone {
			continue
		}
		lies = 0
		for at := range int64(5) {
			_, n := sweep(t, test.flaw, at)
			lies += n
		}
		if want := test.flaw != ""; (lies > 0) != want {
			t.Errorf("flaw %q with a failing sync: got %d lies, want some: %v", test.flaw, lies, want)
		}
	}
}
