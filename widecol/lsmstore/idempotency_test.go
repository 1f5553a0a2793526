package lsmstore_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
	"github.com/colonnade-db/colonnade/widecol/lsmstore"
)

// send writes one version of a row, at the time of the commit, under a key.
func send(ctx context.Context, s *lsmstore.Store, row, key string) (int64, error) {
	return s.Write(ctx, "t", one(row, "f"), key)
}

// makeTable creates a table with a family in the default partition and one in a group.
func makeTable(s *lsmstore.Store) error {
	spec := widecol.TableSpec{Families: []widecol.Family{{Name: "f"}, {Name: "g"}}, Groups: [][]string{{"g"}}}
	return s.CreateTable(context.Background(), "t", spec)
}

// errorOf returns the error of a call with two results.
func errorOf[T any](_ T, err error) error { return err }

// keyed are requests with a key each, in order. If any is applied twice, it shows: a write leaves a
// second version, and a deletion deletes later writes.
var keyed = []func(s *lsmstore.Store) error{
	func(s *lsmstore.Store) error { return errorOf(send(context.Background(), s, "a", "write-a")) },
	func(s *lsmstore.Store) error {
		both := append(one("b", "f"), one("b", "g")...)
		return errorOf(s.Write(context.Background(), "t", both, "write-b"))
	},
	func(s *lsmstore.Store) error {
		return errorOf(s.Delete(context.Background(), "t", widecol.RowDeletion([]byte("a"), widecol.Filter{}), "delete-a"))
	},
	func(s *lsmstore.Store) error {
		return errorOf(s.Delete(context.Background(), "t", widecol.RowDeletion([]byte("c"), widecol.Filter{}), "delete-none"))
	},
	func(s *lsmstore.Store) error { return errorOf(send(context.Background(), s, "a", "write-a-anew")) },
	func(s *lsmstore.Store) error { return errorOf(send(context.Background(), s, "c", "write-c")) },
}

// keyedCells is the number of cells that keyed leaves: a, two cells of b, c.
const keyedCells = 4

// TestKeyAndWriteAreOne crashes a store at every operation that changes the file system, in every
// way, while it serves requests with keys. Then it sends all requests again, in order. Each must be
// applied exactly once, whatever its outcome before the crash.
func TestKeyAndWriteAreOne(t *testing.T) {
	effects := []vfs.Effect{vfs.None, vfs.Half, vfs.Full}
	models := []vfs.Model{vfs.DropAll, vfs.KeepAll, vfs.Subset, vfs.Garbage}
	points, images := 0, 0
	for at, over := int64(0), false; !over; at++ {
		for _, effect := range effects {
			mem := vfs.NewMem()
			failure := &vfs.Failure{
				At: at, Sticky: true, Fault: vfs.Fault{Err: syscall.EIO, Effect: effect},
				Match: func(op vfs.Op) bool { return op.Kind.Changes() },
			}
			var armed atomic.Bool
			s := openAt(t, vfs.Inject(mem, func(op vfs.Op) vfs.Fault {
				if armed.Load() {
					return failure.Rule(op)
				}
				return vfs.Fault{}
			}))
			if err := makeTable(s); err != nil {
				t.Fatal(err)
			}
			armed.Store(true)
			acknowledged := 0
			for _, request := range keyed {
				if request(s) != nil {
					break
				}
				acknowledged++
			}
			over = failure.Hits() == 0
			points++
			for i, model := range models {
				images++
				again(t, mem.Crash(model, uint64(i)), fmt.Sprintf("operation %d, %v, %v, %d acknowledged", at, effect, model, acknowledged), acknowledged)
			}
			s.Close() // fails: every operation does
		}
	}
	if points < 30 {
		t.Errorf("crashed at %d points only", points)
	}
	t.Logf("%d crash points, %d images", points, images)
}

// again opens an image and sends all requests again, twice. Before the crash, the first
// acknowledged requests were acknowledged and the next one was under way.
func again(t *testing.T, image *vfs.Mem, where string, acknowledged int) {
	t.Helper()
	s := openAt(t, image)
	defer s.Close()
	for range 2 {
		for i, request := range keyed {
			if err := request(s); err != nil {
				t.Errorf("%s: request %d, sent again: %v", where, i, err)
			}
		}
	}
	if n, err := scan(s, "t"); n != keyedCells || err != nil {
		t.Errorf("%s: got %d cells, %v, want %d", where, n, err, keyedCells)
	}
}

