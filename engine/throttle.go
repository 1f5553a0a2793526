package engine

import "time"

// throttle is the rate, in bytes a second, at which batches for a partition are admitted while its
// writers are slowed down. It falls with the files in level 0, mostly to where compaction keeps up
// with it, whatever the machine: so writers wait a little each instead of all for a whole
// compaction, and then longer than they may. It is an appointment book: each batch takes its
// bytes' time from where the one before has left off. The zero value is ready; it is guarded by
// DB.mu.
type throttle struct {
	until int64 // when all that was admitted has had its time, in nanoseconds of the clock
}

const (
	// firstRate is the rate at a crowd of slowFiles files, above what two cores write; every two files
	// halve it, to 8 MiB/s at the last before the stop.
	firstRate = 256 << 20
	// A Commit waits for ownTimes times its own time at most, but for commonPause in any case, so
	// that small ones do not wait long beside large ones, and never longer than longestPause. All
	// the while it keeps its turn in the server from others. Where that is too short to keep to
	// the rate, the stop does the rest.
	ownTimes     = 4
	commonPause  = 50 * time.Millisecond
	longestPause = 250 * time.Millisecond
	// shortestPause is the shortest that a Commit waits at all, in the order of what a timer is
	// late by. Its time is taken all the same, so that others wait for it.
	shortestPause = 100 * time.Microsecond
)

// take admits a batch of so many bytes, now, with a crowd of so many files in level 0, from slowFiles
// on up to stopFiles, and returns how long it has to wait.
func (t *throttle) take(now int64, bytes, files int) time.Duration {
	rate := int64(firstRate) >> ((files - slowFiles) / 2)
	now *= int64(time.Microsecond)
	own := int64(bytes) * int64(time.Second) / rate
	t.until = max(t.until, now) + own
	t.until = min(t.until, now+int64(longestPause)) // also when the clock has stepped back
	wait := min(time.Duration(t.until-now), max(time.Duration(ownTimes*own), commonPause))
	if wait < shortestPause {
		return 0
	}
	return wait
}
