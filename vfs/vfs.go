// Package vfs is the engine's file system: a small interface, the operating
// system behind it, a strict file system in memory that can lose power at any
// operation, and a wrapper that makes any operation fail.
//
// The engine writes a file once, from front to back, and syncs it. It never
// appends to a file of an earlier run, truncates, or writes at an offset. The
// one exception is a recycled log segment (Reuse), which is overwritten, again
// from front to back. The engine relies on these promises only:
//
//   - the bytes of a file are durable after File.Sync, and not before;
//   - a name is durable after FS.SyncDir of its directory, and not before;
//     syncing a file does not make its name durable;
//   - after a failed Sync or SyncDir the state of its data is unknown. A later
//     success says nothing about it either: the operating system may have marked
//     the data clean when the first one failed.
//
// Mem keeps exactly these promises. A program that relies on more fails there under
// some crash (see Mem.Crash).
//
// Names are slash-separated paths in the form that path.Clean gives.
package vfs

import (
	"errors"
	"fmt"
	"io"
	"syscall"
)

// FS is a file system. It is safe for concurrent use.
//
// Its errors are those of package os: they name the operation and the path, and errors.Is finds
// fs.ErrNotExist, fs.ErrExist and the system's own numbers such as syscall.ENOSPC.
type FS interface {
	// Create creates an empty file and opens it for writing. It fails with fs.ErrExist if the name is
	// taken. Only the owner may read or write the file.
	Create(name string) (File, error)

	// Open opens a file for reading. It fails with fs.ErrNotExist if there is none, and if the name is
	// not that of a regular file. It does not follow a symbolic link.
	Open(name string) (File, error)

	// Reuse renames the file old to new and opens it for writing from offset 0 over its content, whose
	// bytes and length stay until they are overwritten. A Write inside that length may also zero the
	// bytes after it, up to the next multiple of 4 KiB if that is inside too. It fails with
	// fs.ErrExist if the name new is taken.
	Reuse(old, new string) (File, error)

	// Rename gives the file old the name new, and replaces a file of that name. Within one directory
	// it is atomic even across a crash. Between two, a crash may leave either name, both, or, if the
	// directory of old is synced before that of new, neither. It does not rename directories.
	Rename(old, new string) error

	// Link gives the file old the further name new, which is durable when the directory of new is
	// synced. It fails with fs.ErrExist if the name new is taken, and with an error that CannotLink
	// recognises where the file system has no such names. A linked file must not be reused.
	Link(old, new string) error

	// Remove removes a file or an empty directory. Open handles stay usable.
	Remove(name string) error

	// List returns the names of the files and directories in dir, sorted by bytes.
	List(dir string) ([]string, error)

	// MkdirAll creates a directory and its missing parents. Only the owner may use them. It is no
	// error if the directory exists. Each new directory is a name in its parent, and durable when the
	// parent is synced.
	MkdirAll(dir string) error

	// SyncDir makes creations, renames and removals in dir durable.
	SyncDir(dir string) error

	// Lock takes a lock that has at most one holder on this machine. It ends with Close or with the
	// process, however that ends. The file is created if needed and stays. If another holder has the
	// lock, in this process or not, Lock fails at once with a *LockedError.
	Lock(name string) (io.Closer, error)

	// Stat returns the length of a file. It fails if the name is a directory.
	Stat(name string) (size int64, err error)

	// FreeSpace returns how many bytes this process could still write below dir.
	FreeSpace(dir string) (uint64, error)
}

// File is an open file. It is either read (Open) or written from front to back (Create, Reuse). The
// methods of the other use fail.
//
// ReadAt and Size are safe for concurrent use. The caller serialises Write, Sync and Close. After
// Close every method fails with fs.ErrClosed.
type File interface {
	// ReadAt is that of io.ReaderAt. At the end of the file it returns the bytes there are and io.EOF.
	io.ReaderAt

	// Write writes all of p after the bytes written before, or returns an error and how much of p is
	// written; the next Write continues there. After an error more of p may be in the file, to be
	// overwritten. Write does not keep p.
	io.Writer

	// Close releases the handle. It does not sync. An error may be the only report of a failed write,
	// so callers must treat it as a failed Sync.
	io.Closer

	// Sync makes the content and the length of the file durable, including writes through other
	// handles.
	Sync() error

	// Size returns the length of the file. For a reused file that includes the old content.
	Size() (int64, error)
}

// CannotLink reports whether Link failed because a file cannot have a name there, not for another
// reason: the two names are on different file systems, or it knows no such names, or not that many.
func CannotLink(err error) bool {
	return isAny(err, syscall.EXDEV, syscall.EPERM, syscall.ENOTSUP, syscall.ENOSYS, syscall.EMLINK)
}

// NoRoom reports whether a write or a new file failed for want of room: of the disk, of a quota, or of a limit on files.
func NoRoom(err error) bool { return isAny(err, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG) }

func isAny(err error, list ...syscall.Errno) bool {
	for _, errno := range list {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// blockSize is the unit to which a Write to a reused file may pad with zeros, in bytes.
const blockSize = 4 << 10

// blockEnd rounds n up to a multiple of blockSize.
func blockEnd(n int64) int64 { return (n + blockSize - 1) / blockSize * blockSize }

// LockedError says that another process holds a lock, and which one.
type LockedError struct {
	Name string // the lock file
	PID  int    // the holder, or 0 if unknown
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("lock %s: held by another process", e.Name)
	}
	return fmt.Sprintf("lock %s: held by process %d", e.Name, e.PID)
}