// TestKeyOfADeletionOfManyRows crashes a store at every operation that changes the file system while it deletes
// from many rows under a key, which takes several batches. The rows that are gone after the crash are written
// anew, and the deletion is sent again. It goes on where it was: it deletes from no row twice, and counts every
// row once.
func TestKeyOfADeletionOfManyRows(t *testing.T) {
	effects := []vfs.Effect{vfs.None, vfs.Half, vfs.Full}
	models := []vfs.Model{vfs.DropAll, vfs.KeepAll, vfs.Subset, vfs.Garbage}
	for name, m := range map[string]manyRows{
		"batches of many rows":    {600, "q", effects, models},
		"batches of many columns": {160, "q" + strings.Repeat("-", 16000), effects[2:], models[1:2]}, // 65 rows each
	} {
		t.Run(name, func(t *testing.T) {
			parts, done := 0, 0
			for at, over := int64(0), false; !over; at += stride(9) {
				for _, effect := range m.effects {
					failure := &vfs.Failure{
						At: at, Sticky: true, Fault: vfs.Fault{Err: syscall.EIO, Effect: effect},
						Match: func(op vfs.Op) bool { return op.Kind.Changes() },
					}
					mem := m.deleteOver(t, failure)
					over = failure.Hits() == 0
					for i, model := range m.models {
						switch gone := m.deleteRest(t, mem.Crash(model, uint64(i))); {
						case gone == m.rows:
							done++
						case gone > 0:
							parts++
						}
						if t.Failed() {
							t.Fatalf("operation %d, %v, %v", at, effect, model)
						}
					}
				}
			}
			if parts < 2 || done < 2 {
				t.Errorf("%d images have a part of the deletion, %d all of it", parts, done)
			}
		})
	}
}

// stride is the distance of the operations at which a test makes something happen: one, or n with -short.
func stride(n int64) int64 {
	if testing.Short() {
		return n
	}
	return 1
}

// manyRows is a table of so many rows, each with one version in a column of this qualifier.
type manyRows struct {
	rows      int
	qualifier string
	effects   []vfs.Effect
	models    []vfs.Model
}

