//go:build race

package engine

// The race detector makes pools drop objects, and everything slow.
const raceEnabled = true
