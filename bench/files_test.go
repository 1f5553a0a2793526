package bench

import (
	"path"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colonnade-db/colonnade/vfs"
)

// traffic counts the bytes that pass through a file system.
type traffic struct {
	vfs.FS

	read    atomic.Int64 // bytes, of all files
	written atomic.Int64 // bytes, of all files
	tables  atomic.Int64 // bytes written to sorted files
	fills   atomic.Int64 // bytes written to make new log segments

	// When files were last written or removed, in Unix nanoseconds: all of them, and all but the
	// log. An idle log is still sealed, and its next segment made.
	anyChange, tableChange atomic.Int64
}

func (t *traffic) Create(name string) (vfs.File, error) {
	f, err := t.FS.Create(name)
	return t.count(name, f), err
}

func (t *traffic) Open(name string) (vfs.File, error) {
	f, err := t.FS.Open(name)
	return t.count(name, f), err
}

func (t *traffic) Reuse(old, new string) (vfs.File, error) {
	f, err := t.FS.Reuse(old, new)
	return t.count(new, f), err
}

func (t *traffic) Remove(name string) error {
	defer t.touch(name)
	return t.FS.Remove(name)
}

// count returns f with its bytes counted, or nil if f is nil.
func (t *traffic) count(name string, f vfs.File) vfs.File {
	if f == nil {
		return nil
	}
	t.touch(name)
	return &countedFile{f, t, name}
}

// touch records a change of the file.
func (t *traffic) touch(name string) {
	now := time.Now().UnixNano()
	t.anyChange.Store(now)
	if path.Base(path.Dir(name)) != "wal" {
		t.tableChange.Store(now)
	}
}

// quiet is the time without changes of files that counts as the end.
const quiet = 100 * time.Millisecond

// awaitQuiet waits until nothing changes any more, and returns the time of the last change.
func awaitQuiet(change *atomic.Int64) time.Time {
	for {
		last := time.Unix(0, change.Load())
		rest := quiet - time.Since(last)
		if rest <= 0 {
			return last
		}
		time.Sleep(rest)
	}
}

type countedFile struct {
	vfs.File
	traffic *traffic
	name    string
}

func (f *countedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	f.traffic.read.Add(int64(n))
	return n, err
}

func (f *countedFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.traffic.written.Add(int64(n))
	switch path.Ext(f.name) {
	case ".sst":
		f.traffic.tables.Add(int64(n))
	case ".fill":
		f.traffic.fills.Add(int64(n))
	}
	f.traffic.touch(f.name)
	return n, err
}

func (f *countedFile) Sync() error {
	defer f.traffic.touch(f.name)
	return f.File.Sync()
}

func (f *countedFile) Close() error {
	defer f.traffic.touch(f.name)
	return f.File.Close()
}

func TestTrafficIsCounted(t *testing.T) {
	fs := &traffic{FS: vfs.NewMem()}
	write := func(name, text string) {
		f, err := fs.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := fs.MkdirAll("store/wal"); err != nil {
		t.Fatal(err)
	}
	write("store/wal/1.fill", "123")
	write("store/wal/1.log", "1234")
	if fs.anyChange.Load() == 0 || fs.tableChange.Load() != 0 {
		t.Error("the log does not count as a change, or as one of tables")
	}
	write("store/1.sst", "12345")
	if fs.tableChange.Load() == 0 {
		t.Error("a sorted file does not count as a change")
	}
	f, err := fs.Open("store/1.sst")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.ReadAt(make([]byte, 2), 1); err != nil {
		t.Fatal(err)
	}
	got := [...]int64{fs.read.Load(), fs.written.Load(), fs.tables.Load(), fs.fills.Load()}
	if want := [...]int64{2, 12, 5, 3}; got != want {
		t.Errorf("read, written, of that tables and fills: %v, want %v", got, want)
	}
}
