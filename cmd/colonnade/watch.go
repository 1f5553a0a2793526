package main

import (
	"context"
	"os"
	"time"
)

// watchInterval is how often files are looked at. Looking works on all file systems, and where the links of a mounted
// secret are swapped.
const watchInterval = time.Second

// watch calls changed, in a goroutine of its own, whenever one of some files is another one than before, until ctx is
// done.
func watch(ctx context.Context, paths []string, changed func()) {
	state := func() (all []os.FileInfo) {
		for _, path := range paths {
			info, _ := os.Stat(path) // nil for a file that is missing
			all = append(all, info)
		}
		return all
	}
	before := state()
	go func() {
		clock := time.NewTicker(watchInterval)
		defer clock.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-clock.C:
			}
			now := state()
			if !sameFiles(before, now) {
				before = now
				changed()
			}
		}
	}()
}

func sameFiles(a, b []os.FileInfo) bool {
	for i := range a {
		if (a[i] == nil) != (b[i] == nil) {
			return false
		}
		if a[i] != nil && (!os.SameFile(a[i], b[i]) || !a[i].ModTime().Equal(b[i].ModTime()) || a[i].Size() != b[i].Size() || a[i].Mode() != b[i].Mode()) {
			return false
		}
	}
	return true
}
