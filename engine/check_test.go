package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"colonnade/vfs"
)

// checked runs the check of an open store.
func checked(t *testing.T, db *DB) (CheckResult, []*CorruptError) {
	t.Helper()
	var list []*CorruptError
	result, err := db.Check(context.Background(), func(e *CorruptError) { list = append(list, e) })
	if err != nil {
		t.Fatalf("Check: %v", err)
	}
	if result.DamageCount != len(list) {
		t.Errorf("%d damages counted, %d reported", result.DamageCount, len(list))
	}
	return result, list
}

// TestCheckWhileOpen: in levels of every depth there is nothing to report.
func TestCheckWhileOpen(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	ids := mustCreate(t, db, "a", "b")
	for round := range 40 {
		for i := range 50 {
			mustPut(t, db, ids[round%2], fmt.Sprintf("row%02d", (i*7+round)%60), "q", strings.Repeat("v", 300))
		}
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	result, damage := checked(t, db)
	if len(damage) > 0 || result.Partitions != 2 || result.Files < 2 || result.Entries < 100 {
		t.Errorf("got %+v, %v", result, damage)
	}
}

// disordered is a store with two files of a row, the older one above the newer.
func disordered(t *testing.T) (fs *vfs.Mem, db *DB, ids []PartitionID) {
	fs = vfs.NewMem()
	db = mustOpen(t, fs)
	ids = mustCreate(t, db, "a", "b")
	for _, id := range ids {
		flushed(t, db, id, 2)
	}
	p := db.partitions[ids[0]]
	err := db.install(nil, func(next *manifest) error {
		r := *next.parts[p.id]
		newer, older := r.version.levels[0][0], r.version.levels[0][1]
		r.version = &version{}
		r.version.levels[1], r.version.levels[2] = []*file{older}, []*file{newer}
		next.parts[p.id] = &r
		return nil
	}, func() { db.adoptLocked(p) })
	if err != nil {
		t.Fatal(err)
	}
	return fs, db, ids
}

// TestContradictionQuarantines a partition: nothing that it would answer can be
// trusted. Others go on, and it can be dropped.
func TestContradictionQuarantines(t *testing.T) {
	fs, db, ids := disordered(t)
	_, damage := checked(t, db)
	if len(damage) != 1 || damage[0].Partition != "a" || !strings.Contains(damage[0].Reason, `"all"`) {
		t.Fatalf("got %v, want the row that all files have", damage)
	}
	var c *CorruptError
	if _, err := read(db, ids[0], nil); !errors.As(err, &c) {
		t.Errorf("a read got %v, want a *CorruptError", err)
	}
	if err := tryPut(db, ids[0]); !errors.As(err, &c) {
		t.Errorf("a write got %v, want a *CorruptError", err)
	}
	if err := db.Compact(context.Background(), ids[0]); !errors.As(err, &c) {
		t.Errorf("a compaction got %v, want a *CorruptError", err)
	}
	if s, _ := db.Stats(ids[0]); s.Damage == nil || len(db.Damage()) != 1 {
		t.Errorf("Stats says %v, Damage %v", s.Damage, db.Damage())
	}
	if err := tryPut(db, ids[1]); err != nil {
		t.Errorf("a write to another partition: %v", err)
	}
	if got := contents(t, db, ids[1]); len(got) != 5 {
		t.Errorf("another partition has %q", got)
	}
	if names, _ := fs.List(db.partitions[ids[0]].dir); len(names) != 2 {
		t.Errorf("files %v are left of 2", names)
	}
	if err := db.DropPartitions(ids[0]); err != nil {
		t.Errorf("DropPartitions: %v", err)
	}
	if len(db.Damage()) != 0 {
		t.Errorf("damage of a dropped partition: %v", db.Damage())
	}
	mustClose(t, db)
}

// TestCheckFindsDisorder, also when no process has the store open.
func TestCheckFindsDisorder(t *testing.T) {
	fs, db, _ := disordered(t)
	mustClose(t, db)
	var list []*CorruptError
	result, err := Check(fs, "store", func(e *CorruptError) { list = append(list, e) })
	if err != nil || len(list) != 1 || list[0].Partition != "a" || result.Files != 4 {
		t.Errorf("got %+v, %v, %v", result, list, err)
	}
}

// TestMissingFile: the store opens and says so, others are served, and what does not
// need the file is read.
func TestMissingFile(t *testing.T) {
	for _, empty := range []bool{false, true} {
		fs := vfs.NewMem()
		db := mustOpen(t, fs)
		ids := mustCreate(t, db, "a", "b")
		for _, id := range ids {
			mustPut(t, db, id, "zz", "q", "v")
			flushed(t, db, id, 2)
		}
		name := db.partitions[ids[0]].version.levels[0][0].table.path
		mustClose(t, db)
		if err := fs.Remove(name); err != nil {
			t.Fatal(err)
		}
		if empty {
			f, err := fs.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
		db = mustOpen(t, fs)
		var c *CorruptError
		if list := db.Damage(); !empty && (len(list) != 1 || !errors.As(list[0], &c) || c.File != name) {
			t.Errorf("after the open Damage returned %v, want %s", list, name)
		}
		if _, err := read(db, ids[0], nil); !errors.As(err, &c) || c.File != name || c.Partition != "a" {
			t.Errorf("a read got %v, want damage of %s", err, name)
		}
		if got := contents(t, db, ids[1]); len(got) != 5 {
			t.Errorf("another partition has %q", got)
		}
		if got, err := readRow(db, ids[0], "zz"); err != nil || len(got) != 1 {
			t.Errorf("a row of another file: %q, %v", got, err)
		}
		if _, list := checked(t, db); len(list) != 1 || list[0].File != name {
			t.Errorf("Check reported %v, want %s", list, name)
		}
		mustClose(t, db)
	}
}

// TestForeignFileIsNotUsed: a sound file that is not the one that the manifest
// means, although number, size and store are right.
func TestForeignFileIsNotUsed(t *testing.T) {
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	id := mustCreate(t, db, "a")[0]
	mustPut(t, db, id, "row", "q", "old")
	mustClose(t, db)
	other := fs.Clone()
	write := func(fs *vfs.Mem, value string) (name string, content []byte) {
		db := mustOpen(t, fs)
		mustPut(t, db, id, "row", "q", value)
		if value == "new" {
			mustPut(t, db, id, "sow", "q", value)
		}
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		name = db.partitions[id].version.levels[0][0].table.path
		mustClose(t, db)
		return name, readAll(t, fs, name)
	}
	name, mine := write(fs, "yes")
	_, theirs := write(other, "new")
	if string(mine) == string(theirs) {
		t.Fatal("the files are the same")
	}
	if err := fs.Remove(name); err != nil {
		t.Fatal(err)
	}
	f, err := fs.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	f.Write(theirs)
	f.Close()
	db = mustOpen(t, fs)
	defer mustClose(t, db)
	if got, err := read(db, id, nil); !errors.As(err, new(*CorruptError)) {
		t.Errorf("got %q, %v, want a *CorruptError", got, err)
	}
}
