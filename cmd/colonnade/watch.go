package main

import (
	"context"
	"os"
	"time"
)

// watchInterval is how often files are looked at. Looking works on all file systems, and where the links of a mounted
// secret are swapped.
const watchInterval = time.Second

// watch calls load, which reads some files, and returns its error. If there is none, a goroutine calls it again whenever one
// of the files is another one than before, until ctx is done, and tells done how that ended. After an error it tries again,
// also without a change: there may have been no descriptor left to open the file, and a token that was revoked would stay.
func watch(ctx context.Context, paths []string, load func() error, done func(error)) error {
	before := look(paths) // before load: what changes after it is seen later
	if err := load(); err != nil {
		return err
	}
	go func() {
		clock := time.NewTicker(watchInterval)
		defer clock.Stop()
		var failed error
		for {
			select {
			case <-ctx.Done():
				return
			case <-clock.C:
			}
			now := look(paths)
			changed := !sameFiles(before, now)
			if !changed && failed == nil {
				continue
			}
			before = now
			err := load()
			if changed || err == nil { // the same error again is no news
				done(err)
			}
			failed = err
		}
	}()
	return nil
}

// look returns what there is to know of files without reading them, nil for a file that is missing.
func look(paths []string) (all []os.FileInfo) {
	for _, path := range paths {
		info, _ := os.Stat(path)
		all = append(all, info)
	}
	return all
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
