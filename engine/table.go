package engine

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"sync"
	"sync/atomic"

	"colonnade/sstable"
	"colonnade/vfs"
)

// table is the open side of a sorted file. It is opened at the first read and
// stays open until no version holds the file any more; so the open files of a
// store are bounded by the number of its files.
type table struct {
	p     *partition
	path  string
	id    sstable.ID
	size  int64
	fs    vfs.FS
	cache sstable.Cache

	refs     atomic.Int32 // read states that hold the file, and the compaction that reads it
	obsolete atomic.Bool  // no later version holds it: goes when refs reaches 0

	reader atomic.Pointer[sstable.Reader]
	mu     sync.Mutex // guards opening and file
	file   vfs.File
}

func (db *DB) newTable(p *partition, f *file) *table {
	return &table{
		p: p, path: p.tablePath(f.number),
		id: db.tableID(f.number), size: f.size, fs: db.opt.FS, cache: db.cache,
	}
}

// open returns the reader of the file. Damage is reported as a *CorruptError.
func (t *table) open() (*sstable.Reader, error) {
	if r := t.reader.Load(); r != nil {
		return r, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.reader.Load(); r != nil {
		return r, nil
	}
	r, err := t.openFile()
	return r, t.p.inTable(err)
}

func (t *table) openFile() (*sstable.Reader, error) {
	f, err := t.fs.Open(t.path)
	if err != nil {
		if errors.Is(err, iofs.ErrNotExist) {
			err = &CorruptError{Partition: t.p.name, File: t.path, Offset: -1, Reason: "file is missing"}
		}
		return nil, err
	}
	size, err := f.Size()
	if err == nil && size != t.size {
		err = &CorruptError{Partition: t.p.name, File: t.path, Offset: -1,
			Reason: fmt.Sprintf("file has %d bytes, the manifest says %d", size, t.size)}
	}
	var r *sstable.Reader
	if err == nil {
		r, err = sstable.Open(f, size, t.id, t.cache)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	t.file = f
	t.reader.Store(r)
	return r, nil
}

// close closes the file if it is open.
func (t *table) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return nil
	}
	f := t.file
	t.file = nil
	t.reader.Store(nil)
	return f.Close()
}

// unref gives up one reference; the last one of an obsolete file discards it.
func (t *table) unref(to *trash) {
	if t.refs.Add(-1) == 0 && t.obsolete.Load() {
		to.add(t)
	}
}

// trash is the obsolete files that wait for removal. References are given up
// in places that must not wait for a disk.
type trash struct {
	mu     sync.Mutex
	tables []*table
	files  []string // other files, by path
	wake   func()
}

func (t *trash) addFile(path string) {
	t.mu.Lock()
	t.files = append(t.files, path)
	t.mu.Unlock()
	t.wake()
}

func (t *trash) add(table *table) {
	t.mu.Lock()
	t.tables = append(t.tables, table)
	t.mu.Unlock()
	t.wake()
}

func (t *trash) take() (tables []*table, files []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tables, files = t.tables, t.files
	t.tables, t.files = nil, nil
	return tables, files
}
