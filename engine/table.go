package engine

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"sync"
	"sync/atomic"

	"colonnade/engine/manifest"
	"colonnade/sstable"
	"colonnade/vfs"
)

// table is the open side of a sorted file. Its footer and properties are read at the
// first use and kept; the file itself is open as handles allows.
type table struct {
	p     *partition
	file  *manifest.File
	path  string
	id    sstable.ID
	fs    vfs.FS
	cache sstable.Cache

	refs     atomic.Int32 // read states that hold the file, and the work that reads it
	obsolete atomic.Bool  // no later version holds it: goes when refs reaches 0

	mu     sync.Mutex // one goroutine makes the reader
	reader atomic.Pointer[sstable.Reader]

	handles *handles
	opening sync.Mutex // one goroutine opens the file
	handle  handle
}

// tableOf returns the open side of a file of a DB.
func tableOf(f *manifest.File) *table { return f.Owner.(*table) }

func (db *DB) newTable(p *partition, f *manifest.File) *table {
	t := &table{
		p: p, file: f, path: p.tablePath(f.Number),
		id: db.tableID(f.Number), fs: db.opt.FS, handles: db.handles,
	}
	if db.cache != nil {
		t.cache = db.cache
	}
	return t
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
	r, err := t.newReader(t, t.cache)
	if err != nil {
		return nil, t.p.inTable(err)
	}
	t.reader.Store(r)
	return r, nil
}

// newReader returns a reader of the file by way of in, which is the table or
// something before it.
func (t *table) newReader(in io.ReaderAt, cache sstable.Cache) (*sstable.Reader, error) {
	r, err := sstable.Open(in, t.file.Size, t.id, cache)
	if err != nil {
		return nil, err
	}
	return r, t.agrees(r.Info())
}

// ReadAt implements io.ReaderAt. It opens the file if needed.
func (t *table) ReadAt(p []byte, off int64) (int, error) {
	f, err := t.enter()
	if err != nil {
		return 0, err
	}
	defer t.handles.leave(&t.handle)
	return f.ReadAt(p, off)
}

func (t *table) enter() (vfs.File, error) {
	if f, ok := t.handle.enter(); ok {
		return f, nil
	}
	t.opening.Lock()
	defer t.opening.Unlock()
	if f, ok := t.handle.enter(); ok {
		return f, nil
	}
	return t.handles.admit(&t.handle, t.openFile)
}

// openFile opens the file if it has the size that the manifest says.
func (t *table) openFile() (vfs.File, error) {
	f, err := t.fs.Open(t.path)
	if err != nil {
		if errors.Is(err, iofs.ErrNotExist) {
			return nil, t.damage("file is missing")
		}
		if short := shortage(err); short != nil {
			err = fmt.Errorf("%w: %w", short, err)
		}
		return nil, err
	}
	size, err := f.Size()
	if err == nil && size != t.file.Size {
		err = t.damage("file has %d bytes, the manifest says %d", size, t.file.Size)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// damage is what is wrong with the file as a whole.
func (t *table) damage(format string, args ...any) error {
	return &CorruptError{Partition: t.p.name, File: t.path, Offset: -1, Reason: fmt.Sprintf(format, args...)}
}

// agrees reports a file that is not the one that the manifest describes.
func (t *table) agrees(info sstable.Info) error {
	f := t.file
	same := string(info.Smallest) == string(f.Smallest) && string(info.Largest) == string(f.Largest) &&
		info.MinSeq == f.MinSeq && info.MaxSeq == f.MaxSeq &&
		info.Cells == f.Entries && info.Tombstones == f.Tombstones && info.RawBytes == f.RawBytes
	if same {
		return nil
	}
	return t.damage("the manifest describes another file of this number")
}

// close closes the file if it is open.
func (t *table) close() error { return t.handles.close(&t.handle) }

// unref gives up one reference; the last one of an obsolete file discards it.
func (t *table) unref(to *trash) {
	if t.refs.Add(-1) == 0 && t.obsolete.Load() {
		to.add(t)
	}
}

// trash is the obsolete files that wait for removal. References are given up
// in places that must not wait for a disk.
type trash struct {
	removing sync.Mutex // held while files are removed that were taken; before mu

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
