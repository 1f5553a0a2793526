package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/sstable"
	"github.com/colonnade-db/colonnade/vfs"
	"github.com/colonnade-db/colonnade/wal"
)

// damagedStore is a closed store with two partitions, files in several levels, and batches that
// only the log has.
type damagedStore struct {
	fs   *vfs.Mem
	ids  []PartitionID
	want map[PartitionID][]string
}

func newDamagedStore(t *testing.T) *damagedStore {
	d := &damagedStore{fs: vfs.NewMem(), want: map[PartitionID][]string{}}
	db, err := Open("store", crashOptions(d.fs))
	if err != nil {
		t.Fatal(err)
	}
	d.ids = mustCreate(t, db, "a", "b")
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			for _, id := range d.ids {
				mustPut(t, db, id, fmt.Sprintf("row%02d", i%30), "q", fmt.Sprintf("%d %s", i, strings.Repeat("v", i%90)))
			}
		}
	}
	fill(0, 60)
	for _, id := range d.ids {
		if err := db.Compact(context.Background(), id); err != nil {
			t.Fatal(err)
		}
	}
	fill(60, 75)
	if err := db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	fill(75, 90)
	for _, id := range d.ids {
		d.want[id] = contents(t, db, id)
	}
	// Until the log is sealed, the loss of its last record looks like a crash. The first call may
	// only arm the second.
	db.sealIdle()
	db.sealIdle()
	// A crash instead of Close leaves the log of a running store.
	crashed := d.fs.Crash(vfs.KeepAll, 0)
	mustClose(t, db)
	d.fs = crashed
	return d
}

// names lists every file.
func (d *damagedStore) names(t *testing.T) []string {
	var names []string
	for _, dir := range []string{"store", "store/wal", "store/partitions/00000001", "store/partitions/00000002"} {
		list, err := d.fs.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range list {
			if name = path.Join(dir, name); name == "store/LOCK" {
				continue
			}
			if _, err := d.fs.Stat(name); err == nil {
				names = append(names, name)
			}
		}
	}
	return names
}

// with returns a copy of the store with other content in one file. nil removes the file.
func (d *damagedStore) with(t *testing.T, name string, content []byte) *vfs.Mem {
	fs := d.fs.Clone()
	if err := fs.Remove(name); err != nil {
		t.Fatal(err)
	}
	if content == nil {
		return fs
	}
	f, err := fs.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	return fs
}

// verdict opens a damaged store and returns the result: "refused" by Open, "detected" by a read,
// "harmless", or a description of the fault.
func (d *damagedStore) verdict(t *testing.T, fs *vfs.Mem, name string) string {
	db, err := Open("store", crashOptions(fs))
	if err != nil {
		var corrupt *CorruptError
		var version *wal.VersionError
		if !errors.As(err, &corrupt) && !errors.As(err, &version) {
			return fmt.Sprintf("refused without naming damage: %v", err)
		}
		return "refused"
	}
	defer db.Close()
	result := "harmless"
	for _, id := range d.ids {
		got, err := read(db, id, nil)
		var corrupt *CorruptError
		switch {
		case errors.As(err, &corrupt) && corrupt.File == name:
			result = "detected"
			if !strings.Contains(name, manifest.PartitionDir(uint64(id))) {
				return fmt.Sprintf("damage in %s is reported for partition %d", name, id)
			}
		case err != nil:
			return fmt.Sprintf("read fails without naming the damage: %v", err)
		case !slices.Equal(got, d.want[id]):
			return fmt.Sprintf("partition %d answers otherwise", id)
		}
		if err := tryPut(db, id); err != nil {
			return fmt.Sprintf("partition %d takes no writes: %v", id, err)
		}
	}
	return result
}

func tryPut(db *DB, id PartitionID) error {
	var b Batch
	r, c := set("zz", "q", "after")
	b.Add(id, r, c)
	_, err := db.Commit(context.Background(), &b)
	return err
}

