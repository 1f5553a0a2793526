package compaction

import "colonnade/engine/manifest"

// Level0Pressure returns the number of files in level 0, less the extra ones that it may have where
// much lies below it. Write stalls go by it.
func Level0Pressure(v *manifest.Version, o Options) int {
	return len(v.Levels[0]) - Level0Limit(v, o) + o.Level0Files
}
