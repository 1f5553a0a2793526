package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// Everything in this file runs on each implementation, so that they agree.

func eachFS(t *testing.T, test func(t *testing.T, fsys FS, dir string)) {
	t.Run("OS", func(t *testing.T) { test(t, OS, t.TempDir()) })
	t.Run("Mem", func(t *testing.T) {
		m := NewMem()
		must(t, m.MkdirAll("/db"))
		test(t, m, "/db")
	})
	t.Run("Inject", func(t *testing.T) {
		test(t, Inject(OS, func(Op) Fault { return Fault{} }), t.TempDir())
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantIs(t testing.TB, what string, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: got error %v, want %v", what, err, target)
	}
}

// put creates a file without syncing anything.
func put(t testing.TB, fsys FS, name, content string) {
	t.Helper()
	f, err := fsys.Create(name)
	must(t, err)
	writeTo(t, f, content)
	must(t, f.Close())
}

func writeTo(t testing.TB, f File, content string) {
	t.Helper()
	if n, err := io.WriteString(f, content); n != len(content) || err != nil {
		t.Fatalf("write: got %d, %v, want %d", n, err, len(content))
	}
}

// get returns the content of a file, or the error in brackets.
func get(fsys FS, name string) string {
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "<none>"
	}
	if err != nil {
		return fmt.Sprintf("<%v>", err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return fmt.Sprintf("<%v>", err)
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n != len(b) || err != nil {
		return fmt.Sprintf("<read %d of %d: %v>", n, size, err)
	}
	return string(b)
}

func wantContent(t testing.TB, fsys FS, name, want string) {
	t.Helper()
	if got := get(fsys, name); got != want {
		t.Errorf("%s: got %q, want %q", name, got, want)
	}
}

func wantList(t testing.TB, fsys FS, dir string, want ...string) {
	t.Helper()
	got, err := fsys.List(dir)
	must(t, err)
	if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
		t.Errorf("List(%s): got %q, want %q", dir, got, want)
	}
}

func TestCreate(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys FS, dir string) {
		name := path.Join(dir, "a")
		f, err := fsys.Create(name)
		must(t, err)
		wantContent(t, fsys, name, "")
		writeTo(t, f, "hello, ")
		writeTo(t, f, "world")
		must(t, f.Sync())
		if n, err := f.Size(); n != 12 || err != nil {
			t.Errorf("Size: got %d, %v, want 12", n, err)
		}
		if n, err := fsys.Stat(name); n != 12 || err != nil {
			t.Errorf("Stat: got %d, %v, want 12", n, err)
		}
		must(t, f.Close())
		must(t, fsys.SyncDir(dir))
		wantContent(t, fsys, name, "hello, world")

		_, err = fsys.Create(name)
		wantIs(t, "Create of an existing file", err, fs.ErrExist)
		wantContent(t, fsys, name, "hello, world")
		_, err = fsys.Create(dir)
		wantIs(t, "Create of an existing directory", err, fs.ErrExist)
		_, err = fsys.Create(path.Join(dir, "none", "a"))
		wantIs(t, "Create in a missing directory", err, fs.ErrNotExist)
		_, err = fsys.Create(path.Join(name, "a"))
		wantIs(t, "Create below a file", err, syscall.ENOTDIR)
	})
}

func TestOpen(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys FS, dir string) {
		_, err := fsys.Open(path.Join(dir, "a"))
		wantIs(t, "Open of a missing file", err, fs.ErrNotExist)
		_, err = fsys.Open(path.Join(dir, "none", "a"))
		wantIs(t, "Open in a missing directory", err, fs.ErrNotExist)
		_, err = fsys.Open(dir)
		wantIs(t, "Open of a directory", err, syscall.EISDIR)
		_, err = fsys.Stat(dir)
		wantIs(t, "Stat of a directory", err, syscall.EISDIR)
		_, err = fsys.Stat(path.Join(dir, "a"))
		wantIs(t, "Stat of a missing file", err, fs.ErrNotExist)
	})
}

