package lsmstore

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/widecol"
)

// openCompacted returns a store with a table t whose families a and b, which is in a group, have ten versions in each of
// 500 rows, all in files, and its file system.
func openCompacted(t *testing.T) (*Store, *vfs.Mem) {
	t.Helper()
	ctx, fs := t.Context(), vfs.NewMem()
	s := openOn(t, fs)
	spec := widecol.TableSpec{Families: []widecol.Family{{Name: "a"}, {Name: "b"}}, Groups: [][]string{{"b"}}}
	if err := s.CreateTable(ctx, "t", spec); err != nil {
		t.Fatal(err)
	}
	for version := range 10 {
		var ms []widecol.Mutation
		for i := range 500 {
			for _, family := range []string{"a", "b"} {
				ms = append(ms, widecol.Mutation{Row: fmt.Appendf(nil, "row%04d", i), Family: []byte(family), Time: int64(version + 1), Value: fmt.Appendf(nil, "%s%08d", family, version*7919*i), Type: cell.String})
			}
		}
		if _, err := s.Write(ctx, "t", ms, ""); err != nil {
			t.Fatal(err)
		}
		if err := s.db.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for id := range s.partitions() { // nothing is left to compact by itself
		if err := s.db.Compact(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	return s, fs
}

func openOn(t *testing.T, fs *vfs.Mem) *Store {
	t.Helper()
	s, err := Open(Options{Dir: "data", Engine: engine.Options{FS: fs, Clock: clock.System, ReserveBytes: -1}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// describePartition describes a partition of t by its place.
func (s *Store) describePartition(t *testing.T, at int) widecol.PartitionStats {
	t.Helper()
	table, err := s.Table(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	return table.Partitions[at].Stats
}

// awaitCompacted waits until no partition of t is compacted.
func awaitCompacted(t *testing.T, s *Store) {
	t.Helper()
	for began := time.Now(); ; runtime.Gosched() {
		busy := false
		for at := range 3 {
			busy = busy || s.describePartition(t, at).Compacting
		}
		if !busy {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatal("the compaction does not end")
		}
	}
}

const data, grouped = 1, 2 // places of the partitions of t

// TestCompactFreesGarbage: what the settings of a family make garbage is gone from the files of the place that was
// compacted, and from those of no other.
func TestCompactFreesGarbage(t *testing.T) {
	s, _ := openCompacted(t)
	defer s.Close()
	for _, family := range []string{"a", "b"} {
		if err := s.AlterFamily(t.Context(), "t", family, widecol.ChangeGC(widecol.GC{VersionLimit: 1})); err != nil {
			t.Fatal(err)
		}
	}
	awaitCompacted(t, s)
	before, other := s.describePartition(t, grouped), s.describePartition(t, data)
	group := s.tables["t"].schema.groups[0].id
	if err := s.Compact(t.Context(), "t", &group); err != nil {
		t.Fatal(err)
	}
	awaitCompacted(t, s)
	after := s.describePartition(t, grouped)
	if after.Cells != 500 || after.DiskBytes*3 > before.DiskBytes || after.CompactionLeft != 0 {
		t.Errorf("the group had %d cells in %d bytes, and has %d in %d, %d left", before.Cells, before.DiskBytes, after.Cells, after.DiskBytes, after.CompactionLeft)
	}
	if now := s.describePartition(t, data); now.Cells < other.Cells {
		t.Errorf("the default partition was compacted, too: %d cells of %d", now.Cells, other.Cells)
	}
	if _, err := s.Delete(t.Context(), "t", &widecol.Deletion{Rows: widecol.RowSet{{Start: []byte("row0100"), End: nil}}, Times: widecol.AllTimes}, ""); err != nil {
		t.Fatal(err)
	}
	var newer []widecol.Mutation // they are in memory
	for _, family := range []string{"a", "b"} {
		newer = append(newer, widecol.Mutation{Row: []byte("row0000"), Family: []byte(family), Time: 99, Value: []byte("v"), Type: cell.String})
	}
	if _, err := s.Write(t.Context(), "t", newer, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(t.Context(), "t", nil); err != nil {
		t.Fatal(err)
	}
	awaitCompacted(t, s)
	for _, at := range []int{data, grouped} {
		if p := s.describePartition(t, at); p.Cells != 100 || p.MemtableBytes != 0 {
			t.Errorf("partition %d has %d cells in files and %d bytes in memory, want the 100 that are left", at, p.Cells, p.MemtableBytes)
		}
	}
}

// TestCompactBesideWrites: reads and writes go on beside compactions that are asked for again and again, and a crash in
// between loses nothing.
func TestCompactBesideWrites(t *testing.T) {
	s, fs := openCompacted(t)
	var work sync.WaitGroup
	stop := make(chan struct{})
	work.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := s.Compact(t.Context(), "t", nil); err != nil {
				t.Error(err)
			}
			runtime.Gosched()
		}
	})
	count := func(s *Store) (cells int64) {
		v, err := s.View(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		q := widecol.NewQuery()
		rows, err := v.Scan(t.Context(), &q)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
		}
		if rows.Err() != nil {
			t.Fatal(rows.Err())
		}
		return rows.Stats().Cells
	}
	for i := range 40 {
		m := widecol.Mutation{Row: fmt.Appendf(nil, "new%04d", i), Family: []byte("a"), Value: []byte("v"), Type: cell.String, Time: 1}
		if _, err := s.Write(t.Context(), "t", []widecol.Mutation{m}, ""); err != nil {
			t.Fatal(err)
		}
		want := int64(10_000 + i + 1)
		if got := count(s); got != want {
			t.Fatalf("beside a compaction there are %d cells, want %d", got, want)
		}
		if i%10 == 9 {
			crashed := openOn(t, fs.Crash(vfs.DropAll, uint64(i)))
			if got := count(crashed); got != want {
				t.Errorf("after a crash there are %d cells, want %d", got, want)
			}
			if err := crashed.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	close(stop)
	work.Wait()
	if err := s.Compact(t.Context(), "t", nil); err != nil { // it is given up
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(t.Context(), "t", nil); widecol.KindOf(err) != widecol.Closed {
		t.Errorf("after Close: %v", err)
	}
	s = openOn(t, fs)
	if got := count(s); got != 10_040 {
		t.Errorf("after Close there are %d cells", got)
	}
	if err := errors.Join(s.DropTable(t.Context(), "t"), s.Close()); err != nil {
		t.Error(err)
	}
}
