package compaction

import (
	"testing"

	"github.com/colonnade-db/colonnade/engine/manifest"
)

// TestReadThresholds: a threshold counts the entries that a compaction would merge, including those
// of the level below in the same rows.
func TestReadThresholds(t *testing.T) {
	f := func(first, last string, cells uint64) *manifest.File {
		return &manifest.File{Smallest: []byte(first), Largest: []byte(last), Entries: cells}
	}
	var v manifest.Version
	if got := ReadThresholds(&v, testPickOptions).Level0; got != 0 {
		t.Errorf("without files: %d", got)
	}
	v.Levels[0] = []*manifest.File{f("c", "e", 100_000)}
	v.Levels[3] = []*manifest.File{f("a", "b", 1), f("c", "d", 200_000), f("e", "f", 300_000), f("g", "h", 1)}
	v.Levels[4] = []*manifest.File{f("a", "z", 1)}
	if got := ReadThresholds(&v, testPickOptions).Level0; got != 600_000/entriesPaid {
		t.Errorf("got %d, want %d", got, 600_000/entriesPaid)
	}
	v.Levels[3] = nil
	v.Levels[0][0].Entries = 1
	if got := ReadThresholds(&v, testPickOptions).Level0; got != MinThreshold {
		t.Errorf("of few entries: %d", got)
	}
}
