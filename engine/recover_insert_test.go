package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// TestRecoveryInTables: recovery fills a memtable table by table. It reads as before the kill, with
// rows and versions in several tables, and becomes one file.
func TestRecoveryInTables(t *testing.T) {
	fs := vfs.NewMem()
	open := func(fs vfs.FS) *DB {
		opt := testOptions(fs)
		opt.LogBytes = 16 << 20 // no flush to make room in the log
		db, err := Open("store", opt)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := open(fs)
	id := mustCreate(t, db, "a")[0]
	r := rand.New(rand.NewPCG(1, 0))
	value := strings.Repeat("v", 400)
	for n := range 300 {
		var b Batch
		for range 1 + n%100/99*199 { // some are too large for a chunk
			row, c := set(fmt.Sprint("row", r.IntN(40)), fmt.Sprint("q", r.IntN(4)), fmt.Sprint(n, value))
			if c.Time = int64(r.IntN(50)); r.IntN(4) == 0 {
				c.Kind, c.Type, c.Value = cell.DeleteVersion, 0, nil
			}
			b.Add(id, row, c)
		}
		if _, err := db.Commit(context.Background(), &b); err != nil {
			t.Fatal(err)
		}
	}
	want := contents(t, db, id)
	killed := fs.Clone()
	mustClose(t, db)

	checked := make(chan struct{})
	look := sync.OnceFunc(func() { close(checked) })
	defer look() // before the store is closed
	killed.SetHook(func(op vfs.Op, done bool) {
		if !done && op.Kind == vfs.OpCreate && strings.Contains(op.Name, manifest.PartitionsDir) {
			<-checked
		}
	})
	db = open(killed)
	t.Cleanup(func() { mustClose(t, db) })
	p := db.partitions[id]
	db.mu.Lock()
	counted, held, tables := db.memTableBytes.Load(), int64(0), 0
	for _, m := range p.frozen {
		for _, table := range m.tables {
			held += table.Bytes()
			tables++
		}
	}
	frozen := len(p.frozen)
	db.mu.Unlock()
	if frozen != 1 || tables < 4 {
		t.Errorf("%d frozen memTables after the open, of %d tables; want one of several", frozen, tables)
	}
	if counted != held {
		t.Errorf("the tables are counted as %d bytes, want %d", counted, held)
	}
	if got := contents(t, db, id); !slices.Equal(got, want) {
		t.Errorf("from the memTable got %d cells, want the %d there were: %.300q", len(got), len(want), got)
	}
	look()
	eventually(db, func() bool { return len(p.frozen) == 0 })
	if n := len(p.version.Levels[0]); n != 1 {
		t.Errorf("%d files in level 0, want 1", n)
	}
	if got := contents(t, db, id); !slices.Equal(got, want) {
		t.Errorf("from the file got %d cells, want the %d there were: %.300q", len(got), len(want), got)
	}
}
