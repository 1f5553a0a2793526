package manifest

import (
	"fmt"
	"strconv"
	"strings"
)

// The names of everything in a store's directory.

const (
	LockFile      = "LOCK"
	LogDir        = "wal"
	PartitionsDir = "partitions"

	FilePrefix    = "manifest-"
	SegmentSuffix = ".log"
	TornSuffix    = ".torn" // a segment in which a crash has torn something
	FillSuffix    = ".fill" // a segment that is not filled yet
	TableSuffix   = ".sst"
	TempSuffix    = ".tmp"
)

func FileName(n uint64) string     { return fmt.Sprintf("%s%08d", FilePrefix, n) }
func SegmentFile(n uint64) string  { return fmt.Sprintf("%08d%s", n, SegmentSuffix) }
func TornFile(n uint64) string     { return fmt.Sprintf("%08d%s", n, TornSuffix) }
func FillFile(n uint64) string     { return fmt.Sprintf("%08d%s", n, FillSuffix) }
func TableFile(n uint64) string    { return fmt.Sprintf("%08d%s", n, TableSuffix) }
func PartitionDir(n uint64) string { return fmt.Sprintf("%08d", n) }

// parseName returns the number in a name made of prefix, at least eight
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
