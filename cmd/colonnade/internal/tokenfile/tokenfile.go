// Package tokenfile reads and replaces token files. Package access has the form of their content.
package tokenfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/colonnade-db/colonnade/access"
)

// maxSize bounds a token file, in bytes.
const maxSize = 16 << 20

// Read returns the tokens of a file, which only its owner may be able to read. An empty file has none.
func Read(path string) (*access.Tokens, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a named pipe would wait for a writer
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(f)
}

func read(f *os.File) (*access.Tokens, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file of tokens", f.Name())
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("token file %s is open to other users of this machine (mode %#o): chmod 600 closes it", f.Name(), info.Mode().Perm())
	case info.Size() > maxSize:
		return nil, fmt.Errorf("token file %s has %d bytes, more than %d", f.Name(), info.Size(), maxSize)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, err
	}
	if len(text) == 0 {
		return new(access.Tokens), nil
	}
	tokens, err := access.ParseTokens(text)
	if err != nil {
		return nil, fmt.Errorf("token file %s: %w", f.Name(), err)
	}
	return tokens, nil
}

// Update replaces the tokens of a file by what change returns, unless that is an error. It makes the file if there is
// none. The file is the old one or the new one as a whole, also after a crash, and updates of several processes come one
// after the other.
func Update(path string, change func(*access.Tokens) (*access.Tokens, error)) error {
	path, err := resolve(path)
	if err != nil {
		return err
	}
	f, err := lock(path)
	if err != nil {
		return err
	}
	defer f.Close() // and unlock
	tokens, err := read(f)
	if err != nil {
		return err
	}
	if tokens, err = change(tokens); err != nil {
		return err
	}
	return replace(f, path, tokens.Encode())
}

// resolve follows symbolic links, so that the file that they lead to is replaced, and not they.
func resolve(path string) (string, error) {
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	return target, err
}

// lock opens a file, makes it if there is none, and waits until no other process has it locked. A file that was replaced
// meanwhile is let go.
func lock(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err == nil {
			var mine, now os.FileInfo
			if mine, err = f.Stat(); err == nil {
				if now, err = os.Stat(path); err == nil && os.SameFile(mine, now) {
					return f, nil
				}
			}
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EINTR) {
			return nil, err
		}
	}
}

// replace puts a file with a text in place of another, which is open, and has its owner.
func replace(old *os.File, path string, text []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".tokens-*") // for its owner alone
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // in vain once it is in place
	_, err = f.Write(text)
	err = errors.Join(err, keepOwner(f, old), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// keepOwner gives a file the owner and the group of another one, if root replaces a file of somebody else: the server of that
// user could not read the new one.
func keepOwner(f, old *os.File) error {
	info, err := old.Stat()
	if err != nil {
		return err
	}
	if of, ok := info.Sys().(*syscall.Stat_t); ok && int(of.Uid) != os.Geteuid() {
		return f.Chown(int(of.Uid), int(of.Gid))
	}
	return nil
}
