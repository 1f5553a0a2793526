package engine

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"sync"
	"sync/atomic"

	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/rangedel"
	"github.com/colonnade-db/colonnade/sstable"
	"github.com/colonnade-db/colonnade/vfs"
)

// output writes a sorted stream of entries to new files of a partition. When finish returns, the files
// are durable, and nothing refers to them yet.
type output struct {
	db         *DB
	p          *partition
	split      *compaction.Splitter // says where files end
	shortLived bool                 // the files will be merged before long
	stop       <-chan struct{}      // when closed, the output is not needed; may be nil
	deleted    []*rangedel.Set      // what they cover is left out; every reader sees all of them

	abandoned *atomic.Bool // set when another subcompaction has failed; nil without subcompactions

	yielder   yielder // of the writing goroutine
	flushWait int64   // how long it may still wait for flushes, in microseconds

	files   []*manifest.File
	corrupt bool   // a file is not what was written
	cells   uint64 // entries written to all files
	number  uint64 // of the current file, while w is set
	f       vfs.File
	w       *sstable.Writer
}

// add writes entries of a row; first says that they are its first. Rows and their entries come in
// order.
func (o *output) add(row []byte, first bool, cells []cell.Cell) error {
	if first && o.endsFile(row) && o.w != nil {
		if err := o.endFile(); err != nil {
			return err
		}
	}
	if o.w == nil {
		if err := o.beginFile(); err != nil {
			return err
		}
	}
	return o.w.Add(row, cells)
}

// unneeded returns why the output is not needed any more, nil if it is.
func (o *output) unneeded() error {
	if o.p.state.Load() == nil {
		return ErrNoPartition
	}
	if o.abandoned != nil && o.abandoned.Load() {
		return errAbandoned
	}
	select {
	case <-o.stop:
		return ErrClosed
	default:
		return nil
	}
}

// endsFile reports whether the current file ends before a row.
func (o *output) endsFile(row []byte) bool {
	size := int64(0)
	if o.w != nil {
		size = o.w.EstimatedSize()
	}
	return o.split.StartsFile(row, size)
}

func (o *output) beginFile() error {
	fs := o.db.opt.FS
	if err := o.db.makeDir(o.p); err != nil {
		return err
	}
	o.db.mu.Lock()
	o.number = o.db.nextFile
	o.db.nextFile++
	o.db.mu.Unlock()
	f, err := fs.Create(o.p.tablePath(o.number))
	if err != nil {
		return err
	}
	o.f = f
	o.w = sstable.NewWriter(f, sstable.WriterOptions{
		ID: o.db.tableID(o.number), Compression: sstable.S2, BlockSize: o.db.opt.BlockBytes, ShortLived: o.shortLived,
	})
	return nil
}

// endFile completes the current file.
func (o *output) endFile() error {
	info, err := o.w.Finish()
	if err == nil {
		err = o.f.Sync()
	}
	err = errors.Join(err, o.f.Close())
	o.f = nil
	if err != nil {
		return fmt.Errorf("write %s: %w", o.p.tablePath(o.number), err)
	}
	f := &manifest.File{
		Number: o.number, Size: info.Size, Checksum: info.Checksum,
		Smallest: info.Smallest, Largest: info.Largest,
		MinSeq: info.MinSeq, MaxSeq: info.MaxSeq,
		Entries: info.Cells, Tombstones: info.Tombstones, RawBytes: info.RawBytes,
		Times: info.Times,
	}
	for _, s := range o.deleted {
		f.CleanSeq = max(f.CleanSeq, s.MaxSeq())
	}
	f.Owner = o.db.newTableRef(o.p, f)
	o.files = append(o.files, f)
	o.cells += info.Cells
	o.w = nil
	return o.verify(f)
}

// verifyWhole: one file in verifyWhole is verified cell by cell, which takes a quarter of the time of
// writing it. The other checks take about a hundredth.
const verifyWhole = 16

