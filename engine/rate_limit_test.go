package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/vfs"
)

// TestWriteRateLimit: batches reserve time for their bytes, one after the other, and more time with
// more files. No batch waits much longer than its own time.
func TestWriteRateLimit(t *testing.T) {
	const now, second = 1_700_000_000_000_000, 1_000_000
	var limit writeRateLimit
	reserve := func(at int64, bytes, files int, want time.Duration) {
		t.Helper()
		if got := limit.reserve(at, bytes, files); (got - want).Abs() > time.Microsecond { // bytes are rounded
			t.Errorf("%d bytes at %d files: wait %v, want %v", bytes, files, got, want)
		}
	}
	for files, rate := range map[int]int{12: 256 << 20, 13: 256 << 20, 14: 128 << 20, 18: 32 << 20, 21: 16 << 20, 22: 8 << 20, 23: 8 << 20} {
		limit.until = 0
		reserve(now, rate/50, files, 20*time.Millisecond)
		reserve(now, rate/25, files, 60*time.Millisecond)
		reserve(now+second/100, rate/50, files, 70*time.Millisecond)
		reserve(now+second/100, rate/100, files, commonPause)        // a small batch while the queue is 80 ms
		reserve(now+second/100, rate/50, files, 80*time.Millisecond) // four times its own time
		reserve(now+second/100, 10*rate, files, longestPause)
		reserve(now+second/100, rate/10, files, longestPause)
		reserve(now+second/100, 1, files, commonPause)
		reserve(now+second, rate/50, files, 20*time.Millisecond) // the previous batch ended long ago
	}
	limit.until = 0
	reserve(now, firstRate/25_000, slowdownFiles, 0) // too short to wait for
	reserve(now, firstRate/25_000, slowdownFiles, 0)
	reserve(now, firstRate/25_000, slowdownFiles, 120*time.Microsecond) // long enough now
	reserve(now-3600*second, firstRate, slowdownFiles, longestPause)    // the clock has stepped back by an hour
	reserve(now, 0, slowdownFiles, 0)
}

// TestLoadsAreSlowedDown: a load is limited to the rate while compaction does not keep up, and is
// not limited otherwise.
func TestLoadsAreSlowedDown(t *testing.T) {
	opt := testOptions(vfs.NewMem())
	manual, waited := clock.NewManual(1), time.Duration(0)
	opt.Clock = signalled{manual, func(d time.Duration) {
		waited += d
		manual.Advance(d)
	}}
	opt.MemtableBytes, opt.SegmentBytes, opt.LogBytes = 64<<20, 16<<20, 128<<20
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	ids := mustCreate(t, db, "a", "b")
	db.mu.Lock()
	db.partitions[ids[0]].compactionStopped = true // no compaction
	db.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	load := func(id PartitionID) time.Duration {
		waited = 0
		for i := range 100 {
			var b Batch
			r, c := set(fmt.Sprint("row", i), "q", strings.Repeat("v", 10_000))
			b.Add(id, r, c)
			r, c = set("row", "q", "v")
			b.Add(ids[1], r, c) // the other partition sets the rate
			if _, err := db.Commit(ctx, &b); err != nil {
				t.Fatal(err)
			}
		}
		return waited
	}
	flushed(t, db, ids[0], slowdownFiles-1)
	if got := load(ids[0]); got != 0 {
		t.Errorf("at %d files a load waited for %v", slowdownFiles-1, got)
	}
	for files := slowdownFiles; files < stopFiles; files++ {
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		least := time.Duration(1_000_000 * int64(time.Second) / (firstRate >> ((files - slowdownFiles) / 2)))
		if got := load(ids[1]); got != 0 {
			t.Errorf("at %d files a load of another partition waited for %v", files, got)
		}
		if got := load(ids[0]); got < least*9/10 || got > least*11/10 {
			t.Errorf("at %d files a load waited for %v, want about %v", files, got, least)
		}
	}
}
