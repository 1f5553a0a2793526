package lsmstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// increment adds to the number of a row and returns the sum.
func increment(ctx context.Context, s *lsmstore.Store, row string, by int64, key string) (int64, error) {
	u := &widecol.ReadModifyWrite{Row: []byte(row), Rules: []widecol.Rule{{Family: []byte("f"), Qualifier: []byte("q"), Increment: by}}}
	written, _, err := s.ReadModifyWrite(ctx, "t", u, key)
	if err != nil {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint64(written[0].Value)), nil
}

// TestIncrementsAtOnce: none of many increments of one row is lost, none is answered before others that it has
// counted, and those of a key count once.
func TestIncrementsAtOnce(t *testing.T) {
	s := openAt(t, vfs.NewMem())
	defer s.Close()
	if err := makeTable(s); err != nil {
		t.Fatal(err)
	}
	const clients, each = 50, 20
	var mu sync.Mutex
	var sums []int64
	var working sync.WaitGroup
	for c := range clients {
		working.Go(func() {
			for i := range each {
				key := ""
				if c%5 == 0 {
					key = string([]byte{'k', byte('a' + c/5), byte('a' + i)})
				}
				n, err := increment(context.Background(), s, "row", 1, key)
				if key != "" && err == nil {
					var again int64
					if again, err = increment(context.Background(), s, "row", 1, key); again != n {
						t.Errorf("the same key: got %d, then %d", n, again)
					}
				}
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				sums = append(sums, n)
				mu.Unlock()
				if _, err := send(context.Background(), s, "other", ""); err != nil && i%4 == 0 {
					t.Error(err)
				}
			}
		})
	}
	working.Wait()
	slices.Sort(sums)
	for i, n := range sums {
		if n != int64(i+1) {
			t.Fatalf("sum %d of %d is %d: they have to be 1, 2, 3 and so on", i, len(sums), n)
		}
	}
}

// inFlight is a store with a write of the row "row" that waits for the disk until release is called.
func inFlight(t *testing.T) (s *lsmstore.Store, release func()) {
	fs, armed, held := holding()
	s = openAt(t, fs)
	if err := makeTable(s); err != nil {
		t.Fatal(err)
	}
	var writing sync.WaitGroup
	armed.Store(true)
	for i, row := range []string{"first", "row"} { // the second waits for the sync of the first
		before := s.Engine().LastSeq()
		writing.Go(func() {
			if _, err := send(context.Background(), s, row, ""); err != nil {
				t.Errorf("write %d: %v", i, err)
			}
		})
		for s.Engine().LastSeq() == before {
			runtime.Gosched()
		}
	}
	return s, func() {
		armed.Store(false)
		close(held)
		writing.Wait()
	}
}

// TestRefusalBeforeItIsDurable: an increment is not told of a value that is not durable yet, not even that it is
// no number.
func TestRefusalBeforeItIsDurable(t *testing.T) {
	s, release := inFlight(t)
	defer s.Close()
	soon, end := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer end()
	if _, err := increment(soon, s, "row", 1, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while the string is not durable: got %v, want that the time is over", err)
	}
	release()
	if _, err := increment(t.Context(), s, "row", 1, ""); widecol.KindOf(err) != widecol.Conflict {
		t.Errorf("got %v, want a conflict", err)
	}
}

// TestCheckBeforeItIsDurable: nor is a check-and-mutate that writes nothing.
func TestCheckBeforeItIsDurable(t *testing.T) {
	s, release := inFlight(t)
	defer s.Close()
	c := &widecol.CheckAndMutate{Row: []byte("row"), If: widecol.NewQuery(), Not: true, Then: one("row", "g")}
	soon, end := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer end()
	if _, _, err := s.CheckAndMutate(soon, "t", c, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while the row is not durable: got %v, want that the time is over", err)
	}
	release()
	if matched, time, err := s.CheckAndMutate(t.Context(), "t", c, ""); matched || time != 0 || err != nil {
		t.Errorf("got %v, %d, %v, want that the row is there", matched, time, err)
	}
}

