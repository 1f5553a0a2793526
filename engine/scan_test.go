package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// TestScanOfItsOwnSnapshot: a scan without a snapshot sees the state at its start, and no later
// writes. It counts as an open snapshot until it is closed, and does not count if it fails to
// start.
func TestScanOfItsOwnSnapshot(t *testing.T) {
	opt := testOptions(vfs.NewMem())
	opt.Snapshots = 1
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	open := func(want int) {
		t.Helper()
		if s := db.Snapshots(); s.Open != want {
			t.Errorf("%d snapshots are open, want %d", s.Open, want)
		}
		if n := db.partitions[id].state.Load().holders(); n != want {
			t.Errorf("the partition's state has %d readers, want %d", n, want)
		}
	}
	for round := range 3 { // later rounds reuse pooled memory
		mustPut(t, db, id, fmt.Sprint("row", round), "q", "v")
		want := contents(t, db, id)
		scan, err := db.Scan(id, ScanOptions{Now: 1})
		if err != nil {
			t.Fatal(err)
		}
		open(1)
		if _, err := db.Scan(id, ScanOptions{}); !errors.Is(err, ErrSnapshots) {
			t.Errorf("one more got %v, want ErrSnapshots", err)
		}
		mustPut(t, db, id, fmt.Sprint("later", round), "q", "v")
		if got, err := linesOf(scan); err != nil || !slices.Equal(got, want) {
			t.Errorf("round %d: got %q, %v, want %q", round, got, err, want)
		}
		open(1)
		scan.Close()
		open(0)
	}
	if _, err := db.Scan(id+1, ScanOptions{}); !errors.Is(err, ErrNoPartition) {
		t.Errorf("a scan of no partition: %v", err)
	}
	open(0)
	damage := &CorruptError{Partition: "a", Reason: "of the test"}
	db.partitions[id].quarantined.Store(damage)
	if _, err := db.Scan(id, ScanOptions{}); !errors.Is(err, damage) {
		t.Errorf("a scan of a quarantined partition: %v", err)
	}
	db.partitions[id].quarantined.Store(nil)
	open(0)
}

// TestRowReadAllocatesNothing: a row read allocates nothing once the pools are filled.
func TestRowReadAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools lose things")
	}
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	for i := range 1000 {
		mustPut(t, db, id, fmt.Sprintf("row%03d", i), "q", "value")
	}
	if err := db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	start, end := []byte("row500"), []byte("row500\x00")
	read := func() {
		scan, err := db.Scan(id, ScanOptions{Start: start, End: end, FillCache: true})
		if err != nil {
			t.Fatal(err)
		}
		defer scan.Close()
		if !scan.NextRow() || len(scan.Cells()) != 1 || len(scan.Cells()) != 0 || scan.Err() != nil {
			t.Fatalf("no row: %v", scan.Err())
		}
	}
	read()
	if n := testing.AllocsPerRun(100, read); n >= 1 {
		t.Errorf("%v allocations for a row, want 0", n)
	}
}

// TestDamagedFilterOfARow: a damaged filter of level 0 or of a lower level is an error, never an
// absent row.
func TestDamagedFilterOfARow(t *testing.T) {
	for _, below := range []bool{false, true} {
		fs := vfs.NewMem()
		db := mustOpen(t, fs)
		id := mustCreate(t, db, "a")[0]
		mustPut(t, db, id, "row", "q", "v")
		if err := db.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if below {
			if err := db.Compact(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		files := slices.Collect(db.partitions[id].state.Load().version.Files())
		if len(files) != 1 || below == (len(db.partitions[id].state.Load().version.Levels[0]) == 1) {
			t.Fatalf("below %v: %d files", below, len(files))
		}
		name, size := "store/partitions/00000001/"+manifest.TableFile(files[0].Number), int(files[0].Size)
		mustClose(t, db)
		refused := 0
		for offset := range size {
			broken := fs.Clone()
			flip(t, broken, name, offset)
			db, err := Open("store", testOptions(broken))
			if err != nil {
				t.Fatal(err)
			}
			scan, err := db.Scan(id, ScanOptions{Start: []byte("row"), End: []byte("row\x00")})
			switch {
			case err == nil:
				if !scan.NextRow() && scan.Err() == nil {
					t.Errorf("below %v, damage at %d: the row is not there", below, offset)
				}
				scan.Close()
			case errors.As(err, new(*CorruptError)):
				refused++ // at the filter or earlier
			default:
				t.Errorf("below %v, damage at %d: %v", below, offset, err)
			}
			mustClose(t, db)
		}
		if refused < 64 { // a filter has a line of 64 bytes
			t.Errorf("below %v: %d of %d damaged files were refused at the filter", below, refused, size)
		}
	}
}

// TestSingleRow: bounds select a single row only if no other row fits in between.
func TestSingleRow(t *testing.T) {
	for _, e := range []struct {
		start, end string
		want       bool
	}{
		{"ab", "ab\x00", true}, {"", "\x00", true}, {"ab", "ab\x01", false}, {"ab", "ac\x00", false},
		{"ab", "abc", false}, {"ab", "xyz", false}, {"ab", "ac", false}, {"ab", "", false},
	} {
		o := ScanOptions{Start: []byte(e.start), End: []byte(e.end)}
		if got := o.SingleRow(); got != e.want {
			t.Errorf("%q up to %q: %t", e.start, e.end, got)
		}
	}
}
