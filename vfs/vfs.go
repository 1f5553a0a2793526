// Package vfs is the file system as the engine sees it: a small interface, the
// operating system behind it, a strict file system in memory that can lose power
// at any operation, and a wrapper that makes any operation fail.
//
// The engine writes a file once, from front to back, and syncs it; it never
// appends to a file of an earlier run, truncates, or writes at an offset. The
// one exception is a recycled log segment (Reuse), which is overwritten, again
// from front to back. So little is needed because so little is trusted:
//
//   - the bytes of a file are durable after File.Sync, and not before;
//   - a name is durable after FS.SyncDir of its directory, and not before;
//     syncing a file does not make its name durable;
//   - after a failed Sync or SyncDir nothing is known about what it covered. A
//     later one that succeeds says nothing about it either: the operating system
//     may have marked the data clean when the first one failed.
//
// Mem keeps to exactly these promises and to no more. A program that relies on
// one that is not here fails there under some crash (see Mem.Crash).
//
// Names are slash-separated paths in the form that path.Clean gives.
package vfs

import (
	"fmt"
	"io"
)

// FS is a file system. It is safe for concurrent use.
//
// Errors are those of package os: they name the operation and the path, and
// errors.Is tells fs.ErrNotExist, fs.ErrExist and the system's own numbers such
// as syscall.ENOSPC.
type FS interface {
	// Create makes a new, empty file and opens it for writing. It fails with
	// fs.ErrExist if the name is taken. Only the owner may read or write it.
	Create(name string) (File, error)

	// Open opens a file for reading. It fails with fs.ErrNotExist if there is
	// none, and if the name is anything but a regular file: a symbolic link
	// is not followed.
	Open(name string) (File, error)

	// Reuse renames the file old to new and opens it for writing from offset 0
	// over its present content, whose bytes and length stay until they are
	// overwritten. A Write inside that length may also set what follows to zeros, up to the
	// next multiple of 4 KiB if that is inside too. It fails with fs.ErrExist if the name new
	// is taken.
	Reuse(old, new string) (File, error)

	// Rename gives the file old the name new, in place of a file of that name.
	// Within one directory it is atomic even across a crash. Between two, a
	// crash may leave either name, both, or, if the directory of old is synced
	// before that of new, neither. Directories are not renamed.
	Rename(old, new string) error

	// Remove removes a file or an empty directory. Handles that are open stay
	// usable.
	Remove(name string) error

	// List returns the names of the files and directories in dir, sorted by
	// their bytes.
	List(dir string) ([]string, error)

	// MkdirAll makes a directory and those above it that are missing. Only the
	// owner may use them. It is no error if the directory exists. Each new
	// directory is a name in the one above, durable when that is synced.
	MkdirAll(dir string) error

	// SyncDir makes creations, renames and removals in dir durable.
	SyncDir(dir string) error

	// Lock takes a lock that only one holder has at a time, on this machine, and
	// that ends with Close or with the process, however it ends. The file is
	// created if needed and stays. If another holder has the lock, in this
	// process or not, Lock fails at once with a *LockedError.
	Lock(name string) (io.Closer, error)

	// Stat returns the length of a file. It fails if the name is a directory.
	Stat(name string) (size int64, err error)

	// FreeSpace returns the bytes that this process could still write below dir.
	FreeSpace(dir string) (uint64, error)
}

// File is an open file. It is either read (Open) or written from front to back
// (Create, Reuse); the methods of the other use fail.
//
// ReadAt and Size are safe for concurrent use. The caller serialises Write, Sync
// and Close. After Close every method fails with fs.ErrClosed.
type File interface {
	// ReadAt reads as io.ReaderAt says; a read that ends beyond the end of the
	// file returns io.EOF with what there is.
	io.ReaderAt

	// Write writes all of p after what was written before, or returns an error
	// and after how much of p the next Write goes on. More of p may lie behind that by
	// then, to be overwritten. It keeps nothing of p.
	io.Writer

	// Close releases the handle. It does not sync. An error may be the only
	// report of a failed write, and has to be treated as a failed Sync.
	io.Closer

	// Sync makes the content and the length of the file durable, also what was
	// written through other handles.
	Sync() error

	// Size returns the length of the file, which for a reused file counts the
	// old content.
	Size() (int64, error)
}

// writeUnit is 4 KiB, up to a multiple of which a Write to a reused file may set zeros.
const blockSize = 4 << 10

// unitEnd returns the first multiple of writeUnit that is not below n.
func blockEnd(n int64) int64 { return (n + blockSize - 1) / blockSize * blockSize }

// LockedError says that a lock is taken, and by which process.
type LockedError struct {
	Name string // the lock file
	PID  int    // the holder, or 0 if it cannot be told
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("lock %s: held by another process", e.Name)
	}
	return fmt.Sprintf("lock %s: held by process %d", e.Name, e.PID)
}
