package compaction

import "colonnade/engine/manifest"

// crowd returns the number of files in level 0, without those that it may have more than
// where little lies below it.
func Level0Pressure(v *manifest.Version, o Options) int {
	return len(v.Levels[0]) - Level0Limit(v, o) + o.Level0Files
}
