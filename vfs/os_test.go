//go:build linux || darwin || freebsd || dragonfly

package vfs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

func TestOSPermissions(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := filepath.Join(t.TempDir(), "x", "y")
	must(t, OS.MkdirAll(dir))
	put(t, OS, filepath.Join(dir, "a"), "A")
	l, err := OS.Lock(filepath.Join(dir, "LOCK"))
	must(t, err)
	defer l.Close()
	for name, want := range map[string]os.FileMode{
		dir: 0o700 | os.ModeDir, filepath.Dir(dir): 0o700 | os.ModeDir,
		filepath.Join(dir, "a"): 0o600, filepath.Join(dir, "LOCK"): 0o600,
	} {
		info, err := os.Lstat(name)
		must(t, err)
		if info.Mode() != want {
			t.Errorf("%s: got mode %v, want %v", name, info.Mode(), want)
		}
	}
}

// A planted link or pipe is neither followed nor waited for.
func TestOSSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	target, link, pipe := filepath.Join(dir, "target"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	put(t, OS, target, "target")
	must(t, os.Symlink(target, link))
	must(t, os.Symlink(filepath.Join(dir, "none"), filepath.Join(dir, "dangling")))
	must(t, syscall.Mkfifo(pipe, 0o600))
	for _, name := range []string{link, pipe} {
		if f, err := OS.Open(name); err == nil {
			f.Close()
			t.Errorf("Open(%s): got no error", name)
		}
		if f, err := OS.Reuse(name, filepath.Join(dir, "new")); err == nil {
			f.Close()
			t.Errorf("Reuse(%s): got no error", name)
		}
		if n, err := OS.Stat(name); err == nil {
			t.Errorf("Stat(%s): got %d and no error", name, n)
		}
	}
	if l, err := OS.Lock(link); err == nil {
		l.Close()
		t.Error("Lock of a link: got no error")
	}
	for _, name := range []string{"link", "dangling"} {
		if f, err := OS.Create(filepath.Join(dir, name)); err == nil {
			f.Close()
			t.Errorf("Create over %s: got no error", name)
		}
	}
	_, err := OS.Reuse(target, filepath.Join(dir, "dangling"))
	wantIs(t, "Reuse under the name of a dangling link", err, os.ErrExist)
	wantContent(t, OS, target, "target")
	if _, err := os.Lstat(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("target of the dangling link: got %v, want none", err)
	}
}

// childVariable is set, to a file name, in a process that a test starts.
const childVariable = "VFS_TEST_FILE"

// TestOSLockHolder is the other process of TestOSLockProcesses.
func TestOSLockHolder(t *testing.T) {
	name := os.Getenv(childVariable)
	if name == "" {
		t.Skip("runs as a child only")
	}
	l, err := OS.Lock(name)
	must(t, err)
	defer l.Close()
	fmt.Println("locked")
	io.Copy(io.Discard, os.Stdin) // until killed
}

func TestOSLockProcesses(t *testing.T) {
	name := filepath.Join(t.TempDir(), "LOCK")
	must(t, os.WriteFile(name, []byte("12345678901234567890"), 0o600))
	child := exec.Command(os.Args[0], "-test.run=^TestOSLockHolder$")
	child.Env = append(os.Environ(), childVariable+"="+name)
	stdin, err := child.StdinPipe()
	must(t, err)
	defer stdin.Close()
	stdout, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	defer child.Process.Kill()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "locked\n" {
		t.Fatalf("child: got %q, %v", line, err)
	}

	pid := child.Process.Pid
	_, err = OS.Lock(name)
	var locked *LockedError
	if !errors.As(err, &locked) || *locked != (LockedError{Name: name, PID: pid}) {
		t.Errorf("Lock held by process %d: got %v", pid, err)
	}
	b, err := os.ReadFile(name)
	must(t, err)
	if string(b) != strconv.Itoa(pid) {
		t.Errorf("lock file: got %q, want %d", b, pid)
	}

	must(t, child.Process.Kill())
	child.Wait()
	l, err := OS.Lock(name)
	if err != nil {
		t.Fatalf("Lock after kill -9 of the holder: %v", err)
	}
	must(t, l.Close())
}

func TestLockedErrorUnknownHolder(t *testing.T) {
	name := filepath.Join(t.TempDir(), "LOCK")
	l, err := OS.Lock(name)
	must(t, err)
	defer l.Close()
	for _, content := range []string{"", "nonsense", "-5", "99999999999999999999999"} {
		must(t, os.WriteFile(name, []byte(content), 0o600))
		_, err = OS.Lock(name)
		var locked *LockedError
		if !errors.As(err, &locked) || locked.PID != 0 {
			t.Errorf("lock file %q: got %v, want an unknown holder", content, err)
		}
	}
}

// A file longer than the system allows ends in a short write and an error, not
// in silence.
func TestOSShortWrite(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		name := filepath.Join(t.TempDir(), "a")
		child := exec.Command(os.Args[0], "-test.run=^TestOSShortWrite$")
		child.Env = append(os.Environ(), childVariable+"="+name)
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	lower := limit
	lower.Cur = 1000
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &lower))
	f, err := OS.Create(os.Getenv(childVariable))
	must(t, err)
	n, err := f.Write(make([]byte, 1500))
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	if n != 1000 {
		t.Errorf("write of 1500 bytes where 1000 fit: got %d", n)
	}
	wantIs(t, "write beyond the limit", err, syscall.EFBIG)
	if n, err := f.Size(); n != 1000 || err != nil {
		t.Errorf("Size: got %d, %v, want 1000", n, err)
	}
}
