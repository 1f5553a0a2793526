package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
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

// crashOptions have small segments, memtables and files: a short workload rotates, flushes and
// compacts all the time.
func crashOptions(fs vfs.FS) Options {
	return Options{
		FS: fs, Clock: clock.System, Rand: zeros{},
		MemtableBytes: 96 << 10, CacheBytes: 64 << 10, LogBytes: 64 << 10, SegmentBytes: 8 << 10,
		FileBytes: 8 << 10, BlockBytes: 512, StallTimeout: 20 * time.Second, ReserveBytes: -1,
	}
}

// image is a possible state after a crash, with the promises made before it.
type image struct {
	fs        *vfs.Mem
	model     string
	op        string
	acked     int64 // batches acknowledged before the crash
	attempted int64 // batches begun before the crash
}

// workload writes numbered batches, each over three partitions, and records how many were
// acknowledged.
type workload struct {
	acked, attempted atomic.Int64
	ids              []PartitionID
}

// Batch n writes row n mod crashRows of every partition, with n as the value, and row old<n>. Every
// crashRanges batches, a range tombstone deletes all such rows that were there before.
const crashRows, crashRanges = 50, 5

func (w *workload) batch(n int64) *Batch {
	b := new(Batch)
	for i, id := range w.ids {
		r, c := set(fmt.Sprintf("row%02d", n%crashRows), "n", fmt.Sprintf("%d %s", n, strings.Repeat("x", int(n)%300)))
		c.Time = n + 1
		b.Add(id, r, c)
		b.Add(id, fmt.Appendf(nil, "old%06d", n), c)
		if n%crashRanges == 0 {
			b.DeleteRange(id, []byte("old"), []byte("ole"))
		}
		if i == int(n%3) { // and deletes another row
			b.Add(id, []byte(fmt.Sprintf("gone%02d", n%7)), &cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime})
		}
	}
	return b
}

func (w *workload) run(db *DB, from, to int64) error {
	for n := from; n < to; n++ {
		w.attempted.Store(n + 1)
		if _, err := db.Commit(context.Background(), w.batch(n)); err != nil {
			return err
		}
		w.acked.Store(n + 1)
	}
	return nil
}

// holds checks that a store has exactly the first n batches, in all partitions, for an n from acked
// to attempted. It returns n.
func (w *workload) holds(t testing.TB, db *DB, acked, attempted int64) (int64, error) {
	have := int64(-1)
	for _, id := range w.ids {
		var highest int64
		rows := map[string]bool{}
		var old []int64
		for _, line := range contents(t, db, id) {
			var row string
			var n int64
			if _, err := fmt.Sscanf(line, "old%d", &n); err == nil {
				old = append(old, n)
				continue
			}
			if _, err := fmt.Sscanf(line, "%s n=%d", &row, &n); err != nil {
				return 0, fmt.Errorf("line %q: %v", line, err)
			}
			if want := fmt.Sprintf("row%02d", n%crashRows); row != want {
				return 0, fmt.Errorf("batch %d is in %s", n, row)
			}
			rows[fmt.Sprint(n)] = true
			highest = max(highest, n+1)
		}
		if int64(len(rows)) != highest {
			return 0, fmt.Errorf("partition %d has %d batches, the last is number %d", id, len(rows), highest)
		}
		if want := w.oldRows(highest); !slices.Equal(old, want) {
			return 0, fmt.Errorf("partition %d has the rows old %d after batch %d, want %d", id, old, highest-1, want)
		}
		if have >= 0 && have != highest {
			return 0, fmt.Errorf("partition %d ends with batch %d, another with %d", id, highest, have)
		}
		have = highest
	}
	if have < acked || have > attempted {
		return 0, fmt.Errorf("%d batches are there, %d were acknowledged and %d begun", have, acked, attempted)
	}
	return have, nil
}

// oldRows returns the batches whose rows old<n> are left after n batches.
func (w *workload) oldRows(n int64) (left []int64) {
	for i := (n - 1) / crashRanges * crashRanges; i < n; i++ {
		left = append(left, i)
	}
	return left
}

