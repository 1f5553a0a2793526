package manifest

import (
	"fmt"
	"strconv"
	"strings"
)

// The layout of a store's directory:
//
//	LOCK
//	manifest-00000007
//	wal/00000012.log
//	partitions/00000003/00000045.sst
//	checkpoints/<name>/                with the layout of a store
//
// Numbers have at least eight digits.
const (
	LockFile       = "LOCK"
	LogDir         = "wal"
	PartitionsDir  = "partitions"
	CheckpointsDir = "checkpoints"

	FilePrefix    = "manifest-"
	SegmentSuffix = ".log"
	TornSuffix    = ".torn" // a segment that a crash has torn
	FillSuffix    = ".fill" // a segment that is being filled with zeros
	TableSuffix   = ".sst"
	TempSuffix    = ".tmp"
)

// FileName names the manifest file of an edit.
func FileName(edit uint64) string { return fmt.Sprintf("%s%08d", FilePrefix, edit) }

// SegmentFile names a log segment.
func SegmentFile(n uint64) string { return fmt.Sprintf("%08d%s", n, SegmentSuffix) }

// TornFile names a log segment that is kept because a crash has torn it.
func TornFile(n uint64) string { return fmt.Sprintf("%08d%s", n, TornSuffix) }

// FillFile names a log segment while it is being filled with zeros.
func FillFile(n uint64) string { return fmt.Sprintf("%08d%s", n, FillSuffix) }

// TableFile names a sorted file.
func TableFile(n uint64) string { return fmt.Sprintf("%08d%s", n, TableSuffix) }

// PartitionDir names the directory of a partition.
func PartitionDir(id uint64) string { return fmt.Sprintf("%08d", id) }

// ParseName returns the number in a name that consists of prefix, at least eight
// digits, and suffix.
func ParseName(name, prefix, suffix string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return 0, false
	}
	digits, ok = strings.CutSuffix(digits, suffix)
	if !ok || len(digits) < 8 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil
}