// verify reads a new file again before anything depends on it. Every file must have the bytes that
// were written and the properties that the manifest will state. One in verifyWhole is read cell by
// cell.
func (o *output) verify(f *manifest.File) error {
	r, err := tableOf(f).newReader(yieldingReader{tableOf(f), o}, nil)
	switch {
	case err != nil:
	case f.Number%verifyWhole == 1:
		err = r.Verify(f.Checksum)
	default:
		err = r.VerifyBytes(f.Checksum)
	}
	if err == nil {
		return nil
	}
	err = o.p.named(err)
	o.corrupt = errors.As(err, new(*CorruptError))
	return readError{fmt.Errorf("verify what was written: %w", err)}
}

// yield yields to foreground work. The caller holds no locks.
func (o *output) yield() {
	if flush := o.db.foreground.flushUnderWay(); flush != nil && o.flushWait > 0 && o.db.slowedPartitions.Load() == 0 {
		begun := o.db.opt.Clock.Now()
		select {
		case <-flush:
		case <-o.stop:
		}
		o.flushWait -= max(0, o.db.opt.Clock.Now()-begun)
	}
	o.yielder.yield(&o.db.foreground, o.db.opt.Clock)
}

// yieldingReader yields before each read: a file is read in pieces that take much less than a
// millisecond.
type yieldingReader struct {
	io.ReaderAt
	out *output
}

func (y yieldingReader) ReadAt(p []byte, off int64) (int, error) {
	y.out.yield()
	return y.ReaderAt.ReadAt(p, off)
}

// finish completes the last file and makes the names of all files durable.
func (o *output) finish() error {
	if o.w != nil {
		if err := o.endFile(); err != nil {
			return err
		}
	}
	if len(o.files) == 0 {
		return nil
	}
	return o.db.syncTables(o.p)
}

// discard removes the files. Those that it cannot remove go with the next open. If the store is
// read-only, the files stay: a failed manifest write may have made the manifest refer to them.
func (o *output) discard() {
	if o.f != nil {
		o.f.Close()
	}
	o.db.mu.Lock()
	failed := o.db.failed
	o.db.mu.Unlock()
	if failed != nil {
		return
	}
	if o.w != nil {
		o.db.obsolete.addFile(o.p.tablePath(o.number))
	}
	for _, f := range o.files {
		tableOf(f).obsolete.Store(true)
		o.db.obsolete.addTable(tableOf(f))
	}
}

// makeDir makes the partition's directory, durably, before its first file. A directory that exists may
// not be durable: if a sync of its name has failed, later syncs do not make up for that. So an empty
// directory is made again.
func (db *DB) makeDir(p *partition) error {
	if p.made.Load() {
		return nil
	}
	fs := db.opt.FS
	names, err := fs.List(p.dir)
	if err == nil && len(names) == 0 {
		err = fs.Remove(p.dir)
	}
	if err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	if err := fs.MkdirAll(p.dir); err != nil {
		return err
	}
	if err := db.syncPartitions(); err != nil {
		return err
	}
	p.made.Store(true)
	return nil
}

// syncTables makes the names of a partition's files durable.
func (db *DB) syncTables(p *partition) error { return db.syncDir(p.dir, &p.namesMu) }

// syncPartitions makes the names of the partitions' directories durable.
func (db *DB) syncPartitions() error { return db.syncDir(db.path(manifest.PartitionsDir), &db.namesMu) }

// syncDir makes the names in a directory durable. mu is the lock of the directory. After a failure it is
// not known which names are durable, and no later sync tells. One may be that of a file that another
// goroutine is about to install. So the DB turns read-only before another sync of the directory can
// succeed, which would prove nothing. File systems report failures of each directory separately.
func (db *DB) syncDir(dir string, mu *sync.Mutex) error {
	mu.Lock()
	defer mu.Unlock()
	db.mu.Lock()
	failed := db.failed
	db.mu.Unlock()
	if failed != nil {
		return failed
	}
	err := db.opt.FS.SyncDir(dir)
	if err == nil || outOfDescriptors(err) {
		return err // without a file descriptor for the directory, no sync was tried
	}
	err = fmt.Errorf("sync directory %s: %w", dir, err)
	db.mu.Lock()
	defer db.mu.Unlock()
	db.failLocked(err)
	return err
}