// capture records images at every operation of the file system.
func capture(fs *vfs.Mem, w *workload, seed uint64, most int) func() []image {
	var mu sync.Mutex
	var images []image
	seen := map[uint64]bool{}
	rnd := rand.New(rand.NewPCG(seed, 0))
	fs.SetHook(func(op vfs.Op, done bool) {
		mu.Lock()
		defer mu.Unlock()
		acked, attempted := w.acked.Load(), w.attempted.Load()
		models := []vfs.Model{vfs.DropAll, vfs.KeepAll, vfs.Subset, vfs.SizeNoData, vfs.Garbage}
		if all := fs.Systematic(); len(all) > 0 {
			models = append(models, all[rnd.IntN(len(all))], all[rnd.IntN(len(all))])
		}
		for _, m := range models {
			if len(images) >= most && rnd.IntN(4) > 0 {
				continue
			}
			crashed := fs.Crash(m, rnd.Uint64())
			// The same content with more batches acknowledged is another case.
			print := crashed.Fingerprint() ^ uint64(acked)*0x9e3779b97f4a7c15
			if seen[print] {
				continue
			}
			seen[print] = true
			images = append(images, image{crashed, fmt.Sprint(m), fmt.Sprintf("%v done=%v", op, done), acked, attempted})
		}
	})
	return func() []image {
		fs.SetHook(nil)
		mu.Lock()
		defer mu.Unlock()
		return images
	}
}

// TestCrashAtEveryOperation takes some images of possible crashes before and after every operation
// of a workload. It opens each and checks that it has everything acknowledged and no part of a
// batch. It then writes more, crashes again and checks again. It is a quick test. The part "crash"
// of the reliability harness does the same at length.
func TestCrashAtEveryOperation(t *testing.T) {
	const seed, batches = 1, 60
	fs := vfs.NewMem()
	db, err := Open("store", crashOptions(fs))
	if err != nil {
		t.Fatal(err)
	}
	w := &workload{ids: mustCreate(t, db, "a", "b", "c")}
	stop := capture(fs, w, seed, 300)
	if err := w.run(db, 0, batches); err != nil {
		t.Fatal(err)
	}
	for _, id := range w.ids {
		if err := db.Compact(context.Background(), id); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, db)
	images := stop()
	if len(images) < 200 {
		t.Fatalf("only %d images", len(images))
	}
	for i := int64(0); i < int64(len(images)); i += stride(7) {
		im := images[i]
		if err := w.survive(t, im, uint64(i)); err != nil {
			t.Errorf("image %d of %d (seed %d): %s after %s: %v", i, len(images), seed, im.model, im.op, err)
		}
	}
	t.Logf("%d images", len(images))
}

// survive opens an image and crashes it once more. In every other image the log is long, and the
// recovery flushes all memtables.
func (w *workload) survive(t testing.TB, im image, seed uint64) error {
	open := func(fs vfs.FS) (*DB, error) {
		opt := crashOptions(fs)
		if seed%2 == 1 {
			opt.MemtableBytes = 12 << 10
		}
		return Open("store", opt)
	}
	db, err := open(im.fs)
	if err != nil {
		return err
	}
	have, err := w.holds(t, db, im.acked, im.attempted)
	if err != nil {
		db.Close()
		return fmt.Errorf("after the first crash: %w", err)
	}
	again := &workload{ids: w.ids}
	if err := again.run(db, have, have+3); err != nil {
		db.Close()
		return err
	}
	second := im.fs.Crash([]vfs.Model{vfs.DropAll, vfs.Garbage, vfs.Subset}[seed%3], seed)
	if err := db.Close(); err != nil {
		return err
	}
	db, err = open(second)
	if err != nil {
		return fmt.Errorf("after the second crash: %w", err)
	}
	defer db.Close()
	if _, err := w.holds(t, db, have+3, have+3); err != nil {
		return fmt.Errorf("after the second crash: %w", err)
	}
	return nil
}
