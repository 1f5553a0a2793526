package vfs_test

import (
	"fmt"

	"github.com/colonnade-db/colonnade/vfs"
)

// replace gives a file a new content, old or new whatever happens: the new one is
// written beside it and renamed over it.
func replace(fsys vfs.FS, content string) error {
	f, err := fsys.Create("/tmp")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write([]byte(content)); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := fsys.Rename("/tmp", "/current"); err != nil {
		return err
	}
	return fsys.SyncDir("/")
}

func read(fsys vfs.FS) string {
	f, err := fsys.Open("/current")
	if err != nil {
		return "none"
	}
	defer f.Close()
	b := make([]byte, 16)
	n, _ := f.ReadAt(b, 0)
	return string(b[:n])
}

// One run of a workload visits every crash point: before and after each
// operation, every systematic loss and a few random ones.
func ExampleMem_SetHook() {
	m := vfs.NewMem()
	acknowledged := "none" // what a crash must not take
	attempted := "none"    // what it may leave instead
	points, bad := 0, 0
	m.SetHook(func(op vfs.Op, done bool) {
		points++
		seen := map[uint64]bool{}
		check := func(model vfs.Model, seed uint64) {
			image := m.Crash(model, seed)
			if sum := image.Fingerprint(); seen[sum] {
				return
			} else {
				seen[sum] = true
			}
			if got := read(image); got != acknowledged && got != attempted {
				bad++
				fmt.Printf("%v, done %v, %v, seed %d: got %q\n", op, done, model, seed, got)
			}
		}
		for _, model := range m.Systematic() {
			check(model, 0)
		}
		for seed := range uint64(10) {
			check(vfs.Subset, seed)
			check(vfs.SizeNoData, seed)
			check(vfs.Garbage, seed)
		}
	})
	for _, content := range []string{"one", "two", "three"} {
		attempted = content
		if err := replace(m, content); err != nil {
			fmt.Println(err)
		}
		acknowledged = content
	}
	fmt.Println(points, "crash points,", bad, "bad images")
	// Output: 30 crash points, 0 bad images
}

// A failure for every operation in turn, until one run has none.
func ExampleFailure() {
	runs := 0
	for at := int64(0); ; at++ {
		failure := &vfs.Failure{At: at, Fault: vfs.Fault{Err: fmt.Errorf("disk on fire"), Effect: vfs.Half}}
		err := replace(vfs.Inject(vfs.NewMem(), failure.Rule), "one")
		if failure.Hits() == 0 {
			break
		}
		runs++
		if err == nil {
			fmt.Println("operation", at, "failed unnoticed")
		}
	}
	fmt.Println(runs, "operations can fail")
	// Output:
	// operation 5 failed unnoticed
	// 6 operations can fail
}
