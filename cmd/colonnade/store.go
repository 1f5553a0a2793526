package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"colonnade/clock"
	"colonnade/engine"
	"colonnade/vfs"
	"colonnade/widecol"
	"colonnade/widecol/lsmstore"
)

// openStore opens the directory that the flags name.
func openStore(f serveFlags, log *slog.Logger) (widecol.Store, error) {
	warnExposed(f.data, log)
	dir, err := filepath.Abs(f.data) // listings tell the paths of partitions to others
	if err != nil {
		return nil, err
	}
	store, err := lsmstore.Open(lsmstore.Options{
		Dir: filepath.ToSlash(dir),
		Engine: engine.Options{
			FS:            vfs.OS,
			Clock:         clock.System,
			Log:           log,
			MemtableBytes: f.memtableMiB << 20,
			CacheBytes:    f.cacheMiB << 20,
			OpenFiles:     openFiles(),
		},
	})
	if err != nil {
		return nil, held(f.data, err)
	}
	return store, nil
}

// warnExposed warns when a directory can be read or changed by others than its owner.
// One that serve makes cannot; whoever made this one may have had reasons.
func warnExposed(dir string, log *slog.Logger) {
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		log.Warn("the directory is open to other users of this machine: chmod 700 closes it", "directory", dir, "mode", info.Mode().Perm())
	}
}

// maxOpenFiles is how many sorted files are open at most, however many the process
// may have.
const maxOpenFiles = 4096

// openFiles is how many sorted files the store may have open: half of what the
// process may, so that as much is left for connections and for what is written.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0 // the store's own default
	}
	return int(min(max(limit.Cur/2, 1), maxOpenFiles))
}

// held says which process has the directory open, if that is why it could not
// be opened.
func held(dir string, err error) error {
	var locked *vfs.LockedError
	if errors.As(err, &locked) {
		return fmt.Errorf("directory %s is in use by the process with id %d", dir, locked.PID)
	}
	return err
}
