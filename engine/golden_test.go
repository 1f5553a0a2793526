package engine

import (
	"context"
	"embed"
	"encoding/binary"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/clock"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// testdata has a directory of each released format. It is never written again, and must
// always be read with the same result. A new format gets a new directory, with
//
//	go test ./engine -run TestGoldenDirectory -golden
var writeGolden = flag.Bool("golden", false, "write the golden directory of the present format")

//go:embed all:testdata
var testdata embed.FS

// goldenDir is the directory of the current format.
const goldenDir = "testdata/format7"

// goldenContents is the content of the partitions: rows in the last level and in level 0, some of
// them deleted, and a batch over both partitions in the log alone. From format 5 on, there were more
// rows, which range tombstones in the manifest and in the log delete.
var goldenContents = map[PartitionID][]string{
	1: {"row1 q=new", "row1 q=old", "row2 q=old", "row4 q=log"},
	3: {"row1 q=1", "row4 q=log"},
}

// makeGolden creates a store with every feature.
func makeGolden(t *testing.T) *vfs.Mem {
	mem := vfs.NewMem()
	opt := testOptions(mem)
	opt.Clock, opt.SegmentBytes, opt.ArchiveLog = clock.NewManual(1_700_000_000_000_000), 4<<10, true
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	db.mu.Lock()
	db.manifest.Timeline = 1 << 60 // as after a restore
	db.mu.Unlock()
	ctx := context.Background()
	a := mustCreate(t, db, "a")[0]
	gone := mustCreate(t, db, "gone")[0]
	b := mustCreate(t, db, "b")[0]
	mustPut(t, db, a, "row1", "q", "old")
	mustPut(t, db, a, "row2", "q", "old")
	mustPut(t, db, a, "row3", "q", "old")
	mustPut(t, db, a, "row5", "q", "deleted in the manifest")
	mustPut(t, db, a, "row6", "q", "deleted in the log")
	mustPut(t, db, gone, "row1", "q", "gone")
	if err := db.Compact(ctx, a); err != nil {
		t.Fatal(err)
	}
	db.mu.Lock()
	db.partitions[a].compactionStopped = true // what follows stays in level 0
	db.mu.Unlock()
	mustPut(t, db, a, "row1", "q", "new")
	mustPut(t, db, b, "row1", "q", "1")
	mustPut(t, db, b, "row7", "q", "deleted in the log")
	var batch Batch
	batch.DeleteRange(a, []byte("row5"), []byte("row6"))
	batch.Add(a, []byte("row3"), &cell.Cell{Kind: cell.DeleteRow, Time: cell.TombstoneTime})
	if _, err := db.Commit(ctx, &batch); err != nil {
		t.Fatal(err)
	}
	if err := db.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if err := db.DropPartitions(gone); err != nil {
		t.Fatal(err)
	}
	batch.Reset()
	for _, id := range []PartitionID{a, b} {
		r, c := set("row4", "q", "log")
		batch.Add(id, r, c)
		batch.DeleteRange(id, []byte("row6"), nil)
	}
	if _, err := db.Commit(ctx, &batch); err != nil {
		t.Fatal(err)
	}
	db.mu.Lock()
	written := db.log.current.number
	db.mu.Unlock()
	db.ReleaseLog(written - 1)
	closeWithLog(t, db)
	return mem
}

// saveGolden copies a file system to the disk, without the lock.
func saveGolden(t *testing.T, mem *vfs.Mem, dir string) {
	names, err := mem.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		from := path.Join(dir, name)
		to := filepath.Join(goldenDir, strings.TrimPrefix(from, "store"))
		if _, err := mem.Stat(from); err != nil {
			saveGolden(t, mem, from)
		} else if name != manifest.LockFile {
			data := readAll(t, mem, from)
			if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// loadGolden returns a copy of the golden directory. edit, if not nil, changes its files.
func loadGolden(t *testing.T, edit func(name string, data []byte) []byte) *vfs.Mem {
	return loadGoldenOf(t, goldenDir, edit)
}

func loadGoldenOf(t *testing.T, dir string, edit func(name string, data []byte) []byte) *vfs.Mem {
	mem := vfs.NewMem()
	err := fs.WalkDir(testdata, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := testdata.ReadFile(name)
		if err != nil {
			return err
		}
		to := "store" + strings.TrimPrefix(name, dir)
		if edit != nil {
			data = edit(to, data)
		}
		if err := mem.MkdirAll(path.Dir(to)); err != nil {
			return err
		}
		f, err := mem.Create(to)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return mem
}

func TestGoldenDirectory(t *testing.T) {
	if *writeGolden {
		saveGolden(t, makeGolden(t), "store")
		t.Skip("written; build again to test it")
	}
	for _, dir := range []string{"testdata/format1", "testdata/format2", "testdata/format3", "testdata/format4", "testdata/format5", "testdata/format6", goldenDir} {
		t.Run(path.Base(dir), func(t *testing.T) {
			m := readGoldenManifest(t, dir)
			checkGoldenLevels(t, m)
			if dir == goldenDir && (m.Timeline != 1<<60 || len(m.Dropped) != 1 || m.Dropped[0].Name != "gone") {
				t.Errorf("timeline %x, dropped %v", m.Timeline, m.Dropped)
			}
			testGolden(t, loadGoldenOf(t, dir, nil))
		})
	}
}

func readGoldenManifest(t *testing.T, dir string) *manifest.Manifest {
	names, err := fs.Glob(testdata, dir+"/"+manifest.FilePrefix+"*")
	if err != nil || len(names) != 1 {
		t.Fatalf("manifests: %v, %v", names, err)
	}
	data, err := testdata.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// checkGoldenLevels: the files of the last level are in the last level, whatever its number was.
func checkGoldenLevels(t *testing.T, m *manifest.Manifest) {
	for level, files := range m.Partitions[1].Version.Levels {
		want := 0
		if level == 0 || level == manifest.LastLevel {
			want = 1
		}
		if len(files) != want {
			t.Errorf("level %d has %d files, want %d", level, len(files), want)
		}
	}
}

func testGolden(t *testing.T, mem *vfs.Mem) {
	result, err := Check(mem, "store", func(e *CorruptError) { t.Error(e) })
	if err != nil || result.Files < 3 || result.Batches == 0 {
		t.Errorf("Check: %+v, %v, want 3 sorted files and a batch in the log at least", result, err)
	}
	for range 2 { // first as stored, then as this program has written it
		db := mustOpen(t, mem)
		for id, want := range goldenContents {
			if got := contents(t, db, id); !slices.Equal(got, want) {
				t.Errorf("partition %d: got %v, want %v", id, got, want)
			}
		}
		mustClose(t, db)
	}
}

// TestNewerFormatIsRefused: Open refuses a newer format and writes nothing, so a newer program
// finds the store unchanged.
func TestNewerFormatIsRefused(t *testing.T) {
	newer := func(name string, data []byte) []byte {
		if !strings.HasPrefix(path.Base(name), manifest.FilePrefix) {
			return data
		}
		data = slices.Clone(data[:len(data)-8])
		binary.LittleEndian.PutUint32(data[len(manifest.Magic):], manifest.FormatVersion+1)
		return binary.LittleEndian.AppendUint64(data, xxhash.Sum64(data))
	}
	mem := loadGolden(t, newer)
	if lock, err := mem.Lock("store/" + manifest.LockFile); err != nil {
		t.Fatal(err)
	} else {
		lock.Close()
	}
	before := mem.Fingerprint()
	var version *VersionError
	if _, err := Open("store", testOptions(mem)); !errors.As(err, &version) || version.Version != manifest.FormatVersion+1 {
		t.Errorf("Open returned %v, want a *VersionError", err)
	}
	if _, err := Check(mem, "store", func(*CorruptError) {}); !errors.As(err, &version) {
		t.Errorf("Check returned %v, want a *VersionError", err)
	}
	if mem.Fingerprint() != before {
		t.Error("something was written")
	}
}
