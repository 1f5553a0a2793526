package vfs

import (
	"os"
	"syscall"
)

// datasync writes the data of f and the metadata to read it back, such as its length, but not its
// times. For an overwritten segment this saves the file system's journal.
func datasync(f *os.File) error {
	return control(f, "fdatasync", syscall.Fdatasync)
}
