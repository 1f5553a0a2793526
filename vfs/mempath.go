package vfs

import (
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// lookup returns the target of a path.
func (m *Mem) lookup(kind Kind, name string) (node, error) {
	n := node{dir: m.root}
	for _, base := range split(name) {
		if n.dir == nil {
			return node{}, pathError(kind, name, syscall.ENOTDIR)
		}
		next, ok := n.dir.live[base]
		if !ok {
			return node{}, pathError(kind, name, fs.ErrNotExist)
		}
		n = next
	}
	return n, nil
}

// parent returns the directory of the last element of a path, and that element.
func (m *Mem) parent(kind Kind, name string) (*directory, string, error) {
	clean := path.Clean("/" + name)
	if clean == "/" {
		return nil, "", pathError(kind, name, fs.ErrInvalid)
	}
	dir, base := path.Split(clean)
	n, err := m.lookup(kind, dir)
	if err != nil {
		return nil, "", pathError(kind, name, err.(*fs.PathError).Err)
	}
	if n.dir == nil {
		return nil, "", pathError(kind, name, syscall.ENOTDIR)
	}
	return n.dir, base, nil
}

func (m *Mem) file(kind Kind, name string) (*file, error) {
	n, err := m.lookup(kind, name)
	if err != nil {
		return nil, err
	}
	if n.file == nil {
		return nil, pathError(kind, name, syscall.EISDIR)
	}
	return n.file, nil
}

func (m *Mem) directory(kind Kind, name string) (*directory, error) {
	n, err := m.lookup(kind, name)
	if err != nil {
		return nil, err
	}
	if n.dir == nil {
		return nil, pathError(kind, name, syscall.ENOTDIR)
	}
	return n.dir, nil
}

// split returns the elements of a path below the root.
func split(name string) []string {
	clean := path.Clean("/" + name)
	if clean == "/" {
		return nil
	}
	return strings.Split(clean[1:], "/")
}

func pathError(kind Kind, name string, err error) error {
	return &fs.PathError{Op: kind.String(), Path: name, Err: err}
}
