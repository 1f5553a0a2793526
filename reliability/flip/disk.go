package flip

import (
	"errors"
	"io"
	iofs "io/fs"
	"path"

	"github.com/colonnade-db/colonnade/vfs"
)

// walk lists all files of a store, by path.
func walk(fs vfs.FS) ([]string, error) {
	var files []string
	for dirs := []string{dir}; len(dirs) > 0; dirs = dirs[1:] {
		names, err := fs.List(dirs[0])
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			name = path.Join(dirs[0], name)
			if _, err := fs.Stat(name); err == nil {
				files = append(files, name)
			} else {
				dirs = append(dirs, name)
			}
		}
	}
	return files, nil
}

// content returns what a file holds.
func content(fs vfs.FS, name string) ([]byte, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	if n, err := f.ReadAt(data, 0); n < len(data) && err != nil {
		return nil, err
	}
	return data, nil
}

// replace gives a name another file, or none if data is nil.
func replace(fs vfs.FS, name string, data []byte) error {
	if err := fs.Remove(name); err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	if data == nil {
		return nil
	}
	f, err := fs.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(data)
	return err
}

// overwrite changes a file under the handles that are open.
func overwrite(fs vfs.FS, name string, data []byte) error {
	const aside = dir + "/aside"
	f, err := fs.Reuse(name, aside)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return fs.Rename(aside, name)
}

// reads notes the stretches that are read of a file.
type reads struct {
	io.ReaderAt
	list []stretch
}

type stretch struct{ at, end int64 }

func (r *reads) ReadAt(p []byte, off int64) (int, error) {
	r.list = append(r.list, stretch{off, off + int64(len(p))})
	return r.ReaderAt.ReadAt(p, off)
}
