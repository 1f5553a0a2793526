//go:build race

package sstable

// The race detector makes pools drop objects, and everything slow.
const raceEnabled = true
