//go:build linux || darwin || freebsd || dragonfly

package vfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"syscall"
)

// OS is the file system of the operating system.
//
// It protects only the last element of a path against symbolic links: the operator chooses the
// directories, but a file planted in them leads nowhere else and cannot block an open.
var OS FS = osFS{}

const (
	fileMode = 0o600
	dirMode  = 0o700
)

type osFS struct{}

func (osFS) Create(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, fileMode)
	if err != nil {
		return nil, err
	}
	return wrapNew(f), nil
}

func (osFS) Open(name string) (File, error) {
	f, err := openRegular(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return &osFile{f}, nil
}

// Reuse opens the file before it renames it, so an error leaves the name as it was.
func (osFS) Reuse(old, new string) (File, error) {
	f, err := openRegular(old, os.O_WRONLY)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(new); err == nil {
		f.Close()
		return nil, &os.LinkError{Op: "reuse", Old: old, New: new, Err: fs.ErrExist}
	}
	if err := os.Rename(old, new); err != nil {
		f.Close()
		return nil, err
	}
	return wrapReused(f), nil
}

// openRegular opens an existing regular file. Without O_NONBLOCK a named pipe in
// its place would block the open; for a regular file the flag means nothing.
func openRegular(name string, flag int) (*os.File, error) {
	f, err := os.OpenFile(name, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = notRegular("open", name, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func notRegular(op, name string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return &fs.PathError{Op: op, Path: name, Err: syscall.EISDIR}
	default:
		return &fs.PathError{Op: op, Path: name, Err: errNotRegular}
	}
}

var errNotRegular = errors.New("not a regular file")

func (osFS) Rename(old, new string) error { return os.Rename(old, new) }

func (osFS) Link(old, new string) error { return os.Link(old, new) }

func (osFS) Remove(name string) error { return os.Remove(name) }

func (osFS) List(dir string) ([]string, error) {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	d.Close()
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}

func (osFS) MkdirAll(dir string) error { return os.MkdirAll(dir, dirMode) }

func (osFS) SyncDir(dir string) error {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (osFS) Stat(name string) (int64, error) {
	info, err := os.Lstat(name)
	if err == nil {
		err = notRegular("stat", name, info)
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (osFS) FreeSpace(dir string) (uint64, error) {
	var st syscall.Statfs_t
	err := retry(func() error { return syscall.Statfs(dir, &st) })
	if err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	if int64(st.Bavail) < 0 { // some systems count the blocks reserved for root as negative
		return 0, nil
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}

// Lock uses flock, which belongs to the open file and not to the process: a second Lock in the same
// process fails too, and closing another handle of the file does not release it. The file holds the
// process id of the last holder, in decimal. It is never removed: otherwise a process that has the
// removed file open could lock it while another locks a new one.
func (osFS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, fileMode)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &LockedError{Name: name, PID: readPID(f)}
		}
		return nil, err
	}
	if err := writePID(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func flock(f *os.File) error {
	return control(f, "flock", func(fd int) error {
		return syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
	})
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(strconv.AppendInt(nil, int64(os.Getpid()), 10), 0)
	return err
}

// readPID returns 0 if the holder has not written its id yet.
func readPID(f *os.File) int {
	b := make([]byte, 20)
	n, _ := f.ReadAt(b, 0)
	pid, err := strconv.Atoi(string(bytes.TrimSpace(b[:n])))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}

// osFile relies on os.File to repeat interrupted calls and short writes.
type osFile struct{ f *os.File }

func (o *osFile) ReadAt(p []byte, off int64) (int, error) { return o.f.ReadAt(p, off) }

func (o *osFile) Write(p []byte) (int, error) { return o.f.Write(p) }

func (o *osFile) Close() error { return o.f.Close() }

func (o *osFile) Sync() error { return datasync(o.f) }

func (o *osFile) Size() (int64, error) {
	info, err := o.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// control runs a system call on the descriptor of f, which stays open meanwhile.
func control(f *os.File, op string, call func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var callErr error
	err = conn.Control(func(fd uintptr) {
		callErr = retry(func() error { return call(int(fd)) })
	})
	if err != nil {
		return &fs.PathError{Op: op, Path: f.Name(), Err: fs.ErrClosed}
	}
	if callErr != nil {
		return &fs.PathError{Op: op, Path: f.Name(), Err: callErr}
	}
	return nil
}

// retry repeats a system call that a signal interrupted.
func retry(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}
