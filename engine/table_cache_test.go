package engine

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/vfs"
)

// counted counts the sorted files that are open for reading, and can refuse to open more.
type counted struct {
	vfs.FS
	refuse    atomic.Int64 // number of open files from which on opens fail, 0 for never
	now, most atomic.Int64
	opened    atomic.Int64 // opens in total
}

type countedFile struct {
	vfs.File
	fs *counted
}

func (c *counted) Open(name string) (vfs.File, error) {
	if !strings.HasSuffix(name, manifest.TableSuffix) {
		return c.FS.Open(name)
	}
	if refuse := c.refuse.Load(); refuse > 0 && c.now.Load() >= refuse {
		return nil, fmt.Errorf("open %s: %w", name, syscall.EMFILE)
	}
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	c.opened.Add(1)
	now := c.now.Add(1)
	for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
	}
	return &countedFile{f, c}, nil
}

func (f *countedFile) Close() error {
	f.fs.now.Add(-1)
	return f.File.Close()
}

// manyFiles returns a store that keeps at most limit files open, with 20 files in level 0 of one
// partition.
func manyFiles(t *testing.T, limit int) (*counted, *DB, PartitionID) {
	fs := &counted{FS: vfs.NewMem()}
	opt := testOptions(fs)
	opt.OpenFiles, opt.CacheBytes = limit, 1
	db, err := Open("store", opt)
	if err != nil {
		t.Fatal(err)
	}
	id := mustCreate(t, db, "a")[0]
	db.mu.Lock()
	db.partitions[id].compactionStopped = true // no compaction
	db.mu.Unlock()
	flushed(t, db, id, 20)
	return fs, db, id
}

// TestOpenFilesAreBounded: reads may use more files at once than may be open.
func TestOpenFilesAreBounded(t *testing.T) {
	for _, limit := range []int{1, 3} {
		fs, db, id := manyFiles(t, limit)
		var readers sync.WaitGroup
		for range 8 {
			readers.Go(func() {
				for range 5 {
					if got := contents(t, db, id); len(got) != 40 {
						t.Errorf("got %d cells, want 40", len(got))
					}
				}
			})
		}
		readers.Wait()
		if most := fs.most.Load(); most > int64(limit) {
			t.Errorf("%d files were open at once, want %d at most", most, limit)
		}
		if fs.opened.Load() < 40 {
			t.Errorf("files were opened %d times: nothing was tested", fs.opened.Load())
		}
		mustClose(t, db)
		if n := fs.now.Load(); n != 0 {
			t.Errorf("%d files are open after Close", n)
		}
	}
}

// TestOpenFilesStayOpen: with room for all, each file is opened once, by the flush that verifies it
// or by the first read, and stays open.
func TestOpenFilesStayOpen(t *testing.T) {
	fs, db, id := manyFiles(t, 20)
	defer mustClose(t, db)
	for range 3 {
		contents(t, db, id)
	}
	if n := fs.opened.Load(); n != 20 || fs.now.Load() != 20 || db.tableCache.count() != 20 {
		t.Errorf("20 files were opened %d times, %d are open, %d counted", n, fs.now.Load(), db.tableCache.count())
	}
}

// TestOutOfDescriptors: if the process has fewer file descriptors than the store may use, the store
// works with these. With none, reads fail until there are some again.
func TestOutOfDescriptors(t *testing.T) {
	fs, db, id := manyFiles(t, 20)
	defer mustClose(t, db)
	for db.tableCache.closeIdle() {
	}
	fs.refuse.Store(2)
	if got := contents(t, db, id); len(got) != 40 {
		t.Errorf("with two descriptors got %d cells, want 40", len(got))
	}
	for db.tableCache.closeIdle() {
	}
	fs.now.Add(2) // others have them
	if _, err := read(db, id, nil); !errors.Is(err, ErrOverloaded) || !errors.Is(err, syscall.EMFILE) {
		t.Errorf("with no descriptor got %v, want ErrOverloaded and the cause", err)
	}
	fs.now.Add(-2)
	if got := contents(t, db, id); len(got) != 40 {
		t.Errorf("after that got %d cells, want 40", len(got))
	}
}

// TestReadOfOpenFileAllocatesNothing: every block read from disk needs such a read.
func TestReadOfOpenFileAllocatesNothing(t *testing.T) {
	_, db, id := manyFiles(t, 20)
	defer mustClose(t, db)
	table := tableOf(db.partitions[id].version.Levels[0][0])
	p := make([]byte, 16)
	if n := testing.AllocsPerRun(100, func() { table.ReadAt(p, 0) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