// write writes the first n rows.
func (m *manyRows) write(t *testing.T, s *lsmstore.Store, n int) {
	t.Helper()
	var all []widecol.Mutation
	for i := range n {
		row := one(fmt.Sprintf("row%05d", i), "f")
		row[0].Qualifier = []byte(m.qualifier)
		all = append(all, row...)
	}
	if n > 0 {
		if _, err := s.Write(t.Context(), "t", all, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// delete deletes all versions under a key.
func (m *manyRows) delete(s *lsmstore.Store) (widecol.Deleted, error) {
	d := widecol.NewDeletion()
	d.Filter, d.Count = widecol.PrefixFilter("f:q"), true
	return s.Delete(context.Background(), "t", &d, "k")
}

// deleteOver writes the rows and deletes them while the file system fails.
func (m *manyRows) deleteOver(t *testing.T, failure *vfs.Failure) *vfs.Mem {
	return failOver(t, failure, func(s *lsmstore.Store) { m.write(t, s, m.rows) }, func(s *lsmstore.Store) { m.delete(s) })
}

// failOver writes to a store, and then deletes while its file system fails. It returns the image that this leaves.
func failOver(t *testing.T, failure *vfs.Failure, write, del func(*lsmstore.Store)) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	var armed atomic.Bool
	s := openAt(t, vfs.Inject(mem, func(op vfs.Op) vfs.Fault {
		if armed.Load() {
			return failure.Rule(op)
		}
		return vfs.Fault{}
	}))
	if err := makeTable(s); err != nil {
		t.Fatal(err)
	}
	write(s)
	armed.Store(true)
	del(s)
	image := mem.Clone()
	s.Close() // fails: every operation does
	return image
}

// deleteRest opens an image, writes the rows that are gone anew, and sends the deletion again. It returns how
// many were gone.
func (m *manyRows) deleteRest(t *testing.T, image *vfs.Mem) (gone int) {
	t.Helper()
	s := openAt(t, image)
	defer s.Close()
	left, err := scan(s, "t")
	if err != nil {
		t.Fatal(err)
	}
	gone = m.rows - left
	m.write(t, s, gone) // the first ones
	for range 2 {
		n, err := m.delete(s)
		if want := int64(m.rows); err != nil || n.Rows != want || n.Cells != want {
			t.Errorf("%d rows are gone: sent again, it returns %+v, %v, want %d", gone, n, err, want)
		}
		if n, err := scan(s, "t"); err != nil || n != gone {
			t.Errorf("%d rows are gone and written anew: %d are left, %v", gone, n, err)
		}
	}
	return gone
}

// TestKeyOfALateWrite: a write that was not durable in time may still be applied. Until that is
// decided, no other request can have its key. Then the same request, sent again, returns the
// outcome.
func TestKeyOfALateWrite(t *testing.T) {
	fs, armed, release := holding()
	s := openAt(t, fs)
	defer s.Close()
	if err := makeTable(s); err != nil {
		t.Fatal(err)
	}
	if _, err := send(t.Context(), s, "other", "makes-the-partition"); err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	before := s.Engine().LastSeq()
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan error, 1)
	go func() { written <- errorOf(send(ctx, s, "row", "k")) }()
	for s.Engine().LastSeq() == before {
		runtime.Gosched()
	}
	if _, err := send(t.Context(), s, "row", "k"); widecol.KindOf(err) != widecol.KeyInUse {
		t.Errorf("beside it: got %v, want that the key is in use", err)
	}
	cancel()
	if err := <-written; widecol.KindOf(err) != widecol.Unknown {
		t.Fatalf("the write: got %v, want outcome unknown", err)
	}
	if _, err := send(t.Context(), s, "row", "k"); widecol.KindOf(err) != widecol.KeyInUse {
		t.Errorf("after it: got %v, want that the key is in use", err)
	}
	armed.Store(false)
	close(release)
	for {
		_, err := send(t.Context(), s, "row", "k")
		if err == nil {
			break
		}
		if widecol.KindOf(err) != widecol.KeyInUse {
			t.Fatalf("sent again: %v", err)
		}
		runtime.Gosched()
	}
	if n, err := scan(s, "t"); n != 2 || err != nil {
		t.Errorf("got %d cells, %v, want 2", n, err)
	}
}

// TestStoreWithoutKeys: a store has no partition of keys before the first key, like a store written
// before there were keys. It keeps the partition once it has one.
func TestStoreWithoutKeys(t *testing.T) {
	fs := vfs.NewMem()
	names := func(s *lsmstore.Store) (names []string) {
		for _, p := range s.Engine().Partitions() {
			names = append(names, p.Name)
		}
		return names
	}
	s := openAt(t, fs)
	if err := makeTable(s); err != nil {
		t.Fatal(err)
	}
	write(t, s, "t")
	if list := names(s); len(list) != 3 {
		t.Errorf("before the first key there are the partitions %v", list)
	}
	var first int64
	for range 3 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openAt(t, fs)
		time, err := send(t.Context(), s, "row", "k")
		if err != nil || first != 0 && time != first {
			t.Errorf("got time %d, %v, want %d as the first time", time, err, first)
		}
		first = time
		if list := names(s); len(list) != 4 || !slices.Contains(list, "_keys") {
			t.Errorf("with keys there are the partitions %v", list)
		}
	}
	defer s.Close()
	if tables, err := s.Tables(t.Context()); err != nil || len(tables) != 1 || len(tables[0].Partitions) != 3 {
		t.Errorf("tables are %+v, %v", tables, err)
	}
	damaged := 0
	result, err := engine.Check(fs.Clone(), "data", func(*engine.CorruptError) { damaged++ })
	if err != nil || damaged > 0 || result.Partitions != 4 {
		t.Errorf("check found %+v, %d damages, %v", result, damaged, err)
	}
}

