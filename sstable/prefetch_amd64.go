//go:build gc && !purego

package sstable

// prefetch asks the processor for the lines of p, and waits for none.
//
//go:noescape
func prefetch(p []byte)
