package compaction

import "github.com/colonnade-db/colonnade/engine/manifest"

// Debt returns the bytes of a version that compactions are due to read: those of a level 0 that is full, and of the
// upper levels what run merges under way have left, or all once they hold too much. What a compaction reads with
// them, of levels below, is not counted.
func Debt(v *manifest.Version, o Options) (bytes int64) {
	p := newPicker(v, nil, o)
	if p.level0Full() {
		bytes += v.Size(0)
	}
	full := p.top < manifest.LastLevel && p.upperLevelsFull()
	for level := p.top; level < manifest.LastLevel; level++ {
		for _, f := range v.Levels[level] {
			if full || o.RunMerges.Intermediate.covers(level, f) || o.RunMerges.Bottommost.covers(level, f) {
				bytes += f.Size
			}
		}
	}
	return bytes
}

// covers reports whether a file of a level is part of the run merge.
func (m RunMerge) covers(level int, f *manifest.File) bool {
	return 1 <= level && level <= m.From && f.Number <= m.Last
}
