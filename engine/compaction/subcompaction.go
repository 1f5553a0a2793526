package compaction

import "github.com/colonnade-db/colonnade/engine/manifest"

const (
	// MaxSubcompactions bounds the memory of a compaction: each subcompaction opens all inputs, at
	// some hundred KiB each.
	MaxSubcompactions = 4
	// partFiles is the least number of input files for each subcompaction: the last file that it
	// writes is not full, and it reads one block of each input past its end.
	partFiles = 2
)

// Subcompactions returns into how many subcompactions a compaction of files may be divided, at
// most the given number.
func Subcompactions(files []*manifest.File, most int, fileSize int64) int {
	return max(1, min(most, MaxSubcompactions, int(manifest.TotalSize(files)/(partFiles*fileSize))))
}
