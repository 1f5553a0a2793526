package colonnade

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
)

// Checkpoint makes a copy of tables as of one moment, of all tables if there are none: a directory for Open, or for the
// server, which must not be there yet. Writers do not notice. On the same file system the sorted files get a further
// name there, so that it takes as long as to write the memtables, and little space until the tables change.
//
// Until all of it is durable, the directory has the name dir with ".unfinished" behind it. After a crash that is left
// over, and may be removed.
func (db *DB) Checkpoint(ctx context.Context, dir string, tables ...string) error {
	dir = filepath.Clean(dir)
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = &fs.PathError{Op: "checkpoint", Path: dir, Err: fs.ErrExist}
		}
		return err
	}
	c, err := db.store.Checkpoint(ctx, tables)
	if err != nil {
		return failure(err)
	}
	temp := dir + ".unfinished"
	err = place(ctx, c, temp)
	if err == nil {
		err = os.Rename(temp, dir)
	}
	if err == nil {
		err = vfs.OS.SyncDir(filepath.Dir(dir))
	}
	if err != nil {
		err = errors.Join(fmt.Errorf("checkpoint: %w", err), os.RemoveAll(temp))
	}
	return errors.Join(err, failure(db.store.RemoveCheckpoint(c.ID)))
}

// place makes a directory with the files of a checkpoint, and a store of them whose log goes a way of its own.
func place(ctx context.Context, c widecol.Checkpoint, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	dirs := map[string]bool{dir: true}
	for _, f := range c.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(f.Name))
		for d := filepath.Dir(to); !dirs[d]; d = filepath.Dir(d) {
			dirs[d] = true
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := errors.Join(linkOrCopy(path.Join(c.Path, f.Name), to), sync(to)); err != nil {
			return err
		}
	}
	r, err := engine.NewRestoration(vfs.OS, filepath.ToSlash(dir))
	if err != nil {
		return err
	}
	if err := r.Finish(engine.Restored{}, rand.Reader); err != nil {
		return err
	}
	for d := range dirs {
		if err := vfs.OS.SyncDir(d); err != nil {
			return err
		}
	}
	return nil
}

// linkOrCopy gives a file a further name, or copies it where the file system has no such names.
func linkOrCopy(from, to string) error {
	if err := vfs.OS.Link(from, to); !vfs.CannotLink(err) {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := vfs.OS.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// sync makes a file durable. Those of a checkpoint need not be.
func sync(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
