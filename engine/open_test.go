package engine

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// TestNewDirectoriesAreDurable: a store in new directories is not lost with one of them.
func TestNewDirectoriesAreDurable(t *testing.T) {
	fs := vfs.NewMem()
	for _, dir := range []string{"x/y/store", "/other/store"} {
		opt := testOptions(fs)
		db, err := Open(dir, opt)
		if err != nil {
			t.Fatal(err)
		}
		id := mustCreate(t, db, "a")[0]
		mustPut(t, db, id, "row", "q", "1")
		opt.FS = fs.Crash(vfs.DropAll, 0)
		mustClose(t, db)
		if db, err = Open(dir, opt); err != nil {
			t.Fatal(err)
		}
		if got, err := read(db, id, nil); err != nil || len(got) != 1 {
			t.Errorf("%s: after a crash got %q, %v, want the row", dir, got, err)
		}
		mustClose(t, db)
	}
}

// TestUnsuitableFileSystems: a create or an open on a file system that lacks a feature fails with
// an error that names the feature, and loses nothing.
func TestUnsuitableFileSystems(t *testing.T) {
	for name, c := range map[string]struct {
		match func(vfs.Op) bool
		errno syscall.Errno
	}{
		"read-only":                   {func(op vfs.Op) bool { return op.Kind.Changes() }, syscall.EROFS},
		"not allowed":                 {func(op vfs.Op) bool { return op.Kind.Changes() }, syscall.EACCES},
		"cannot sync directories":     {func(op vfs.Op) bool { return op.Kind == vfs.OpSyncDir }, syscall.EINVAL},
		"does not sync directories":   {func(op vfs.Op) bool { return op.Kind == vfs.OpSyncDir }, syscall.ENOTSUP},
		"has no locks, like some NFS": {func(op vfs.Op) bool { return op.Kind == vfs.OpLock }, syscall.ENOLCK},
	} {
		mem := vfs.NewMem()
		unsuitable := vfs.Inject(mem, func(op vfs.Op) vfs.Fault {
			if c.match(op) {
				return vfs.Fault{Err: c.errno}
			}
			return vfs.Fault{}
		})
		if _, err := Open("store", testOptions(unsuitable)); !errors.Is(err, c.errno) || !strings.Contains(err.Error(), "store") {
			t.Errorf("%s: a new store: got %v, want %v and where", name, err, c.errno)
		}
		db := mustOpen(t, mem)
		id := mustCreate(t, db, "a")[0]
		mustPut(t, db, id, "row", "q", "1")
		mustClose(t, db)
		if _, err := Open("store", testOptions(unsuitable)); !errors.Is(err, c.errno) || !strings.Contains(err.Error(), "store") {
			t.Errorf("%s: an old store: got %v, want %v and where", name, err, c.errno)
		}
		db = mustOpen(t, mem)
		if got := contents(t, db, id); len(got) != 1 {
			t.Errorf("%s: then got %v, want one row", name, got)
		}
		mustClose(t, db)
	}
}

