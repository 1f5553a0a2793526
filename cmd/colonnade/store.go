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
	"colonnade/metrics"
	"colonnade/metrics/storemetrics"
	"colonnade/vfs"
	"colonnade/widecol"
	"colonnade/widecol/lsmstore"
)

// openStore opens the directory of the options, and adds the metrics of the store.
func openStore(o *serveOptions, log *slog.Logger, m *metrics.Registry) (widecol.Store, error) {
	warnExposed(o.data, log)
	dir, err := filepath.Abs(o.data) // listings tell the paths of partitions to others
	if err != nil {
		return nil, err
	}
	store, err := lsmstore.Open(lsmstore.Options{
		Dir: filepath.ToSlash(dir),
		Engine: engine.Options{
			FS:            vfs.OS,
			Clock:         clock.System,
			Log:           log,
			MemtableBytes: o.memtableMiB << 20,
			CacheBytes:    o.cacheMiB << 20,
			OpenFiles:     openFiles(),
			LogSynced:     storemetrics.LogSynced(m),
		},
	})
	if err != nil {
		return nil, held(o.data, err)
	}
	storemetrics.Add(m, store, clock.System.Now)
	return store, nil
}

// warnExposed warns if others than the owner can read or change a directory. serve creates none like that.
func warnExposed(dir string, log *slog.Logger) {
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		log.Warn("the directory is open to other users of this machine: chmod 700 closes it", "directory", dir, "mode", info.Mode().Perm())
	}
}

// maxOpenFiles bounds the open sorted files.
const maxOpenFiles = 4096

// openFiles returns how many sorted files the store may open: half of the process's limit. The other half
// is for connections and files being written.
func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0 // the store's own default
	}
	return int(min(max(limit.Cur/2, 1), maxOpenFiles))
}

// held replaces the error of an open by one that says which process holds the lock, if that is the cause.
func held(dir string, err error) error {
	var locked *vfs.LockedError
	if errors.As(err, &locked) {
		return fmt.Errorf("directory %s is in use by the process with id %d", dir, locked.PID)
	}
	return err
}
