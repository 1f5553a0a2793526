//go:build race

package sstable

// The race detector makes pools lose things and everything slow.
const raceEnabled = true
