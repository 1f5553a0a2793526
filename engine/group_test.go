package engine

import (
	"testing"

	"colonnade/clock"
)

// scripted is a clock that goes on by the steps that it is given, the last of them over and
// over. It counts how often it is asked.
type scripted struct {
	clock.Clock
	steps []int64
	now   int64
	asked int
	each  func() // done each time, if not nil
}

func (c *scripted) Now() int64 {
	c.now += c.steps[min(c.asked, len(c.steps)-1)]
	c.asked++
	if c.each != nil {
		c.each()
	}
	return c.now
}

// TestGiveWay: the leader lets others run while they have work, but neither for long, nor
// when enough writers wait, nor for flushes alone, nor for ever when the clock is set back.
func TestGiveWay(t *testing.T) {
	const n = 8
	for _, test := range []struct {
		name    string
		steps   []int64 // from each yield to the next, after the first time
		waiting int     // batches of the next group
		joining int     // that come each time
		turns   int64   // that flushes have each time
		yields  int
	}{
		{"nobody has work", []int64{0, 1}, 0, 0, 0, idleYields},
		{"the clock stands still", []int64{0}, 0, 0, 0, idleYields},
		{"somebody has work at first", []int64{0, 1, 1, 20, 1}, 0, 0, 0, 3 + idleYields},
		{"all have work", []int64{0, 50}, 0, 0, 0, mostWait/50 + 1},
		{"somebody has work for long", []int64{0, mostWait + 1}, 0, 0, 0, 1},
		{"three times as many wait", []int64{0, 50}, 3 * n, 0, 0, 0},
		{"not so many wait", []int64{0, mostWait + 1}, 3*n - 1, 0, 0, 1},
		{"so many come", []int64{0, 50}, 0, 2, 0, 3 * n / 2},
		{"a flush works, and nobody comes", []int64{0, 50}, n, 0, 1, 1},
		{"a flush works, and so many come", []int64{0, 50}, 0, 2, 1, 3 * n / 2},
		{"the clock is set back, and all have work", []int64{0, -1e9, 50}, 0, 0, 0, mostYields},
	} {
		c := &scripted{steps: test.steps}
		db := &DB{opt: Options{Clock: c}, group: &group{batches: make([]pending, test.waiting)}}
		c.each = func() {
			if c.asked > 1 { // not before the first yield
				db.group.batches = append(db.group.batches, make([]pending, test.joining)...)
				db.precedence.turns.Add(test.turns)
			}
		}
		db.mu.Lock()
		db.giveWayLocked(n)
		db.mu.Unlock()
		if got := c.asked - 1; got != test.yields {
			t.Errorf("%s: others could run %d times, want %d", test.name, got, test.yields)
		}
	}
}
