package compaction

import "github.com/colonnade-db/colonnade/engine/manifest"

// Read-triggered compaction. The files of level 0 overlap, and each upper level is one more
// run, so a read asks each of them for its rows. A compaction would save that, but costs
// writes, and the number of reads to come is unknown. So reads pay into an account (Probes.Cost)
// until they have paid a fixed part of the compaction's cost (Thresholds); then it runs. This
// bounds what such compactions write by the number of reads. A table that is only written has
// none. LevelDB's seek compaction works alike.
const (
	// SourceCost is the cost of a file or run that has to be read. The unit is a question to a
	// filter, which takes 0.1 µs.
	SourceCost = 4
	// rowsPaid is how many scanned rows cost one question for each source. A source costs a
	// quarter of a question in each row, but a long scan spends most of its time on opening
	// blocks, and a compaction saves none of that.
	rowsPaid = 32
	// entriesPaid is how many entries a compaction merges for each question paid. A question
	// takes about a quarter of the time of an entry. But clients wait for the one and not for
	// the other, and what was read will be read again.
	entriesPaid = 4
	// MinThreshold keeps small tables from being compacted again and again.
	MinThreshold = 10_000
)

// Probes are the sources that a scan has met in level 0, or in the upper levels.
type Probes struct {
	Asked, Opened int // files of level 0, runs of other levels
}

// Cost returns what a scan over the given number of rows pays, in questions.
func (p Probes) Cost(rows uint64) int64 {
	return int64(p.Asked) + int64(p.Opened)*(SourceCost+int64(rows)/rowsPaid)
}

// Thresholds are what reads have to pay before level 0, or the upper levels, are compacted, in
// questions. 0 means that a compaction would save reads nothing.
type Thresholds struct {
	Level0, Upper int64
}

// ReadThresholds returns the thresholds of a version, by the entries that would be merged.
func ReadThresholds(v *manifest.Version, o Options) Thresholds {
	p := newPicker(v, nil, o)
	var level0, upper []*manifest.File
	for _, group := range p.groups() {
		switch c := p.fromLevel0(group); {
		case c.Kind == Nothing:
		case c.helpsReads():
			level0 = append(level0, c.Files()...)
		default:
			upper = append(upper, group...)
		}
	}
	for level := p.top; level < manifest.LastLevel; level++ {
		upper = append(upper, v.Levels[level]...)
	}
	if len(upper) > 0 {
		first, last := manifest.Bounds(upper)
		upper = append(upper, v.Overlapping(manifest.LastLevel, first, last)...)
	}
	return Thresholds{threshold(level0), threshold(upper)}
}

func threshold(files []*manifest.File) int64 {
	if len(files) == 0 {
		return 0
	}
	entries := uint64(0)
	for _, f := range files {
		entries += f.Entries
	}
	return max(int64(entries/entriesPaid), MinThreshold)
}
