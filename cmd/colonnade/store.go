package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/metrics"
	"github.com/colonnade-db/colonnade/metrics/storemetrics"
	"github.com/colonnade-db/colonnade/tracing"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// openStore opens the directory of the options, and adds the metrics of the store.
func openStore(o *serveOptions, log *slog.Logger, m *metrics.Registry, t *tracing.Tracer) (widecol.Store, error) {
	warnExposed(o.data, log)
	dir, err := filepath.Abs(o.data) // listings tell the paths of partitions to others
	if err != nil {
		return nil, err
	}
	store, err := lsmstore.Open(lsmstore.Options{Dir: filepath.ToSlash(dir), Engine: o.engineOptions(log, m, t)})
	if err != nil {
		return nil, held(o.data, err)
	}
	storemetrics.Add(m, store, clock.System.Now)
	return store, nil
}

// warnExposed warns if others than the owner can read or change a directory. serve creates none like that.
func warnExposed(dir string, log *slog.Logger) {
	info, err := os.Stat(dir)
	if err == nil && info.IsDir() && info.Mode().Perm()&0o077 != 0 {
		log.Warn("the directory is open to other users of this machine: chmod 700 closes it", "directory", dir, "mode", info.Mode().Perm())
	}
}

// held replaces the error of an open by one that says which process holds the lock, if that is the cause.
func held(dir string, err error) error {
	var locked *vfs.LockedError
	if errors.As(err, &locked) {
		return fmt.Errorf("directory %s is in use by the process with id %d", dir, locked.PID)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: the directory and all in it must belong to the user of this process", err)
	}
	return err
}
