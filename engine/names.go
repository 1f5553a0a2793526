package engine

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// The names of everything in a store's directory.

const (
	lockName      = "LOCK"
	logDir        = "wal"
	partitionsDir = "partitions"

	manifestPrefix = "manifest-"
	segmentSuffix  = ".log"
	tornSuffix     = ".torn" // a segment in which a crash has torn something
	fillSuffix     = ".fill" // a segment that is not filled yet
	tableSuffix    = ".sst"
	tempSuffix     = ".tmp"
)

func (db *DB) path(elem ...string) string {
	return path.Join(append([]string{db.dir}, elem...)...)
}

// listDir returns the names in a directory below that of the store. It has to be a
// directory itself: a link would lead out of the store.
func (db *DB) listDir(dir string) ([]string, error) {
	if _, err := db.opt.FS.Stat(dir); err != nil && !errors.Is(err, syscall.EISDIR) {
		return nil, fmt.Errorf("not a directory of the store: %w", err)
	}
	return db.opt.FS.List(dir)
}

func manifestName(n uint64) string  { return fmt.Sprintf("%s%08d", manifestPrefix, n) }
func segmentName(n uint64) string   { return fmt.Sprintf("%08d%s", n, segmentSuffix) }
func tornName(n uint64) string      { return fmt.Sprintf("%08d%s", n, tornSuffix) }
func fillName(n uint64) string      { return fmt.Sprintf("%08d%s", n, fillSuffix) }
func tableName(n uint64) string     { return fmt.Sprintf("%08d%s", n, tableSuffix) }
func partitionName(n uint64) string { return fmt.Sprintf("%08d", n) }

// parseName returns the number in a name made of prefix, at least eight
// digits, and suffix.
func parseName(name, prefix, suffix string) (uint64, bool) {
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
