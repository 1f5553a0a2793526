package cell

import (
	"math"
	"testing"
)

const (
	sec = int64(1_000_000)
	now = 1000 * sec
	// maxTTL is the largest ttl whose microseconds still fit in a time.
	maxTTL = math.MaxInt64 / sec
)

func TestExpired(t *testing.T) {
	for _, tc := range []struct {
		name           string
		ttl, time, now int64
		want           bool
	}{
		{"no ttl", 0, 1, now, false},
		{"young", 10, now - 9*sec, now, false},
		{"one microsecond to go", 10, now - 10*sec + 1, now, false},
		{"to the microsecond", 10, now - 10*sec, now, true},
		{"old", 10, now - 11*sec, now, true},
		{"now", 1, now, now, false},
		{"the oldest that has an age", 1, 1, now, true},
		{"time 0 has no age", 1, 0, now, false},
		{"one microsecond in the future", 1, now + 1, now, false},
		{"far in the future", 1, MaxTime, now, false},
		{"the largest time, now", 1, MaxTime, MaxTime, false},
		{"the largest ttl, young", maxTTL, 1, now, false},
		{"the largest ttl, one microsecond to go", maxTTL, 1, maxTTL * sec, false},
		{"the largest ttl, to the microsecond", maxTTL, 1, maxTTL*sec + 1, true},
		{"the clock at 0", 1, 1, 0, false},
		{"the clock before the epoch", 1, 0, -now, false},
		{"the clock as early as it gets", 1, MaxTime, math.MinInt64, false},
	} {
		gc := GC{TTLSecs: tc.ttl}
		if got := gc.Expired(tc.time, tc.now); got != tc.want {
			t.Errorf("%s: Expired(%d, %d) with ttl %d = %t, want %t", tc.name, tc.time, tc.now, tc.ttl, got, tc.want)
		}
	}
}

func TestGone(t *testing.T) {
	const old, young = now - 10*sec, now - 9*sec // for a ttl of 10 s
	for _, tc := range []struct {
		name        string
		gc          GC
		time, newer int64
		want        bool
	}{
		{"keeps everything", GC{}, 1, math.MaxInt64, false},
		{"ttl, young", GC{TTLSecs: 10}, young, 5, false},
		{"ttl, old", GC{TTLSecs: 10}, old, 0, true},
		{"limit, the newest", GC{VersionLimit: 1}, old, 0, false},
		{"limit, the second of one", GC{VersionLimit: 1}, young, 1, true},
		{"limit, the second of two", GC{VersionLimit: 2}, old, 1, false},
		{"limit, the third of two", GC{VersionLimit: 2}, old, 2, true},
		{"limit, far beyond", GC{VersionLimit: 2}, old, math.MaxInt64, true},
		{"limit counts time 0", GC{VersionLimit: 1}, 0, 1, true},
		{"limit counts the future", GC{VersionLimit: 1}, MaxTime, 1, true},
		{"the largest limit", GC{VersionLimit: math.MaxInt64}, old, math.MaxInt64 - 1, false},
		{"either, neither", GC{TTLSecs: 10, VersionLimit: 1}, young, 0, false},
		{"either, by age", GC{TTLSecs: 10, VersionLimit: 1}, old, 0, true},
		{"either, by number", GC{TTLSecs: 10, VersionLimit: 1}, young, 1, true},
		{"either, by both", GC{TTLSecs: 10, VersionLimit: 1}, old, 1, true},
		{"both, neither", GC{TTLSecs: 10, VersionLimit: 1, Intersection: true}, young, 0, false},
		{"both, by age alone", GC{TTLSecs: 10, VersionLimit: 1, Intersection: true}, old, 0, false},
		{"both, by number alone", GC{TTLSecs: 10, VersionLimit: 1, Intersection: true}, young, 1, false},
		{"both", GC{TTLSecs: 10, VersionLimit: 1, Intersection: true}, old, 1, true},
		{"both, time 0", GC{TTLSecs: 10, VersionLimit: 1, Intersection: true}, 0, 1, false},
		{"both, the future", GC{TTLSecs: 10, VersionLimit: 1, Intersection: true}, now + 1, 1, false},
	} {
		if got := tc.gc.Gone(tc.time, now, tc.newer); got != tc.want {
			t.Errorf("%s: Gone(%d, now, %d) with %+v = %t, want %t", tc.name, tc.time, tc.newer, tc.gc, got, tc.want)
		}
	}
}
