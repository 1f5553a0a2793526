package engine

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// tornImage writes a row to a store and returns the state after a power failure that lost a sector
// of its record, with the name and content of that segment.
func tornImage(t *testing.T, fs *vfs.Mem, id PartitionID, row string) (image *vfs.Mem, segment string, data []byte) {
	t.Helper()
	db := mustOpenIdle(t, fs)
	if id == 0 {
		id = mustCreate(t, db, "a")[0]
	}
	mustPut(t, db, id, "whole "+row, "q", "v")
	segment = db.segmentPath(db.log.current.number)
	var once sync.Once
	fs.SetHook(func(op vfs.Op, done bool) {
		if !done && op.Kind == vfs.OpSync && op.Name == segment {
			once.Do(func() { image = fs.Clone() })
		}
	})
	mustPut(t, db, id, row, "q", strings.Repeat("v", 4000))
	fs.SetHook(nil)
	db.Close()
	data = readAll(t, image, segment)
	end := len(bytes.TrimRight(data, "\x00"))
	clear(data[end-2000 : end-1000])
	if err := image.Remove(segment); err != nil {
		t.Fatal(err)
	}
	write(t, image, segment, data)
	return image, segment, data
}

func tornFiles(t *testing.T, fs *vfs.Mem) (names []string) {
	all, err := fs.List("store/wal")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if strings.HasSuffix(name, manifest.TornSuffix) {
			names = append(names, name)
		}
	}
	return names
}

// TestTornSegmentOfALongLog: the torn segment is kept too if all recovered batches are in sorted
// files when the store is open.
func TestTornSegmentOfALongLog(t *testing.T) {
	image, _, _ := tornImage(t, vfs.NewMem(), 0, "torn")
	opt := testOptions(image)
	opt.MemtableBytes = 32 << 10
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	files := len(db.partitions[1].version.Levels[0])
	closeWithLog(t, db)
	if kept := tornFiles(t, image); files != 1 || len(kept) != 1 {
		t.Errorf("%d sorted files, and %v are kept; want one of each", files, kept)
	}
}

// TestTornSegmentIsKept: the torn segment is kept unchanged until all batches recovered from it are
// in sorted files.
func TestTornSegmentIsKept(t *testing.T) {
	image, segment, data := tornImage(t, vfs.NewMem(), 0, "torn")
	db := mustOpen(t, image)
	kept := strings.TrimSuffix(segment, manifest.SegmentSuffix) + manifest.TornSuffix
	if got := readAll(t, image, kept); !bytes.Equal(got, data) {
		t.Error("the segment was changed")
	}
	if _, err := image.Stat(segment); err == nil {
		t.Error("the segment is there under its old name as well")
	}
	closeWithLog(t, db)
	if got := tornFiles(t, image); len(got) != 1 {
		t.Errorf("after a close %v are kept", got)
	}
	db = mustOpen(t, image)
	if got := contents(t, db, 1); !slices.Equal(got, []string{"whole torn q=v"}) {
		t.Errorf("got %v, want the row that was whole", got)
	}
	if err := db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	mustClose(t, db)
	if got := tornFiles(t, image); len(got) > 0 {
		t.Errorf("with all in sorted files %v are kept", got)
	}
}

// TestTornSegmentsAreBounded: repeated crashes do not fill the disk.
func TestTornSegmentsAreBounded(t *testing.T) {
	image, _, _ := tornImage(t, vfs.NewMem(), 0, "first")
	var last string
	for range 4 {
		image, last, _ = tornImage(t, image, 1, "next")
	}
	closeWithLog(t, mustOpen(t, image))
	got := tornFiles(t, image)
	if len(got) != maxTorn || !strings.HasPrefix(last, "store/wal/"+strings.TrimSuffix(got[maxTorn-1], manifest.TornSuffix)) {
		t.Errorf("kept are %v, want %d, the last of them %s", got, maxTorn, last)
	}
}

// TestWholeLogLeavesNothingTorn: a process that ends outside of a write leaves no torn segment.
func TestWholeLogLeavesNothingTorn(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	mustPut(t, db, mustCreate(t, db, "a")[0], "row", "q", "v")
	for _, model := range []vfs.Model{vfs.KeepAll, vfs.DropAll} {
		image := fs.Crash(model, 1)
		mustClose(t, mustOpen(t, image))
		if got := tornFiles(t, image); len(got) > 0 {
			t.Errorf("%v: %v are kept", model, got)
		}
	}
	mustClose(t, db)
}
