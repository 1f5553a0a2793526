package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// direct reports whether O_DIRECT is on.
func direct(t *testing.T, f *os.File) (on bool) {
	t.Helper()
	must(t, control(f, "fcntl", func(fd int) error {
		flags, err := fcntl(fd, syscall.F_GETFL, 0)
		on = flags&syscall.O_DIRECT != 0
		return err
	}))
	return on
}

// reuse makes a file of so many bytes and opens it for writing over them.
func reuse(t *testing.T, size int) (f File, name string) {
	t.Helper()
	dir := t.TempDir()
	old, name := filepath.Join(dir, "old"), filepath.Join(dir, "new")
	must(t, os.WriteFile(old, bytes.Repeat([]byte("x"), size), 0o600))
	f, err := OS.Reuse(old, name)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f, name
}

// supported reports whether this file system can be written past the page cache at all.
func supported(t *testing.T) bool {
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "f"), os.O_WRONLY|os.O_CREATE|syscall.O_DIRECT, 0o600)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// TestDirectStaysDirect: what is written past the page cache at first is so to the end, so the kernel
// found nothing to refuse in places and lengths.
func TestDirectStaysDirect(t *testing.T) {
	f, name := reuse(t, 4*maxDirectWrite)
	d, ok := f.(*directFile)
	if want := supported(t); ok != want {
		t.Fatalf("written past the cache: %v, want %v", ok, want)
	}
	if !ok {
		return
	}
	var want []byte
	for i, n := range []int{77, 1, 3000, blockSize, 5 * blockSize, 100_000, 7, maxDirectWrite, maxDirectWrite + 12345, blockSize - 1, 2} {
		p := bytes.Repeat([]byte{byte('a' + i)}, n)
		writeTo(t, f, string(p))
		want = append(want, p...)
	}
	must(t, f.Sync())
	if !direct(t, d.f) {
		t.Error("O_DIRECT is off after writes inside the file")
	}
	got, err := os.ReadFile(name)
	must(t, err)
	if len(got) != 4*maxDirectWrite || !bytes.Equal(got[:len(want)], want) {
		t.Errorf("the file has %d bytes that begin otherwise than what was written", len(got))
	}
}

// asDirect returns a directFile of a file of so many bytes, whatever the file system says.
func asDirect(t *testing.T, size int) (d *directFile, name string) {
	t.Helper()
	f, name := reuse(t, size)
	if d, ok := f.(*directFile); ok {
		return d, name
	}
	o := f.(*osFile)
	return &directFile{osFile: *o, writeAt: o.f.WriteAt, size: int64(size)}, name
}

// TestDirectGivesWay: what the kernel refuses to write past the page cache goes through it.
func TestDirectGivesWay(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EINVAL, syscall.EOPNOTSUPP} {
		d, name := asDirect(t, 4*blockSize)
		writeTo(t, d, "begin")
		refusals := 0
		d.writeAt = func(b []byte, at int64) (int, error) {
			if refusals == 0 {
				refusals++
				return 0, &fs.PathError{Op: "write", Path: name, Err: errno}
			}
			return d.f.WriteAt(b, at)
		}
		writeTo(t, d, " middle")
		if direct(t, d.f) {
			t.Errorf("%v: O_DIRECT is still on", errno)
		}
		writeTo(t, d, " end")
		got, err := os.ReadFile(name)
		must(t, err)
		if len(got) != 4*blockSize || !bytes.HasPrefix(got, []byte("begin middle end")) {
			t.Errorf("%v: the file has %d bytes that begin with %q", errno, len(got), got[:20])
		}
	}
}

// TestDirectWriteFails: an error of the device is reported, and the next write goes where the one
// that failed should have gone, whatever that has left there.
func TestDirectWriteFails(t *testing.T) {
	d, name := asDirect(t, 2*maxDirectWrite)
	writeTo(t, d, "begin")
	fail := 2 // the first piece succeeds
	d.writeAt = func(b []byte, at int64) (int, error) {
		if fail--; fail == 0 {
			d.f.WriteAt(b[:blockSize], at)
			return 0, &fs.PathError{Op: "write", Path: name, Err: syscall.EIO}
		}
		return d.f.WriteAt(b, at)
	}
	n, err := d.Write(bytes.Repeat([]byte("x"), maxDirectWrite+100))
	if n != maxDirectWrite {
		t.Errorf("Write says %d bytes, want %d", n, maxDirectWrite)
	}
	wantIs(t, "a write to a failing device", err, syscall.EIO)
	writeTo(t, d, " end")
	got, err := os.ReadFile(name)
	must(t, err)
	want := "begin" + strings.Repeat("x", maxDirectWrite) + " end\x00"
	if !strings.HasPrefix(string(got), want) || len(got) != 2*maxDirectWrite {
		t.Errorf("%d bytes, which end with %q", len(got), got[maxDirectWrite:maxDirectWrite+20])
	}
	must(t, d.Close())
	d.writeAt = d.f.WriteAt
	_, err = d.Write([]byte("x"))
	wantIs(t, "Write after Close", err, fs.ErrClosed)
}

func TestToUnit(t *testing.T) {
	for address, want := range map[uintptr]int{0: 0, 1: blockSize - 1, blockSize - 1: 1, blockSize: 0, 5*blockSize + 8: blockSize - 8} {
		if got := alignGap(address); got != want {
			t.Errorf("%d bytes from %d on, want %d", got, address, want)
		}
	}
}

// BenchmarkOverwrite writes over a file of 16 MiB and syncs it, past the page cache and through it.
func BenchmarkOverwrite(b *testing.B) {
	const size = 16 << 20
	for _, n := range []int{1 << 10, 32 << 10, 256 << 10} {
		for _, cached := range []bool{false, true} {
			b.Run(fmt.Sprintf("bytes=%d/cached=%v", n, cached), func(b *testing.B) {
				name := filepath.Join(b.TempDir(), "f")
				p := bytes.Repeat([]byte("x"), n)
				must(b, os.WriteFile(name, make([]byte, size), 0o600))
				var f File
				left := 0
				b.SetBytes(int64(n))
				for b.Loop() {
					if left < n {
						f, left = overwritten(b, name, cached), size
					}
					_, err := f.Write(p)
					must(b, errors.Join(err, f.Sync()))
					left -= n
				}
			})
		}
	}
}

// overwritten opens a file of this name for writing from its front, all of it on the disk.
func overwritten(b *testing.B, name string, cached bool) File {
	f, err := openRegular(name, os.O_WRONLY)
	must(b, err)
	b.Cleanup(func() { f.Close() })
	must(b, f.Sync())
	if cached {
		return &osFile{f}
	}
	return wrapReused(f)
}