func TestReadAt(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys FS, dir string) {
		name := path.Join(dir, "a")
		put(t, fsys, name, "0123456789")
		f, err := fsys.Open(name)
		must(t, err)
		defer f.Close()
		for _, test := range []struct {
			off  int64
			size int
			want string
			err  error
		}{
			{0, 10, "0123456789", nil},
			{0, 11, "0123456789", io.EOF},
			{3, 4, "3456", nil},
			{8, 4, "89", io.EOF},
			{10, 1, "", io.EOF},
			{99, 1, "", io.EOF},
			{3, 0, "", nil},
			{99, 0, "", nil},
		} {
			b := make([]byte, test.size)
			n, err := f.ReadAt(b, test.off)
			if got := string(b[:n]); got != test.want || err != test.err {
				t.Errorf("ReadAt(%d bytes, %d): got %q, %v, want %q, %v", test.size, test.off, got, err, test.want, test.err)
			}
		}
		if n, err := f.ReadAt(make([]byte, 1), -1); n != 0 || err == nil || err == io.EOF {
			t.Errorf("ReadAt(1 byte, -1): got %d, %v, want an error", n, err)
		}
	})
}

func TestHandleUses(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys FS, dir string) {
		name := path.Join(dir, "a")
		w, err := fsys.Create(name)
		must(t, err)
		r, err := fsys.Open(name)
		must(t, err)
		_, err = w.ReadAt(make([]byte, 1), 0)
		wantIs(t, "ReadAt of a written file", err, syscall.EBADF)
		_, err = r.Write([]byte("x"))
		wantIs(t, "Write of a read file", err, syscall.EBADF)

		writeTo(t, w, "x")
		if n, err := r.Size(); n != 1 || err != nil {
			t.Errorf("Size through another handle: got %d, %v, want 1", n, err)
		}
		must(t, r.Sync())
		for _, f := range []File{r, w} {
			must(t, f.Close())
			wantIs(t, "second Close", f.Close(), fs.ErrClosed)
			wantIs(t, "Sync after Close", f.Sync(), fs.ErrClosed)
			_, err = f.Size()
			wantIs(t, "Size after Close", err, fs.ErrClosed)
			_, err = f.Write([]byte("x"))
			wantIs(t, "Write after Close", err, fs.ErrClosed)
			_, err = f.ReadAt(make([]byte, 1), 0)
			wantIs(t, "ReadAt after Close", err, fs.ErrClosed)
		}
	})
}

func TestReuse(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys FS, dir string) {
		a, b, c := path.Join(dir, "a"), path.Join(dir, "b"), path.Join(dir, "c")
		put(t, fsys, a, "0123456789")
		f, err := fsys.Reuse(a, b)
		must(t, err)
		wantList(t, fsys, dir, "b")
		wantContent(t, fsys, b, "0123456789")
		writeTo(t, f, "abc")
		writeTo(t, f, "d")
		must(t, f.Sync())
		if n, err := f.Size(); n != 10 || err != nil {
			t.Errorf("Size: got %d, %v, want 10", n, err)
		}
		wantContent(t, fsys, b, "abcd456789")
		writeTo(t, f, "efghijkl")
		wantContent(t, fsys, b, "abcdefghijkl")
		must(t, f.Close())

		put(t, fsys, c, "c")
		_, err = fsys.Reuse(b, c)
		wantIs(t, "Reuse under a name that is taken", err, fs.ErrExist)
		_, err = fsys.Reuse(a, path.Join(dir, "d"))
		wantIs(t, "Reuse of a missing file", err, fs.ErrNotExist)
		_, err = fsys.Reuse(b, path.Join(dir, "none", "d"))
		wantIs(t, "Reuse into a missing directory", err, fs.ErrNotExist)
		_, err = fsys.Reuse(dir, path.Join(dir, "d"))
		wantIs(t, "Reuse of a directory", err, syscall.EISDIR)
		wantList(t, fsys, dir, "b", "c")
		wantContent(t, fsys, b, "abcdefghijkl")
		wantContent(t, fsys, c, "c")
	})
}

// TestReuseKeepsTheRest: of what a file held, a write keeps all but the bytes that it writes and those
// behind them up to a multiple of blockSize; the first ones may become zeros.
func TestReuseKeepsTheRest(t *testing.T) {
	for _, size := range []int{3 * blockSize, 3*blockSize + 100} {
		eachFS(t, func(t *testing.T, fsys FS, dir string) {
			for _, name := range []string{"a", "b"} { // Mem sets zeros in every other file
				testReuseKeepsTheRest(t, fsys, path.Join(dir, name), size)
			}
		})
	}
}