// TestKeysGoByAge: a key of more than a day ago takes no space.
func TestKeysGoByAge(t *testing.T) {
	clock := new(stepping)
	clock.now.Store(1_000_000_000_000)
	s, err := lsmstore.Open(lsmstore.Options{Dir: "data", Engine: engine.Options{
		FS: vfs.NewMem(), Clock: clock, SegmentBytes: 64 << 10, ReserveBytes: -1,
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := makeTable(s); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if _, err := send(t.Context(), s, "row", fmt.Sprint("k", i)); err != nil {
			t.Fatal(err)
		}
	}
	entries := func() (n uint64) {
		for _, p := range s.Engine().Partitions() {
			if p.Name == "_keys" {
				if err := errors.Join(s.Engine().Flush(t.Context()), s.Engine().Compact(t.Context(), p.ID)); err != nil {
					t.Fatal(err)
				}
				stats, err := s.Engine().Stats(p.ID)
				if err != nil {
					t.Fatal(err)
				}
				n += stats.Entries
			}
		}
		return n
	}
	if n := entries(); n != 100 {
		t.Errorf("%d entries, want 100", n)
	}
	clock.now.Add(widecol.IdempotencyWindowSecs*1_000_000 + 1000)
	if n := entries(); n != 0 {
		t.Errorf("%d entries a day later, want none", n)
	}
}

// stepping is a clock that a test sets. Its timers never fire.
type stepping struct{ now atomic.Int64 }

func (c *stepping) Now() int64 { return c.now.Load() }

func (c *stepping) Elapsed() time.Duration { return time.Duration(c.now.Load()) * time.Microsecond }

func (c *stepping) AfterFunc(time.Duration, func()) (stop func() bool) {
	return func() bool { return true }
}

// TestDamagedKeys: if the store cannot know whether a request was applied before, it refuses the
// request. Requests without a key are applied.
func TestDamagedKeys(t *testing.T) {
	fs := vfs.NewMem()
	s := openAt(t, fs)
	if err := makeTable(s); err != nil {
		t.Fatal(err)
	}
	if _, err := send(t.Context(), s, "row", "k"); err != nil {
		t.Fatal(err)
	}
	if err := s.Engine().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := s.Engine().Partitions()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	flipIn(t, fs, all[len(all)-1].Path)
	s = openAt(t, fs)
	defer s.Close()
	for range 2 {
		if _, err := send(t.Context(), s, "row", "k"); widecol.KindOf(err) != widecol.Corrupt || !strings.Contains(err.Error(), "_keys") {
			t.Errorf("got %v, want damage in _keys", err)
		}
	}
	write(t, s, "t")
	if n, err := scan(s, "t"); n != 3 || err != nil {
		t.Errorf("got %d cells, %v, want 3", n, err)
	}
	if list := fmt.Sprint(s.Damage()); !strings.Contains(list, "_keys") {
		t.Errorf("Damage returned %s, want the partition of the keys", list)
	}
}

// TestUnknownEntry: an entry in an unknown format, perhaps of a later program, is an error. It does
// not count as missing.
func TestUnknownEntry(t *testing.T) {
	s := openAt(t, vfs.NewMem())
	defer s.Close()
	if err := makeTable(s); err != nil {
		t.Fatal(err)
	}
	if _, err := send(t.Context(), s, "row", "k"); err != nil {
		t.Fatal(err)
	}
	all := s.Engine().Partitions()
	id := all[len(all)-1].ID
	row := append([]byte{0, 0, 0, 0, 0, 0, 0, byte(all[1].ID)}, 'k')
	for _, value := range []string{"", "\x01short", "\x03" + strings.Repeat("x", 48), "\x04" + strings.Repeat("x", 60)} {
		var b engine.Batch
		b.Add(id, row, &cell.Cell{Column: cell.AppendColumn(nil, []byte("d"), nil), Time: engine.CommitTime, Type: cell.Bytes, Value: []byte(value)})
		if _, err := s.Engine().Commit(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		if _, err := send(t.Context(), s, "row", "k"); widecol.KindOf(err) != widecol.Corrupt {
			t.Errorf("entry %q: got %v, want that it cannot be read", value, err)
		}
	}
}

// TestPartitionOfKeysOnASlowDisk: a request that times out while the partition is created has no
// effect. The partition is created nevertheless, once.
func TestPartitionOfKeysOnASlowDisk(t *testing.T) {
	var armed atomic.Bool
	release := make(chan struct{})
	s := openAt(t, vfs.Inject(vfs.NewMem(), func(op vfs.Op) vfs.Fault {
		if armed.Load() && op.Kind == vfs.OpCreate && strings.HasPrefix(op.Name, "data/manifest") {
			return vfs.Fault{Hold: release}
		}
		return vfs.Fault{}
	}))
	defer s.Close()
	if err := makeTable(s); err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := send(ctx, s, "row", "k"); widecol.KindOf(err) != widecol.Overloaded {
			t.Errorf("got %v, want that nothing happened", err)
		}
		cancel()
	}
	if n, err := scan(s, "t"); n != 0 || err != nil {
		t.Errorf("got %d cells, %v, want none", n, err)
	}
	close(release)
	if _, err := send(t.Context(), s, "row", "k"); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Engine().Partitions()); n != 4 {
		t.Errorf("there are %d partitions, want 4", n)
	}
}
