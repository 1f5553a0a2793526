package engine

import (
	"errors"
	"syscall"

	"github.com/colonnade-db/colonnade/vfs"
)

// The meaning of a failed file operation depends on its error and on the operation. The errors:
//
//	no room     ENOSPC EDQUOT EFBIG                  passes when there is room: ErrDiskFull
//	no means    EMFILE ENFILE ENOMEM EINTR EAGAIN    passes by itself: ErrOverloaded
//	a failure   EIO EROFS EACCES and all others      not known: the worst is assumed
//
// The consequences:
//
//	                              no room, no means          a failure
//	write of the log              tried again, the rest of   read-only
//	                              it, until it succeeds
//	sync of the log               read-only                  read-only
//	making a log segment          the Commit fails           read-only
//	manifest under its temporary  the edit fails             read-only
//	name, or getting its name
//	sync of a directory           read-only, but for EMFILE  read-only
//	                              and ENFILE: nothing was
//	                              tried
//	other writes of flush and     tried again                tried again
//	compaction
//	reads                         the request fails          the request fails
//
// A sync is never tried again: the operating system may call pages clean that it could not write. A
// write is: it says how much it has written.

var noMeans = []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EINTR, syscall.EAGAIN}

// shortage returns ErrDiskFull for a lack of room, ErrOverloaded for a lack of means, and nil for a
// failure.
func shortage(err error) error {
	switch {
	case errors.Is(err, ErrDiskFull), vfs.NoRoom(err):
		return ErrDiskFull
	case isAny(err, noMeans):
		return ErrOverloaded
	}
	return nil
}

// outOfDescriptors reports whether the operation was not tried because there was no file descriptor.
func outOfDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

func isAny(err error, list []syscall.Errno) bool {
	for _, errno := range list {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}