// TestNewerSortedFile: a file of a later format version is no damage. The error of a read names the
// file and its partition.
func TestNewerSortedFile(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	flushed(t, db, id, 1)
	mustClose(t, db)
	name := db.partitions[id].tablePath(1)
	data := readAll(t, fs, name)
	length := binary.LittleEndian.Uint32(data[len(data)-20:]) // of the footer; see package sstable
	footer := data[len(data)-int(length):]
	tail := footer[len(footer)-16:]
	binary.LittleEndian.PutUint32(tail[4:], 99)
	clear(tail[:4])
	binary.LittleEndian.PutUint32(tail, crc32.Checksum(footer, crc32.MakeTable(crc32.Castagnoli)))
	if err := fs.Remove(name); err != nil {
		t.Fatal(err)
	}
	write(t, fs, name, data)

	db = mustOpen(t, fs)
	defer mustClose(t, db)
	_, err := read(db, id, nil)
	var newer *sstable.VersionError
	if !errors.As(err, &newer) || newer.Version != 99 || errors.As(err, new(*CorruptError)) {
		t.Errorf("got %v, want a *sstable.VersionError", err)
	}
	if err == nil || !strings.Contains(err.Error(), name+", partition a") {
		t.Errorf("got %v, want one that names %s and the partition", err, name)
	}
}

func readAll(t testing.TB, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, _ := f.Size()
	data := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, size), data); err != nil {
		t.Fatal(err)
	}
	return data
}

// TestDamageIsDetected damages every file in many places. The store must not lose data or return
// wrong results without an error. The other partition must work.
func TestDamageIsDetected(t *testing.T) {
	d := newDamagedStore(t)
	count := map[string]int{}
	judge := func(what, name string, content []byte) {
		v := d.verdict(t, d.with(t, name, content), name)
		count[v]++
		if v != "harmless" && v != "refused" && v != "detected" {
			t.Errorf("%s of %s: %s", what, name, v)
		}
	}
	for _, name := range d.names(t) {
		data := readAll(t, d.fs, name)
		used := len(data)
		for used > 0 && data[used-1] == 0 { // the unused end of a segment
			used--
		}
		used = min(len(data), used+100)
		step := 1 + used/150
		if testing.Short() {
			step *= 5
		}
		for i := 0; i < used; i += step {
			flipped := slices.Clone(data)
			flipped[i] ^= 1 << (i / step % 8)
			judge(fmt.Sprintf("flip of byte %d", i), name, flipped)
		}
		for i := 0; i < len(data); i += 1 + len(data)/20 {
			judge(fmt.Sprintf("cut to %d bytes", i), name, data[:i])
		}
		for i := 0; i < len(data); i += 512 {
			zeroed := slices.Clone(data)
			clear(zeroed[i:min(len(data), i+512)])
			judge(fmt.Sprintf("sector of zeros at %d", i), name, zeroed)
		}
		judge("removal", name, nil)
	}
	t.Logf("%v", count)
	if count["detected"] < 50 || count["refused"] < 50 {
		t.Errorf("too few cases: %v", count)
	}
}

// TestLevelSourceStaysFailed: the error of one file of a level stays, also when the next row
// searched for is in another file.
func TestLevelSourceStaysFailed(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	for _, row := range []string{"m", "b"} {
		mustPut(t, db, id, row, "q", strings.Repeat(row, 20<<10))
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	name := tableOf(db.partitions[id].version.Levels[0][0]).path
	mustClose(t, db)
	flip(t, fs, name, 10)
	db = mustOpen(t, fs)
	defer mustClose(t, db)
	files := db.partitions[id].version.Levels[0] // newest first: b, then m
	src := newLevelSource(files, sstable.ReadOptions{})
	defer src.Close()
	src.SeekRow(nil)
	if string(src.Row()) != "b" {
		t.Fatalf("row %q, error %v, want row b", src.Row(), src.Err())
	}
	if got := src.Cells(nil); src.Row() != nil || len(got) > 0 || src.Err() == nil {
		t.Fatalf("row %q, %d entries, error %v, want damage", src.Row(), len(got), src.Err())
	}
	err := src.Err()
	src.SeekRow([]byte("m"))
	if src.Row() != nil || src.Err() != err {
		t.Errorf("row %q, error %v after %v", src.Row(), src.Err(), err)
	}
}
