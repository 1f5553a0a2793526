package main

import (
	"errors"
	"fmt"
	"log/slog"
	"path"

	"colonnade/clock"
	"colonnade/engine"
	"colonnade/vfs"
	"colonnade/widecol"
	"colonnade/widecol/lsmstore"
)

// openStore opens the directory that the flags name.
func openStore(f serveFlags, log *slog.Logger) (widecol.Store, error) {
	store, err := lsmstore.Open(lsmstore.Options{
		Dir: path.Clean(f.data),
		Engine: engine.Options{
			FS:            vfs.OS,
			Clock:         clock.System,
			Log:           log,
			MemtableBytes: f.memtableMiB << 20,
			CacheBytes:    f.cacheMiB << 20,
		},
	})
	if err != nil {
		return nil, held(f.data, err)
	}
	return store, nil
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
