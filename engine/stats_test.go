package engine

import (
	"errors"
	"testing"

	"github.com/colonnade-db/colonnade/vfs"
)

// TestStats: the statistics of a partition follow its levels, and end with it.
func TestStats(t *testing.T) {
	db := mustOpen(t, vfs.NewMem())
	defer mustClose(t, db)
	id := mustCreate(t, db, "a")[0]
	flushed(t, db, id, 2)
	mustPut(t, db, id, "row", "q", "v")
	s, err := db.Stats(id)
	if err != nil || len(s.Levels) != 1 || s.Levels[0].Files != 2 || s.Levels[0].Bytes != s.DiskBytes || s.Entries != 4 || s.MemtableBytes == 0 || s.Damage != nil {
		t.Errorf("got %+v, %v, want 4 entries in 2 files of level 0", s, err)
	}
	if err := db.DropPartitions(id); err != nil {
		t.Fatal(err)
	}
	for _, none := range []PartitionID{id, 99} {
		if _, err := db.Stats(none); !errors.Is(err, ErrNoPartition) {
			t.Errorf("Stats of partition %d returned %v, want ErrNoPartition", none, err)
		}
	}
}
