package vfs

import (
	"os"
	"syscall"
)

// datasync writes the data of f and what is needed to read it back, such as its
// length, but not its times: for a segment that is overwritten this saves the
// file system's own journal.
func datasync(f *os.File) error {
	return control(f, "fdatasync", syscall.Fdatasync)
}
