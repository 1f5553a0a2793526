package engine

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"sync"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/sstable"
	"github.com/colonnade-db/colonnade/vfs"
)

// tableRef is the engine's side of a sorted file: its path, its references, its reader. The reader has
// read the footer and properties at the first use, and is kept. The table cache opens and closes the
// file itself.
type tableRef struct {
	p          *partition
	file       *manifest.File
	path       string
	id         sstable.ID
	fs         vfs.FS
	blockCache sstable.Cache

	refs     atomic.Int32 // read states with the file, and work that reads it
	obsolete atomic.Bool  // no later version has it: it is removed when refs reaches 0

	mu     sync.Mutex // held while the reader is made
	reader atomic.Pointer[sstable.Reader]

	tableCache *tableCache
	opening    sync.Mutex // held while the file is opened
	handle     tableHandle
}

// tableOf returns the engine's side of a file of a DB.
func tableOf(f *manifest.File) *tableRef { return f.Owner.(*tableRef) }

func (db *DB) newTableRef(p *partition, f *manifest.File) *tableRef {
	t := &tableRef{
		p: p, file: f, path: p.tablePath(f.Number),
		id: db.tableID(f.Number), fs: db.opt.FS, tableCache: db.tableCache,
	}
	if db.blockCache != nil {
		t.blockCache = db.blockCache
	}
	return t
}

// open returns the reader of the file. Damage is reported as a *CorruptError.
func (t *tableRef) open() (*sstable.Reader, error) {
	if r := t.reader.Load(); r != nil {
		return r, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.reader.Load(); r != nil {
		return r, nil
	}
	r, err := t.newReader(t, t.blockCache)
	if err != nil {
		return nil, t.p.inTable(err)
	}
	t.reader.Store(r)
	return r, nil
}

// newReader returns a reader that reads the file through in.
func (t *tableRef) newReader(in io.ReaderAt, cache sstable.Cache) (*sstable.Reader, error) {
	r, err := sstable.Open(in, t.file.Size, t.id, cache)
	if err != nil {
		return nil, err
	}
	return r, t.agrees(r.Info())
}

// ReadAt implements io.ReaderAt. It opens the file if necessary.
func (t *tableRef) ReadAt(p []byte, off int64) (int, error) {
	f, err := t.acquireFile()
	if err != nil {
		return 0, err
	}
	defer t.tableCache.release(&t.handle)
	return f.ReadAt(p, off)
}

func (t *tableRef) acquireFile() (vfs.File, error) {
	if f, ok := t.handle.acquire(); ok {
		return f, nil
	}
	t.opening.Lock()
	defer t.opening.Unlock()
	if f, ok := t.handle.acquire(); ok {
		return f, nil
	}
	return t.tableCache.openFile(&t.handle, t.openFile)
}

// openFile opens the file, and fails if it has another size than the manifest says.
func (t *tableRef) openFile() (vfs.File, error) {
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

// damage returns the error for a file that is damaged as a whole.
func (t *tableRef) damage(format string, args ...any) error {
	return &CorruptError{Partition: t.p.name, File: t.path, Offset: -1, Reason: fmt.Sprintf(format, args...)}
}

// agrees returns an error if the properties of the file are not those in the manifest.
func (t *tableRef) agrees(info sstable.Info) error {
	f := t.file
	same := string(info.Smallest) == string(f.Smallest) && string(info.Largest) == string(f.Largest) &&
		info.MinSeq == f.MinSeq && info.MaxSeq == f.MaxSeq &&
		info.Cells == f.Entries && info.Tombstones == f.Tombstones && info.RawBytes == f.RawBytes &&
		info.Times == f.Times
	if same {
		return nil
	}
	return t.damage("the manifest describes another file of this number")
}

// close closes the file if it is open.
func (t *tableRef) close() error { return t.tableCache.close(&t.handle) }

// unref gives up one reference. The last one of an obsolete file adds it to those to remove.
func (t *tableRef) unref(to *obsoleteFiles) {
	if t.refs.Add(-1) == 0 && t.obsolete.Load() {
		to.addTable(t)
	}
}
