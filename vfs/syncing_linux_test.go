//go:build !arm

package vfs

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// rangeCall is one of sync_file_range.
type rangeCall struct {
	from, n int64
	flags   int
}

// paced creates a file whose calls are noted, and answered with the error that fail points to.
func syncing(t *testing.T) (p *syncingFile, name string, calls *[]rangeCall, fail *error) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "f")
	f, err := OS.Create(name)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	p, calls, fail = f.(*syncingFile), new([]rangeCall), new(error)
	p.syncRange = func(from, n int64, flags int) error {
		*calls = append(*calls, rangeCall{from, n, flags})
		return *fail
	}
	return p, name, calls, fail
}

// TestSyncing: stretches go to the disk one after another, each after the one before, and none that a
// Sync has dealt with.
func TestSyncing(t *testing.T) {
	p, name, calls, _ := syncing(t)
	piece := bytes.Repeat([]byte("a"), bytesPerSync/2)
	for range 7 {
		writeTo(t, p, string(piece))
	}
	must(t, p.Sync())
	writeTo(t, p, string(piece))
	writeTo(t, p, string(piece))
	const n = bytesPerSync
	want := []rangeCall{
		{0, n, rangeWrite},
		{0, n, rangeWaitBefore}, {n, n, rangeWrite},
		{n, n, rangeWaitBefore}, {2 * n, n, rangeWrite},
		{3*n + n/2, n, rangeWrite},
	}
	if !slices.Equal(*calls, want) {
		t.Errorf("calls %v, want %v", *calls, want)
	}
	got, err := os.ReadFile(name)
	must(t, err)
	if !bytes.Equal(got, bytes.Repeat(piece, 9)) {
		t.Errorf("the file has %d bytes that are not those written", len(got))
	}
}

// TestSyncingFailure: a write to the disk that failed fails all that comes after it, since the kernel
// does not report it again.
func TestSyncingFailure(t *testing.T) {
	p, _, _, fail := syncing(t)
	*fail = syscall.EIO
	_, err := p.Write(make([]byte, bytesPerSync))
	wantIs(t, "Write", err, syscall.EIO)
	*fail = nil
	_, err = p.Write([]byte("a"))
	wantIs(t, "the next Write", err, syscall.EIO)
	wantIs(t, "Sync", p.Sync(), syscall.EIO)
}

// TestSyncingFailureLater: what would be a refusal of the first call is a failure of a write to the disk
// when a file system has taken one before.
func TestSyncingFailureLater(t *testing.T) {
	p, _, calls, fail := syncing(t)
	writeTo(t, p, string(make([]byte, bytesPerSync)))
	*fail = syscall.EOPNOTSUPP
	_, err := p.Write(make([]byte, bytesPerSync))
	wantIs(t, "Write", err, syscall.EOPNOTSUPP)
	if last := (*calls)[len(*calls)-1]; last.flags != rangeWaitBefore {
		t.Errorf("the last call is %v, want one that waits", last)
	}
	wantIs(t, "Sync", p.Sync(), syscall.EOPNOTSUPP)
}

// TestSyncingNowhere: a file system without such calls is written as any other.
func TestSyncingNowhere(t *testing.T) {
	p, _, calls, fail := syncing(t)
	*fail = syscall.EINVAL
	writeTo(t, p, "a little first")
	must(t, p.Sync())
	for range 3 {
		writeTo(t, p, string(make([]byte, bytesPerSync)))
	}
	must(t, p.Sync())
	if len(*calls) != 1 {
		t.Errorf("%d calls, want one that is refused", len(*calls))
	}
}
