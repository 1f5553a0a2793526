package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/colonnade-db/colonnade/vfs"
)

// dir is a Storage in a directory.
type dir struct{ root string }

// NewDir returns a Storage in a directory, which is made when something is written.
func NewDir(path string) Storage { return dir{filepath.Clean(path)} }

func (d dir) String() string { return d.root }

func (d dir) path(name string) string { return filepath.Join(d.root, filepath.FromSlash(name)) }

const tempDir = "tmp/"

// Put writes to a file in tmp, which gets its name when it is durable.
func (d dir) Put(ctx context.Context, name string, content io.Reader, _ int64) error {
	return d.explain(d.put(ctx, name, content))
}

func (d dir) put(ctx context.Context, name string, content io.Reader) (err error) {
	if err := d.makeParent(tempDir + "x"); err != nil {
		return err
	}
	temp, err := os.CreateTemp(d.path(tempDir), "put-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = temp.Close()
			_ = os.Remove(temp.Name())
		}
	}()
	if _, err := io.CopyBuffer(struct{ io.Writer }{temp}, contextReader{ctx, content}, make([]byte, copyBytes)); err != nil {
		return err
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	if err := d.makeParent(name); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), d.path(name)); err != nil {
		return err
	}
	return vfs.OS.SyncDir(filepath.Dir(d.path(name)))
}

// copyBytes is the size of the pieces in which files are copied.
const copyBytes = 1 << 20

// makeParent makes the directory of a name, durably.
func (d dir) makeParent(name string) error {
	parent := filepath.Dir(d.path(name))
	var missing []string
	for at := parent; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, at)
	}
	if len(missing) == 0 {
		return nil
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	for _, at := range missing {
		if err := vfs.OS.SyncDir(filepath.Dir(at)); err != nil {
			return err
		}
	}
	return nil
}

func (d dir) link(file, name string) (bool, error) {
	if err := d.makeParent(name); err != nil {
		return false, d.explain(err)
	}
	err := os.Link(file, d.path(name))
	switch {
	case vfs.CannotLink(err), errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil && !errors.Is(err, fs.ErrExist): // another backup of the same file has been quicker
		return false, d.explain(err)
	}
	return true, vfs.OS.SyncDir(filepath.Dir(d.path(name)))
}

func (d dir) removeLeft(since time.Time) error {
	list, err := os.ReadDir(d.path(tempDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range list {
		info, e := entry.Info()
		if e == nil && info.ModTime().Before(since) {
			e = os.Remove(filepath.Join(d.path(tempDir), entry.Name()))
		}
		if !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return d.explain(err)
}

func (d dir) Get(_ context.Context, name string) (io.ReadCloser, error) {
	f, err := os.Open(d.path(name))
	if err != nil {
		return nil, d.explain(err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, f.Close(), fmt.Errorf("%s is no file", d.path(name)))
	}
	return f, nil
}

func (d dir) List(ctx context.Context, prefix string) (list []Object, err error) {
	inDir, begin := path.Split(prefix)
	top := d.path(inDir)
	err = filepath.WalkDir(top, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // there is no such directory, or the file has gone meanwhile
			return nil
		case err != nil || entry.IsDir():
			return errors.Join(err, ctx.Err())
		case filepath.Dir(at) == top && !strings.HasPrefix(entry.Name(), begin):
			return nil
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		name, err := filepath.Rel(d.root, at)
		list = append(list, Object{Name: filepath.ToSlash(name), Size: info.Size()})
		return err
	})
	slices.SortFunc(list, func(a, b Object) int { return strings.Compare(a.Name, b.Name) })
	return list, d.explain(err)
}

func (d dir) Remove(_ context.Context, name string) error {
	err := os.Remove(d.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return d.explain(err)
}

// explain says what to do about an error of the file system.
func (d dir) explain(err error) error {
	switch {
	case vfs.NoRoom(err):
		return fmt.Errorf("%w: make room on the disk of %s, and try again; what is there already is not copied again", err, d.root)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: a repository is for the user alone who made it: be that user, or root", err)
	}
	return err
}

// contextReader ends with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
