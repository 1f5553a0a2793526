package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/memtable"
	"github.com/colonnade-db/colonnade/vfs"
)

// scripted is a clock that moves on by the given steps, and repeats the last one. It counts the
// calls of Now.
type scripted struct {
	clock.Clock
	steps []int64
	now   int64
	asked int
	each  func() // called at each Now, if not nil
}

func (c *scripted) Now() int64 {
	c.now += c.steps[min(c.asked, len(c.steps)-1)]
	c.asked++
	if c.each != nil {
		c.each()
	}
	return c.now
}

// TestGiveWay: the leader yields while others have work. It stops after a while, when enough
// writers wait, when only flushes work, and when the clock is set back.
func TestGiveWay(t *testing.T) {
	const n = 8
	for _, test := range []struct {
		name    string
		steps   []int64 // from each yield to the next, after the first
		waiting int     // batches of the next group
		joining int     // batches that join at each yield
		turns   int64   // yields of flushes at each yield
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
		db := &DB{opt: Options{Clock: c}, group: &group{batches: make([]pendingBatch, test.waiting)}}
		c.each = func() {
			if c.asked > 1 { // after the first yield
				db.group.batches = append(db.group.batches, make([]pendingBatch, test.joining)...)
				db.foreground.yields.Add(test.turns)
			}
		}
		db.mu.Lock()
		db.yieldToWritersLocked(n)
		db.mu.Unlock()
		if got := c.asked - 1; got != test.yields {
			t.Errorf("%s: others could run %d times, want %d", test.name, got, test.yields)
		}
	}
}

// twoGroups is a store with two groups of one large batch each. The first is written, the second is
// not, and neither is in the memtables. So the leader goes on to the second, for which the disk has
// the given faults.
type twoGroups struct {
	db      *DB
	batches [2]*Batch
	groups  [2]*group
}

func newTwoGroups(t *testing.T, faults func(vfs.Op) vfs.Fault) *twoGroups {
	var syncs atomic.Int32 // of the current segment, once segment names it
	var segment atomic.Pointer[string]
	held := make(chan struct{})
	db := mustOpenIdle(t, vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault {
		if name := segment.Load(); name == nil || op.Name != *name {
			return vfs.Fault{}
		}
		if op.Kind == vfs.OpSync && syncs.Add(1) == 1 {
			<-held
			return vfs.Fault{}
		}
		if syncs.Load() == 0 {
			return vfs.Fault{}
		}
		return faults(op)
	}))
	two := &twoGroups{db: db}
	id := mustCreate(t, db, "a")[0]
	db.mu.Lock()
	name := db.segmentPath(db.log.current.number)
	db.mu.Unlock()
	segment.Store(&name)
	for i := range two.batches {
		b := new(Batch)
		r, c := set(fmt.Sprintf("row%d", i), "q", strings.Repeat("v", smallBatch))
		b.Add(id, r, c)
		g, leading, err := db.enter(context.Background(), b)
		if err != nil || leading != (i == 0) {
			t.Fatalf("batch %d: leading is %v, error %v", i, leading, err)
		}
		two.batches[i], two.groups[i] = b, g
		if leading {
			db.startLeader()
			eventually(db, func() bool { return syncs.Load() == 1 })
		}
	}
	close(held)
	return two
}

// awaitWrite returns once the second group is written or has failed.
func (two *twoGroups) awaitWrite() {
	eventually(two.db, func() bool { return two.groups[1].missing.Load() == 1 })
}

// insert inserts a batch into the memtables, as Commit does.
func (two *twoGroups) insert(i int) {
	p := two.batches[i].pending(nil)
	two.db.insert(two.groups[i], &p)
}

// settled reports whether the outcome of a group is known.
func (two *twoGroups) settled(i int) bool {
	select {
	case <-two.groups[i].done:
		return true
	default:
		return false
	}
}

