package compaction

import "colonnade/engine/manifest"

const (
	// mostParts bounds the memory that a compaction takes: each part opens all inputs, at some
	// hundred KiB each.
	MaxSubcompactions = 4
	// partFiles is how many files of input a part has at least: the last one that it writes is
	// not full, and of each input a block has been read past the part's end.
	partFiles = 2
)

// partsOf returns into how many parts a compaction of files may be divided, of so many at most.
func Subcompactions(files []*manifest.File, most int, fileSize int64) int {
	return max(1, min(most, MaxSubcompactions, int(manifest.TotalSize(files)/(partFiles*fileSize))))
}
