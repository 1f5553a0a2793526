package engine

import "time"

// writeRateLimit limits the bytes per second that enter a partition while its writers are slowed
// down. The rate falls with the number of level-0 files, usually until compaction keeps up, whatever
// the machine. So each writer waits a little, instead of all of them for a whole compaction and then
// past their timeout. Each batch reserves the time for its bytes after the batch before. The zero
// value is ready. DB.mu guards it.
type writeRateLimit struct {
	until int64 // the end of the last reservation, in nanoseconds of the clock
}

const (
	// firstRate is the rate at slowdownFiles, more than two CPUs can write. Every two files halve it,
	// down to 8 MiB/s before stopFiles.
	firstRate = 256 << 20
	// A Commit waits at most ownTimes times the time of its own bytes, or commonPause if that is
	// longer, so that small ones do not wait long beside large ones. It never waits longer than
	// longestPause, because it holds a slot of the server meanwhile. Where these bounds let in more
	// than the rate, the stop does the rest.
	ownTimes     = 4
	commonPause  = 50 * time.Millisecond
	longestPause = 250 * time.Millisecond
	// shortestPause is the shortest wait: timers are late by about as much. Less is reserved all the
	// same, so later ones wait for it.
	shortestPause = 100 * time.Microsecond
)

// writeRate returns the rate at a level-0 pressure of slowdownFiles or more, in bytes per second. From
// stopFiles on, where writers stop, it falls no further.
func writeRate(files int) int64 {
	return firstRate >> ((min(files, stopFiles-1) - slowdownFiles) / 2)
}

// reserve reserves the time for a batch of the given bytes, and returns how long the batch has to wait.
// now is in microseconds. files is the level-0 pressure of the partition, from slowdownFiles up to
// stopFiles, not included.
func (l *writeRateLimit) reserve(now int64, bytes, files int) time.Duration {
	rate := writeRate(files)
	now *= int64(time.Microsecond)
	own := int64(bytes) * int64(time.Second) / rate
	l.until = max(l.until, now) + own
	l.until = min(l.until, now+int64(longestPause)) // also when the clock has stepped back
	wait := min(time.Duration(l.until-now), max(time.Duration(ownTimes*own), commonPause))
	if wait < shortestPause {
		return 0
	}
	return wait
}