func testReuseKeepsTheRest(t *testing.T, fsys FS, name string, size int) {
	t.Helper()
	put(t, fsys, name, strings.Repeat("x", size))
	f, err := fsys.Reuse(name, name+"2")
	must(t, err)
	defer f.Close()
	written := ""
	for i, n := range []int{77, 500, blockSize - 577, 1, 5000, 3000, 100, 90, 200, 3 * blockSize, 1} {
		p := strings.Repeat(string(rune('a'+i)), n)
		writeTo(t, f, p)
		written += p
		got := get(fsys, name+"2")
		if len(got) != max(size, len(written)) || !strings.HasPrefix(got, written) {
			t.Fatalf("size %d, write %d: the file does not begin with what was written, or has %d bytes", size, i, len(got))
		}
		end := int(blockEnd(int64(len(written))))
		if end > size {
			end = len(written) // nothing becomes zeros there
		}
		if strings.Trim(strings.TrimLeft(got[len(written):end], "\x00"), "x") != "" {
			t.Errorf("size %d, write %d: what follows is neither zeros nor old", size, i)
		}
		if rest := got[end:]; rest != strings.Repeat("x", len(rest)) {
			t.Errorf("size %d, write %d: what comes after the unit has changed", size, i)
		}
	}
	must(t, f.Sync())
}

func TestRename(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys FS, dir string) {
		a, b := path.Join(dir, "a"), path.Join(dir, "b")
		put(t, fsys, a, "A")
		put(t, fsys, b, "B")
		old, err := fsys.Open(b)
		must(t, err)
		defer old.Close()
		must(t, fsys.Rename(a, b))
		wantList(t, fsys, dir, "b")
		wantContent(t, fsys, b, "A")
		buf := make([]byte, 1)
		if _, err := old.ReadAt(buf, 0); string(buf) != "B" || err != nil {
			t.Errorf("read of a replaced file: got %q, %v, want B", buf, err)
		}
		must(t, fsys.Rename(b, b))
		wantContent(t, fsys, b, "A")

		sub := path.Join(dir, "sub")
		must(t, fsys.MkdirAll(sub))
		must(t, fsys.Rename(b, path.Join(sub, "c")))
		wantList(t, fsys, dir, "sub")
		wantContent(t, fsys, path.Join(sub, "c"), "A")

		wantIs(t, "Rename of a missing file", fsys.Rename(a, b), fs.ErrNotExist)
		wantIs(t, "Rename into a missing directory", fsys.Rename(path.Join(sub, "c"), path.Join(dir, "none", "c")), fs.ErrNotExist)
		wantIs(t, "Rename over a directory", fsys.Rename(path.Join(sub, "c"), sub), fs.ErrExist)
	})
}

func TestLink(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys FS, dir string) {
		sub := path.Join(dir, "sub")
		must(t, fsys.MkdirAll(sub))
		a, b := path.Join(dir, "a"), path.Join(sub, "b")
		w, err := fsys.Create(a)
		must(t, err)
		must(t, fsys.Link(a, b))
		writeTo(t, w, "A")
		must(t, w.Close())
		wantContent(t, fsys, b, "A")
		must(t, fsys.Remove(a))
		wantList(t, fsys, dir, "sub")
		wantContent(t, fsys, b, "A")

		wantIs(t, "Link of a missing file", fsys.Link(a, path.Join(sub, "c")), fs.ErrNotExist)
		wantIs(t, "Link into a missing directory", fsys.Link(b, path.Join(dir, "none", "c")), fs.ErrNotExist)
		put(t, fsys, a, "another")
		wantIs(t, "Link over a file", fsys.Link(a, b), fs.ErrExist)
		wantIs(t, "Link over a directory", fsys.Link(a, sub), fs.ErrExist)
		wantContent(t, fsys, b, "A")
		if err := fsys.Link(a, b); CannotLink(err) {
			t.Errorf("CannotLink(%v): got true for a taken name", err)
		}
		if !CannotLink(&fs.PathError{Op: "link", Path: b, Err: syscall.EXDEV}) {
			t.Error("CannotLink: got false for two file systems")
		}
	})
}

