//go:build darwin || freebsd || dragonfly

package vfs

import "os"

// datasync is a full sync, which on darwin includes the drive's own cache.
func datasync(f *os.File) error { return f.Sync() }

// wrapReused returns f, opened for writing, as a file to be overwritten from the front.
func wrapReused(f *os.File) File { return &osFile{f} }
