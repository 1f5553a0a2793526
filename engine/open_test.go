package engine

import (
	"testing"

	"colonnade/vfs"
)

// TestNewDirectoriesAreDurable: a store in a directory whose parents are new as
// well is not lost with one of them.
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
