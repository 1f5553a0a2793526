//go:build !amd64 || !gc || purego

package sstable

import "runtime"

// prefetch reads a byte of each line of p. These reads do not wait for each other, as
// those of a walk do.
func prefetch(p []byte) {
	const line = 64
	sum := byte(0)
	for i := 0; i < len(p); i += line {
		sum += p[i]
	}
	runtime.KeepAlive(sum) // and so the reads
}
