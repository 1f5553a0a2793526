//go:build race

package engine

// The race detector makes pools lose things and everything slow.
const raceEnabled = true