// TestLostParts: a directory without a part that every store has is damaged, never a new and empty
// store.
func TestLostParts(t *testing.T) {
	for name, lose := range map[string]func(fs *vfs.Mem, db *DB) string{
		"manifest":       func(fs *vfs.Mem, db *DB) string { return "store/" + manifest.FileName(db.manifest.Edit) },
		"first segment":  func(fs *vfs.Mem, db *DB) string { return db.segmentPath(db.log.segments[0].number) },
		"middle segment": func(fs *vfs.Mem, db *DB) string { return db.segmentPath(db.log.segments[1].number) },
		"last segment":   func(fs *vfs.Mem, db *DB) string { return db.segmentPath(db.log.current.number) },
	} {
		fs := vfs.NewMem()
		db := mustOpen(t, fs)
		id := mustCreate(t, db, "a")[0]
		for i := range 12 {
			mustPut(t, db, id, fmt.Sprint("row", i), "q", strings.Repeat("v", 20<<10))
		}
		closeWithLog(t, db)
		if len(db.log.segments) < 3 {
			t.Fatalf("the log has only %d segments", len(db.log.segments))
		}
		file := lose(fs, db)
		for what, change := range map[string]func(fs *vfs.Mem){
			"missing": func(fs *vfs.Mem) {},
			"empty":   func(fs *vfs.Mem) { write(t, fs, file, nil) },
			"zeros":   func(fs *vfs.Mem) { write(t, fs, file, make([]byte, db.opt.SegmentBytes)) },
		} {
			image := fs.Clone()
			if err := image.Remove(file); err != nil {
				t.Fatal(err)
			}
			change(image)
			before, _ := image.List("store/wal")
			var corrupt *CorruptError
			if _, err := Open("store", testOptions(image)); !errors.As(err, &corrupt) {
				t.Errorf("%s %s: got %v, want a *CorruptError", name, what, err)
			}
			for _, n := range before {
				if _, err := image.Stat("store/wal/" + n); err != nil {
					t.Errorf("%s %s: the refused open removed %s", name, what, n)
				}
			}
		}
	}
}

// TestCreateFails: a store is created only in a directory known to be empty, and with an id of its
// own.
func TestCreateFails(t *testing.T) {
	device := errors.New("device error")
	for name, c := range map[string]struct {
		prepare func(opt *Options)
		is      error
		says    string
	}{
		"no randomness": {func(opt *Options) { opt.Rand = iotest.ErrReader(device) }, device, "store id"},
		"log that cannot be listed": {func(opt *Options) {
			failure := &vfs.Failure{
				Fault: vfs.Fault{Err: syscall.EIO},
				Match: func(op vfs.Op) bool { return op.Kind == vfs.OpList && op.Name == "store/wal" },
			}
			if err := opt.FS.MkdirAll("store/wal"); err != nil {
				t.Fatal(err)
			}
			opt.FS = vfs.Inject(opt.FS, failure.Rule)
		}, syscall.EIO, "store/wal"},
		"files of others": {func(opt *Options) {
			if err := opt.FS.MkdirAll("store/photos"); err != nil {
				t.Fatal(err)
			}
		}, nil, `"photos"`},
	} {
		mem := vfs.NewMem()
		opt := testOptions(mem)
		c.prepare(&opt)
		_, err := Open("store", opt)
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %v that names %s", name, err, c.is, c.says)
		}
		if _, found, err := readManifest(mem, "store"); found != "" || err != nil {
			t.Errorf("%s: a manifest was left, %q, %v", name, found, err)
		}
	}
}

// TestKilledWhileCreated: the process is killed at any moment of a store's creation, and power
// fails at any moment of the next open. The open after that finds a new store.
func TestKilledWhileCreated(t *testing.T) {
	each := func(fs *vfs.Mem, f func(op vfs.Op)) {
		db, err := Open("store", crashOptions(vfs.Inject(fs, func(op vfs.Op) vfs.Fault {
			f(op)
			return vfs.Fault{}
		})))
		if err != nil {
			t.Fatal(err)
		}
		mustClose(t, db)
	}
	made := vfs.NewMem()
	var killed []*vfs.Mem
	each(made, func(vfs.Op) { killed = append(killed, made.Clone()) })
	images := 0
	for i := int64(0); i < int64(len(killed)); i += stride(4) {
		fs := killed[i]
		each(fs, func(op vfs.Op) {
			images++
			if err := openAndClose(fs.Crash(vfs.DropAll, 0)); err != nil {
				t.Errorf("killed before operation %d, power lost before %v: %v", i, op, err)
			}
		})
	}
	if images < 100 {
		t.Errorf("only %d moments", images)
	}
}

func write(t *testing.T, fs vfs.FS, name string, data []byte) {
	t.Helper()
	f, err := fs.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
}