func TestRemove(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys FS, dir string) {
		sub, a := path.Join(dir, "sub"), path.Join(dir, "sub", "a")
		must(t, fsys.MkdirAll(sub))
		w, err := fsys.Create(a)
		must(t, err)
		r, err := fsys.Open(a)
		must(t, err)
		wantIs(t, "Remove of a full directory", fsys.Remove(sub), syscall.ENOTEMPTY)
		must(t, fsys.Remove(a))
		wantContent(t, fsys, a, "<none>")
		wantIs(t, "second Remove", fsys.Remove(a), fs.ErrNotExist)

		put(t, fsys, a, "new")
		writeTo(t, w, "old")
		buf := make([]byte, 3)
		if _, err := r.ReadAt(buf, 0); string(buf) != "old" || err != nil {
			t.Errorf("read of a removed file: got %q, %v, want old", buf, err)
		}
		wantContent(t, fsys, a, "new")
		must(t, w.Close())
		must(t, r.Close())

		must(t, fsys.Remove(a))
		must(t, fsys.Remove(sub))
		wantList(t, fsys, dir)
	})
}

func TestDirectories(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys FS, dir string) {
		deep := path.Join(dir, "x", "y", "z")
		must(t, fsys.MkdirAll(deep))
		must(t, fsys.MkdirAll(deep))
		must(t, fsys.MkdirAll(path.Join(dir, "x")))
		for _, name := range []string{"b", "a", "B", "a.b", "a-b", "10", "9"} {
			put(t, fsys, path.Join(dir, name), "")
		}
		wantList(t, fsys, dir, "10", "9", "B", "a", "a-b", "a.b", "b", "x")
		wantList(t, fsys, deep)
		wantList(t, fsys, path.Join(dir, "x"), "y")
		must(t, fsys.SyncDir(deep))

		a := path.Join(dir, "a")
		wantIs(t, "MkdirAll over a file", fsys.MkdirAll(a), syscall.ENOTDIR)
		wantIs(t, "MkdirAll below a file", fsys.MkdirAll(path.Join(a, "b")), syscall.ENOTDIR)
		_, err := fsys.List(path.Join(dir, "none"))
		wantIs(t, "List of a missing directory", err, fs.ErrNotExist)
		_, err = fsys.List(a)
		wantIs(t, "List of a file", err, syscall.ENOTDIR)
		wantIs(t, "SyncDir of a missing directory", fsys.SyncDir(path.Join(dir, "none")), fs.ErrNotExist)
		wantIs(t, "SyncDir of a file", fsys.SyncDir(a), syscall.ENOTDIR)
	})
}

func TestLock(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys FS, dir string) {
		name := path.Join(dir, "LOCK")
		held, err := fsys.Lock(name)
		must(t, err)
		wantList(t, fsys, dir, "LOCK")
		_, err = fsys.Lock(name)
		var locked *LockedError
		if !errors.As(err, &locked) {
			t.Fatalf("second Lock: got %v, want a LockedError", err)
		}
		if want := (LockedError{Name: name, PID: syscall.Getpid()}); *locked != want {
			t.Errorf("second Lock: got %+v, want %+v", *locked, want)
		}
		if got, want := err.Error(), fmt.Sprintf("lock %s: held by process %d", name, syscall.Getpid()); got != want {
			t.Errorf("second Lock: got error %q, want %q", got, want)
		}
		must(t, held.Close())
		held, err = fsys.Lock(name)
		must(t, err)
		must(t, held.Close())
		wantList(t, fsys, dir, "LOCK")
		wantIs(t, "second Close of a lock", held.Close(), fs.ErrClosed)
		_, err = fsys.Lock(dir)
		wantIs(t, "Lock of a directory", err, syscall.EISDIR)
		_, err = fsys.Lock(path.Join(dir, "none", "LOCK"))
		wantIs(t, "Lock in a missing directory", err, fs.ErrNotExist)
	})
}

func TestFreeSpace(t *testing.T) {
	eachFS(t, func(t *testing.T, fsys FS, dir string) {
		if n, err := fsys.FreeSpace(dir); n == 0 || err != nil {
			t.Errorf("FreeSpace: got %d, %v, want some", n, err)
		}
		_, err := fsys.FreeSpace(path.Join(dir, "none"))
		wantIs(t, "FreeSpace of a missing directory", err, fs.ErrNotExist)
	})
}
