package compaction

import "colonnade/engine/manifest"

const (
	// sourceCost is what a file that has to be read costs, in questions to a filter,
	// which take 0.1 µs.
	SourceCost = 4
	// rowsPaid is how many rows a scan steps over for one question more. A file more
	// costs a quarter of a question in each; but a long scan spends most of its time
	// on opening blocks, and a compaction spares it none of that.
	rowsPaid = 32
	// entriesPaid is how many entries a compaction merges for each question paid. A
	// question takes about a quarter of the time of an entry; but somebody waits for
	// the one, and nobody for the other, and what was read will be read again.
	entriesPaid = 4
	// leastPrice keeps small tables from being compacted again and again.
	MinThreshold = 10_000
)

// visit is what a scan has met in level 0, or in the upper levels.
type Probes struct {
	Asked, Opened int // sources: files of level 0, runs of other levels
}

// questions is what a scan over so many rows pays for it.
func (v Probes) Cost(rows uint64) int64 {
	return int64(v.Asked) + int64(v.Opened)*(SourceCost+int64(rows)/rowsPaid)
}

// prices are what reads have to pay before a compaction, 0 where there is nothing to spare
// them.
type Thresholds struct {
	Level0, Upper int64
}

// pricesOf returns the prices for a version. What is to be merged counts.
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