// TestUpdateBehindAHeldSync: an update of a row whose last write waits for the disk does not wait for it before it
// has its own place in the log.
func TestUpdateBehindAHeldSync(t *testing.T) {
	s, release := inFlight(t)
	defer s.Close()
	c := &widecol.CheckAndMutate{Row: []byte("row"), If: widecol.NewQuery(), Then: one("row", "g"), Else: one("row", "f")}
	before := s.Engine().LastSeq()
	done := make(chan error, 1)
	go func() {
		matched, _, err := s.CheckAndMutate(context.Background(), "t", c, "")
		if !matched {
			t.Error("the write before was not seen")
		}
		done <- err
	}()
	for s.Engine().LastSeq() == before {
		runtime.Gosched()
	}
	release()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// backwards is a clock that steps back when it has been asked some times.
type backwards struct {
	*clock.Manual
	left atomic.Int64
}

func (c *backwards) Now() int64 {
	if c.left.Add(-1) == 0 {
		c.Manual.Advance(-time.Minute)
	}
	return c.Manual.Now()
}

// TestIncrementWhileTheClockStepsBack: whenever it does, the sum is newer than the number before, which has a
// time of its writer's choice.
func TestIncrementWhileTheClockStepsBack(t *testing.T) {
	for asked := range int64(12) {
		const begin = 1_000_000_000
		c := &backwards{Manual: clock.NewManual(begin)}
		s, err := lsmstore.Open(lsmstore.Options{Dir: "data", Engine: engine.Options{FS: vfs.NewMem(), Clock: c, SegmentBytes: 64 << 10, ReserveBytes: -1}})
		if err != nil {
			t.Fatal(err)
		}
		if err := makeTable(s); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Hour)
		number := one("row", "f")
		number[0].Type, number[0].Value = cell.I64, binary.LittleEndian.AppendUint64(nil, 41)
		number[0].Time = c.Manual.Now() + 10*time.Minute.Microseconds()
		if _, err := s.Write(t.Context(), "t", number, ""); err != nil {
			t.Fatal(err)
		}
		c.Advance(10*time.Minute + time.Second) // the number is a second old
		c.left.Store(asked + 1)
		for _, want := range []int64{42, 43} {
			if n, err := increment(t.Context(), s, "row", 1, ""); n != want || err != nil {
				t.Errorf("the clock steps back when it was asked %d times: got %d, %v, want %d", asked, n, err, want)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestIncrementOfManyVersions: it reads the newest of them, and not the other blocks that they fill.
func TestIncrementOfManyVersions(t *testing.T) {
	var reads atomic.Int64
	fs := vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault {
		if op.Kind == vfs.OpRead && strings.HasSuffix(op.Name, ".sst") {
			reads.Add(1)
		}
		return vfs.Fault{}
	})
	s := openAt(t, fs)
	if err := makeTable(s); err != nil {
		t.Fatal(err)
	}
	const versions = 100_000
	list := make([]widecol.Mutation, versions)
	for i := range list {
		list[i] = one("row", "f")[0]
		list[i].Type, list[i].Value, list[i].Time = cell.I64, binary.LittleEndian.AppendUint64(nil, uint64(i)), int64(i)
	}
	if _, err := s.Write(t.Context(), "t", list, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, fs)
	defer s.Close()
	counted := func(work func()) int64 {
		before := reads.Load()
		work()
		return reads.Load() - before
	}
	one := counted(func() {
		if n, err := increment(t.Context(), s, "row", 1, ""); n != versions || err != nil {
			t.Errorf("got %d, %v, want %d", n, err, versions)
		}
	})
	all := counted(func() {
		if n, err := scan(s, "t"); n != versions+1 || err != nil {
			t.Errorf("got %d cells, %v", n, err)
		}
	})
	if one > 8 || all < 2*one {
		t.Errorf("the increment has read %d times from files, a scan of all versions %d times", one, all)
	}
}