// TestLeaderGoesOn: the leader writes the next group to the log while the batches of a written
// group are not yet in the memtables. The next group becomes visible, and its writers wake, after
// the first.
func TestLeaderGoesOn(t *testing.T) {
	two := newTwoGroups(t, func(vfs.Op) vfs.Fault { return vfs.Fault{} })
	two.awaitWrite()
	defer mustClose(t, two.db)
	before := two.db.visible.Load()
	two.insert(1)
	if two.settled(0) || two.settled(1) || two.db.visible.Load() != before {
		t.Error("a group is settled before all of it, and of the one before, is in the memtables")
	}
	two.insert(0)
	eventually(two.db, func() bool { return two.settled(0) && two.settled(1) })
	if err := errors.Join(two.groups[0].err, two.groups[1].err); err != nil {
		t.Error(err)
	}
	if got := two.db.visible.Load(); got != two.batches[1].seq {
		t.Errorf("%d batches are visible, want %d", got, two.batches[1].seq)
	}
}

// TestLeaderFailsAhead: if the log fails with a group before the previous group is settled, both
// have an unknown outcome, and readers see neither.
func TestLeaderFailsAhead(t *testing.T) {
	two := newTwoGroups(t, func(op vfs.Op) (f vfs.Fault) {
		if op.Kind == vfs.OpSync {
			f.Err = errors.New("broken")
		}
		return f
	})
	two.awaitWrite()
	before := two.db.visible.Load()
	two.insert(0)
	two.insert(1)
	for i := range two.groups {
		eventually(two.db, func() bool { return two.settled(i) })
		if !errors.As(two.groups[i].err, new(*UnknownError)) {
			t.Errorf("group %d: %v, want an unknown outcome", i, two.groups[i].err)
		}
	}
	if two.db.visible.Load() != before {
		t.Error("batches are visible that may not be on the disk")
	}
	two.db.mu.Lock()
	defer two.db.mu.Unlock()
	if len(two.db.inFlight) > 0 {
		t.Errorf("%d groups are still under way", len(two.db.inFlight))
	}
}

// TestLeaderWaitsForRoomAhead: the disk is full for the next group. Settling the group before it
// does not end the shortage.
func TestLeaderWaitsForRoomAhead(t *testing.T) {
	var full atomic.Bool
	full.Store(true)
	two := newTwoGroups(t, func(op vfs.Op) (f vfs.Fault) {
		if op.Kind == vfs.OpWrite && full.Load() {
			f.Err = syscall.ENOSPC
		}
		return f
	})
	defer mustClose(t, two.db)
	eventually(two.db, func() bool { return two.db.diskReserve.writeError != nil })
	short := func() bool {
		two.db.mu.Lock()
		defer two.db.mu.Unlock()
		return two.db.diskReserve.writeError != nil
	}
	two.insert(0)
	if !two.settled(0) || two.groups[0].err != nil {
		t.Errorf("the first group: settled is %v, %v", two.settled(0), two.groups[0].err)
	}
	if !short() {
		t.Error("batches are let in while the disk is full")
	}
	full.Store(false)
	two.insert(1)
	clock := two.db.opt.Clock.(*clock.Manual)
	for ; !two.settled(1); runtime.Gosched() {
		clock.Advance(time.Second) // the log tries again
	}
	if two.groups[1].err != nil || short() {
		t.Errorf("there is room: %v, short is %v", two.groups[1].err, short())
	}
}

// TestInsertersShare: several goroutines insert the small batches of a group, each once. They leave
// its large batches to their commits.
func TestInsertersShare(t *testing.T) {
	db := mustOpenIdle(t, vfs.NewMem())
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	g := db.newGroup()
	large := 0
	for i := range 100*searchWidth - 3 {
		b, size := new(Batch), 1
		if i%7 == 3 {
			size, large = smallBatch, large+1
		}
		r, c := set(fmt.Sprintf("row%03d", i), "q", strings.Repeat("v", size))
		b.Add(id, r, c)
		b.parts[0].mem = db.partitions[id].active
		g.missing.Add(1)
		g.batches = append(g.batches, pendingBatch{seq: db.lastSeq + uint64(i) + 1, payload: b.buf, parts: b.parts})
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			var searches [searchWidth]memtable.Search
			db.insertSmall(g, searches[:])
		})
	}
	all.Wait()
	if got := int(g.missing.Load()); got != large+1 {
		t.Errorf("%d are missing, want the write and %d large batches", got, large)
	}
	if got, want := int(db.partitions[id].active.entries()), len(g.batches)-large; got != want {
		t.Errorf("%d entries, want %d", got, want)
	}
}
