package engine

import (
	"errors"
	"fmt"
	"testing"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// TestTooManyPartitions: no more than MaxPartitions can be created. The existing ones keep working,
// and a store with more can be opened.
func TestTooManyPartitions(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 s under the race detector")
	}
	fs := vfs.NewMem()
	db := mustOpen(t, fs)
	names := make([]string, MaxPartitions)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	ids, err := db.CreatePartitions(names[:MaxPartitions-1]...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.CreatePartitions("two", "more"); !errors.Is(err, ErrPartitions) {
		t.Errorf("two where one is left: got %v, want ErrPartitions", err)
	}
	mustCreate(t, db, "last")
	if _, err := db.CreatePartitions("more"); !errors.Is(err, ErrPartitions) {
		t.Errorf("one more: got %v, want ErrPartitions", err)
	}
	if err := db.DropPartitions(ids[0]); err != nil {
		t.Fatal(err)
	}
	mustCreate(t, db, "instead")
	mustPut(t, db, ids[1], "row", "q", "v")

	err = db.install(nil, func(m *manifest.Manifest) error { // an earlier version may have created such a store
		mp := m.Partitions[ids[1]]
		more := mp.With(mp.Flushed, mp.Version)
		more.ID = m.NextPartition
		m.Partitions[more.ID] = more
		m.NextPartition++
		return nil
	}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, db)
	db = mustOpen(t, fs)
	defer mustClose(t, db)
	if n := len(db.Partitions()); n != MaxPartitions+1 {
		t.Errorf("opened with %d partitions, want %d", n, MaxPartitions+1)
	}
	if got := contents(t, db, ids[1]); len(got) != 1 {
		t.Errorf("got %q, want the row that was written", got)
	}
	mustPut(t, db, ids[2], "row", "q", "v")
	if _, err := db.CreatePartitions("more"); !errors.Is(err, ErrPartitions) {
		t.Errorf("in a store that has too many: got %v, want ErrPartitions", err)
	}
}
