package faults

import (
	"context"
	"io"
	"testing"

	"github.com/colonnade-db/colonnade/reliability/report"
	"github.com/colonnade-db/colonnade/reliability/script"
	"github.com/colonnade-db/colonnade/vfs"
)

// swept makes every operation of a short workload fail, until the first broken
// promise.
func swept(t *testing.T, between func(vfs.FS) vfs.FS) *report.Section {
	w, s := workloads[0], new(report.Section)
	w.steps, w.life = 5, 3
	w.level = func(fs vfs.FS, size script.Size) (script.Store, error) { return script.Engine(between(fs), size) }
	sweep(context.Background(), &w, report.Env{Seed: 3, First: true}, s)
	return s
}

func TestStoreKeepsItsPromises(t *testing.T) {
	s := swept(t, func(fs vfs.FS) vfs.FS { return fs })
	if s.Failed() {
		data, _ := s.MarshalJSON()
		t.Fatalf("%s", data)
	}
	for _, name := range []string{"injections", "second_fault_images"} {
		if n := s.Figures()[name].Value; n < 500 {
			t.Errorf("%s is only %d", name, n)
		}
	}
}

// careless is a file system whose files hide a failure.
type careless struct {
	vfs.FS
	file func(vfs.File) vfs.File
}

func (c careless) Create(name string) (vfs.File, error)    { return c.wrap(c.FS.Create(name)) }
func (c careless) Open(name string) (vfs.File, error)      { return c.wrap(c.FS.Open(name)) }
func (c careless) Reuse(old, new string) (vfs.File, error) { return c.wrap(c.FS.Reuse(old, new)) }
func (c careless) wrap(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return c.file(f), nil
}

// A store on each of these breaks a promise, and has to be found out.
type (
	retriesSync  struct{ vfs.File }
	ignoresSync  struct{ vfs.File }
	ignoresClose struct{ vfs.File }
	endsEarly    struct{ vfs.File }
)

func (f retriesSync) Sync() error {
	if f.File.Sync() == nil {
		return nil
	}
	return f.File.Sync()
}

func (f ignoresSync) Sync() error {
	f.File.Sync()
	return nil
}

func (f ignoresClose) Close() error {
	f.File.Close()
	return nil
}

func (f endsEarly) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

func TestFindsHiddenFailures(t *testing.T) {
	for name, file := range map[string]func(vfs.File) vfs.File{
		"sync tried again":     func(f vfs.File) vfs.File { return retriesSync{f} },
		"sync ignored":         func(f vfs.File) vfs.File { return ignoresSync{f} },
		"close ignored":        func(f vfs.File) vfs.File { return ignoresClose{f} },
		"read error is an end": func(f vfs.File) vfs.File { return endsEarly{f} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := swept(t, func(fs vfs.FS) vfs.FS { return careless{fs, file} })
			if !s.Failed() {
				t.Error("nothing was found")
			}
		})
	}
}

// What failGroup reports of a store that keeps its promises is nothing; a row of
// which a part is missing it must see.
func TestJudgesGroups(t *testing.T) {
	disk := vfs.NewMem()
	size := small
	store, err := script.Engine(disk, size)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := store.Create("shared"); err != nil {
		t.Fatal(err)
	}
	results := make([]error, 2)
	if err := judgeGroup(disk, results, size); err == nil {
		t.Error("a write whose sync failed may be acknowledged")
	}
	if err := wholeRows(disk.Clone(), size); err == nil {
		t.Error("the row that was acknowledged may be missing")
	}
	half := groupRow(1)
	half.Values[1] = ""
	if err := store.Write("shared", []script.Row{groupRow(0), half}); err != nil {
		t.Fatal(err)
	}
	if err := wholeRows(disk.Clone(), size); err == nil {
		t.Error("a row may be there by halves")
	}
}
