package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// direct reports whether O_DIRECT is on.
func direct(t *testing.T, f *os.File) (on bool) {
	t.Helper()
	must(t, control(f, "fcntl", func(fd int) error {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		on = flags&unix.O_DIRECT != 0
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
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "f"), os.O_WRONLY|os.O_CREATE|unix.O_DIRECT, 0o600)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// TestDirectStaysDirect: what is written past the page cache at first is so to the end, so the kernel
// found nothing to refuse in places and lengths.
func TestDirectStaysDirect(t *testing.T) {
	f, name := reuse(t, 4*mostDirect)
	d, ok := f.(*directFile)
	if want := supported(t); ok != want {
		t.Fatalf("written past the cache: %v, want %v", ok, want)
	}
	if !ok {
		return
	}
	var want []byte
	for i, n := range []int{77, 1, 3000, BlockSize, 5 * BlockSize, 100_000, 7, mostDirect + 12345, BlockSize - 1, 2} {
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
	if len(got) != 4*mostDirect || !bytes.Equal(got[:len(want)], want) {
		t.Errorf("the file has %d bytes that begin otherwise than what was written", len(got))
	}
}

// TestDirectGivesWay: where the kernel refuses to write past the page cache, the bytes go through it.
func TestDirectGivesWay(t *testing.T) {
	f, name := reuse(t, 4*BlockSize)
	d, ok := f.(*directFile)
	if !ok {
		d = &directFile{osFile: *f.(*osFile), size: 4 * BlockSize}
	}
	d.buf = make([]byte, 4*BlockSize+1)[1:] // no device takes that
	want := bytes.Repeat([]byte("0123456789"), 700)
	for p := range bytes.SplitSeq(want, []byte("5")) { // all of them but the fives
		writeTo(t, d, string(p))
	}
	want = bytes.ReplaceAll(want, []byte("5"), nil)
	if direct(t, d.f) {
		t.Error("O_DIRECT is still on")
	}
	got, err := os.ReadFile(name)
	must(t, err)
	if len(got) != 4*BlockSize || !bytes.Equal(got[:len(want)], want) {
		t.Errorf("the file has %d bytes that begin otherwise than what was written", len(got))
	}
}

// TestDirectWriteFails: what a write that fails did not take is written by the next one.
func TestDirectWriteFails(t *testing.T) {
	f, name := reuse(t, 4*BlockSize)
	d, ok := f.(*directFile)
	if !ok {
		d = &directFile{osFile: *f.(*osFile), size: 4 * BlockSize}
	}
	writeTo(t, d, "begin")
	open := d.f
	readOnly, err := os.Open(name)
	must(t, err)
	defer readOnly.Close()
	d.f = readOnly
	if n, err := d.Write([]byte("lost")); n != 0 || err == nil {
		t.Fatalf("Write to a file that is open for reading only: got %d, %v", n, err)
	}
	d.f = open
	writeTo(t, d, " end")
	got, err := os.ReadFile(name)
	must(t, err)
	if !bytes.HasPrefix(got, []byte("begin end\x00")) {
		t.Errorf("got %q", got[:20])
	}
	must(t, d.Close())
	if _, err := d.Write([]byte("x")); err == nil {
		t.Error("a closed file was written")
	} else {
		wantIs(t, "Write after Close", err, fs.ErrClosed)
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
	return overwriting(f)
}
