package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/vfs"
)

// TestSnapshotsAreCounted: the number of open snapshots is bounded, and the oldest is known,
// whatever the order of their closing.
func TestSnapshotsAreCounted(t *testing.T) {
	opt := testOptions(vfs.NewMem())
	manual := clock.NewManual(0)
	opt.Clock, opt.Snapshots = manual, 5
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	var open []*Snapshot
	for i := range 5 {
		manual.Advance(time.Second)
		s, err := db.NewSnapshot(id)
		if err != nil {
			t.Fatalf("snapshot %d: %v", i, err)
		}
		open = append(open, s)
	}
	if _, err := db.NewSnapshot(id); !errors.Is(err, ErrSnapshots) {
		t.Errorf("one more got %v, want ErrSnapshots", err)
	}
	if _, err := db.NewSnapshot(id + 1); err == nil {
		t.Error("a snapshot of no partition")
	}
	for _, next := range []struct {
		close  int
		oldest int64 // seconds, after the close
	}{{2, 1}, {0, 2}, {1, 4}, {4, 4}, {3, 0}} {
		open[next.close].Close()
		open[next.close].Close() // the second close does nothing
		if s := db.Snapshots(); s.Oldest != next.oldest*1_000_000 {
			t.Errorf("after %d is closed the oldest is from %d, want %d s", next.close, s.Oldest, next.oldest)
		}
	}
	if s := db.Snapshots(); s.Open != 0 {
		t.Errorf("%d are open", s.Open)
	}
	s, err := db.NewSnapshot(id)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// TestSnapshotOfWhatIsDroppedMeanwhile: a partition dropped between the snapshot's lookup and its
// reference does not exist. The failed snapshot does not count as open.
func TestSnapshotOfWhatIsDroppedMeanwhile(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	ids := mustCreate(t, db, "a", "b")
	state := db.partitions[ids[1]].state.Swap(nil) // as after a drop
	if _, err := db.NewSnapshot(ids...); !errors.Is(err, ErrNoPartition) {
		t.Errorf("got %v, want ErrNoPartition", err)
	}
	if s := db.Snapshots(); s.Open != 0 {
		t.Errorf("%d are open", s.Open)
	}
	if n := db.partitions[ids[0]].state.Load().holders(); n != 0 {
		t.Errorf("the state of the other partition has %d readers, want none", n)
	}
	db.partitions[ids[1]].state.Store(state)
}

// TestSnapshotsAnswerUnchanged: a thousand snapshots of different times return the same results
// after flushes and compactions drop versions that only they see. Their files are removed after the
// last close.
func TestSnapshotsAnswerUnchanged(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	type view struct {
		snap *Snapshot
		want []string
	}
	var views []view
	see := func(s *Snapshot) []string {
		lines, err := readAt(s, id)
		if err != nil {
			t.Fatal(err)
		}
		return lines
	}
	for i := range 1000 {
		mustPut(t, db, id, fmt.Sprint("row", i%10), "q", fmt.Sprint(i, strings.Repeat("v", 20)))
		if i%50 == 49 {
			if err := db.Flush(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		s, err := db.NewSnapshot(id)
		if err != nil {
			t.Fatal(err)
		}
		v := view{snap: s}
		if i%100 == 0 {
			v.want = see(s)
		}
		views = append(views, v)
	}
	if err := db.SetPolicies(id, NewPolicies(db.LastSeq(), map[string]Policy{"f": {GC: cell.GC{VersionLimit: 1}}})); err != nil {
		t.Fatal(err)
	}
	if err := db.Compact(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	for i, v := range views {
		if v.want != nil {
			if got := see(v.snap); !slices.Equal(got, v.want) {
				t.Errorf("snapshot %d answers otherwise: %d cells, want %d", i, len(got), len(v.want))
			}
		}
		v.snap.Close()
	}
	dir := db.partitions[id].dir
	for names, _ := fs.List(dir); len(names) != 1; names, _ = fs.List(dir) {
		runtime.Gosched() // until the obsolete files are removed
	}
}

// TestOldMemtablesGoWithTheirReader: a snapshot keeps the memtables that it sees, but not a hundred
// later ones.
func TestOldMemtablesGoWithTheirReader(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	mustPut(t, db, id, "row", "q", "first")
	snap, err := db.NewSnapshot(id)
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan int, 200)
	watch := func(i int) {
		db.mu.Lock()
		defer db.mu.Unlock()
		runtime.AddCleanup(db.partitions[id].active.last(), func(i int) { gone <- i }, i)
	}
	watch(0)
	for i := range 100 {
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		watch(i + 1)
		mustPut(t, db, id, "row", "q", fmt.Sprint(i))
	}
	await := func(n int) (list []int) {
		for len(list) < n {
			runtime.GC()
			select {
			case i := <-gone:
				list = append(list, i)
			default:
				runtime.Gosched()
			}
		}
		return list
	}
	if list := await(90); slices.Contains(list, 0) {
		t.Error("the memtable of the snapshot is gone")
	}
	if got, err := readAt(snap, id); err != nil || fmt.Sprint(got) != "[row q=first]" {
		t.Errorf("the snapshot sees %q, %v", got, err)
	}
	snap.Close()
	snap = nil
	for !slices.Contains(await(1), 0) {
	}
	if n := db.memTableBytes.Load(); n > 1<<18 {
		t.Errorf("memtables count %d bytes after the last flush", n)
	}
}

// TestScanOfAnotherPartition: a snapshot has the partitions that it was opened with and no others,
// existing or not.
func TestScanOfAnotherPartition(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	ids := mustCreate(t, db, "a", "b")
	snap, err := db.NewSnapshot(ids[0])
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	for _, id := range []PartitionID{ids[1], 99} {
		want := fmt.Sprintf("partition %d is not in the snapshot", id)
		if scan, err := snap.Scan(id, ScanOptions{}); scan != nil || err == nil || err.Error() != want {
			t.Errorf("got %v, %v, want %s", scan, err, want)
		}
	}
}

// TestSnapshotsOfManyReaders: snapshots opened and closed concurrently are counted correctly, and
// their number stays bounded.
func TestSnapshotsOfManyReaders(t *testing.T) {
	const readers, most = 4, 3
	opt := testOptions(vfs.NewMem())
	opt.Snapshots = most
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	var all sync.WaitGroup
	var open, refused atomic.Int64
	for range readers {
		all.Go(func() {
			for range 2000 {
				s, err := db.NewSnapshot(id)
				if errors.Is(err, ErrSnapshots) {
					refused.Add(1)
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if n := open.Add(1); n > most {
					t.Errorf("%d are open", n)
				}
				if st := db.Snapshots(); st.Open < 1 || st.Oldest == 0 {
					t.Errorf("one is open, but not in %+v", st)
				}
				open.Add(-1)
				s.Close()
			}
		})
	}
	all.Wait()
	if s := db.Snapshots(); s != (SnapshotStats{}) {
		t.Errorf("after all are closed: %+v", s)
	}
	for i := range db.snapshots.lists {
		if list := &db.snapshots.lists[i]; list.oldest != nil || list.newest != nil {
			t.Error("a list is not empty")
		}
	}
}

// TestSnapshotPlaces: the limit can be reached in one list or in several. A list that had many
// snapshots gives its places to others.
func TestSnapshotPlaces(t *testing.T) {
	const limit = 5
	var l snapshots
	var open []*Snapshot
	rnd := rand.New(rand.NewPCG(1, 0))
	for range 10_000 {
		if rnd.IntN(2) == 0 {
			s := &Snapshot{shard: rnd.Uint32N(1 + rnd.Uint32N(shards))} // mostly in few lists
			if got, want := l.add(s, limit), len(open) < limit; got != want {
				t.Fatalf("with %d open, add returns %t", len(open), got)
			} else if got {
				open = append(open, s)
			}
		} else if len(open) > 0 {
			i := rnd.IntN(len(open))
			l.remove(open[i])
			open = slices.Delete(open, i, i+1)
		}
		checkPlaces(t, &l, len(open), limit)
	}
}

// TestSnapshotPlacesAtOnce: the same with several goroutines. The limit holds, and no place is
// lost.
func TestSnapshotPlacesAtOnce(t *testing.T) {
	const goroutines, each = 8, 3
	for _, limit := range []int{goroutines * each, goroutines} {
		var l snapshots
		var all sync.WaitGroup
		var open atomic.Int64
		for g := range uint64(goroutines) {
			all.Go(func() {
				rnd := rand.New(rand.NewPCG(g, 0))
				for range 1000 {
					var mine []*Snapshot
					for range each {
						s := &Snapshot{shard: rnd.Uint32N(shards)}
						if !l.add(s, limit) {
							continue
						}
						if n := open.Add(1); n > int64(limit) {
							t.Errorf("%d are open", n)
						}
						mine = append(mine, s)
					}
					for _, s := range mine {
						open.Add(-1)
						l.remove(s)
					}
				}
			})
		}
		all.Wait()
		checkPlaces(t, &l, 0, limit)
	}
}

// checkPlaces checks that no place is lost and that there are at most limit, with open snapshots
// open.
func checkPlaces(t *testing.T, l *snapshots, open, limit int) {
	t.Helper()
	places := 0
	for i := range l.lists {
		places += l.lists[i].places
	}
	if stats := l.stats(); stats.Open != open || places > limit || int64(places) != l.places.Load() {
		t.Fatalf("%d open: %+v, %d places, %d of %d given", open, stats, places, l.places.Load(), limit)
	}
}

// TestSnapshotFindsPartitions: a snapshot finds a created partition at once, and no dropped one.
func TestSnapshotFindsPartitions(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	var ids []PartitionID
	for i := range 5 {
		ids = append(ids, mustCreate(t, db, fmt.Sprint("p", i))...)
		mustSnapshotOf(t, db, ids...).Close()
	}
	if err := db.DropPartitions(ids[2]); err != nil {
		t.Fatal(err)
	}
	if _, err := db.NewSnapshot(ids...); !errors.Is(err, ErrNoPartition) {
		t.Errorf("got %v, want ErrNoPartition", err)
	}
	mustSnapshotOf(t, db, ids[0], ids[1], ids[3], ids[4]).Close()
}
