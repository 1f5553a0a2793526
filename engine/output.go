package engine

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"sync"
	"sync/atomic"

	"colonnade/cell"
	"colonnade/engine/compaction"
	"colonnade/engine/manifest"
	"colonnade/sstable"
	"colonnade/vfs"
)

// output writes a sorted stream of entries into new files of a partition. The
// files are on disk, synced, and referenced by nobody when finish returns.
type output struct {
	db         *DB
	p          *partition
	split      *compaction.Splitter // says where files end
	shortLived bool                 // files that will be merged before long
	stop       <-chan struct{}      // when closed, nobody needs the output; nil for never

	abandoned *atomic.Bool // true when a part beside it has failed, so that nobody needs it; nil without parts

	others   yielder // of who writes it
	patience int64   // for so long, in microseconds, it waits for flushes

	files  []*manifest.File
	wrong  bool   // a file is not what was written
	cells  uint64 // entries written to all files
	number uint64 // of the file under writing, while w is set
	f      vfs.File
	w      *sstable.Writer
}

// add writes the entries of a row, or some of them. The rows and the entries of
// a row come in order.
func (o *output) add(row []byte, first bool, cells []cell.Cell) error {
	if first && o.ends(row) && o.w != nil {
		if err := o.end(); err != nil {
			return err
		}
	}
	if o.w == nil {
		if err := o.begin(); err != nil {
			return err
		}
	}
	return o.w.Add(row, cells)
}

// pointless returns why nobody needs the output any more, or nil.
func (o *output) pointless() error {
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

// ends reports whether the file under writing ends before a row.
func (o *output) ends(row []byte) bool {
	size := int64(0)
	if o.w != nil {
		size = o.w.EstimatedSize()
	}
	return o.split.StartsFile(row, size)
}

func (o *output) begin() error {
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

// end completes the file under writing.
func (o *output) end() error {
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
	}
	f.Owner = o.db.newTableRef(o.p, f)
	o.files = append(o.files, f)
	o.cells += info.Cells
	o.w = nil
	return o.verify(f)
}

// verifyWhole is every how many files one is verified cell by cell: that takes a
// quarter of the time of writing it, the rest about a hundredth.
const verifyWhole = 16

// verify reads a new file again, before anything depends on it. Every file has to
// have the bytes that were written and the properties that the manifest will
// state; one in sixteen is read cell by cell.
func (o *output) verify(f *manifest.File) error {
	r, err := tableOf(f).newReader(yielding{tableOf(f), o}, nil)
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
	o.wrong = errors.As(err, new(*CorruptError))
	return readError{fmt.Errorf("verify what was written: %w", err)}
}

// giveWay lets others have the processor. The caller has no locks.
func (o *output) giveWay() {
	if flush := o.db.precedence.flushing(); flush != nil && o.patience > 0 && o.db.slowedPartitions.Load() == 0 {
		begun := o.db.opt.Clock.Now()
		select {
		case <-flush:
		case <-o.stop:
		}
		o.patience -= max(0, o.db.opt.Clock.Now()-begun)
	}
	o.others.giveWay(&o.db.precedence, o.db.opt.Clock)
}

// yielding lets others have the processor before each read, as write does: a file is
// read in pieces that take much less than a millisecond.
type yielding struct {
	io.ReaderAt
	out *output
}

func (y yielding) ReadAt(p []byte, off int64) (int, error) {
	y.out.giveWay()
	return y.ReaderAt.ReadAt(p, off)
}

// finish completes the last file and makes the names of all durable.
func (o *output) finish() error {
	if o.w != nil {
		if err := o.end(); err != nil {
			return err
		}
	}
	if len(o.files) == 0 {
		return nil
	}
	return o.db.syncTables(o.p)
}

// discard removes what was written. What it cannot remove, the next open does.
// When the manifest could not be written it may refer to the files all the
// same, so then they stay.
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

// makeDir makes the partition's directory, durably, before its first file. One that
// is there already may be there for readers alone: a sync of its name has failed,
// and no later one would make up for that. So as long as no file lies in it, it is
// made again.
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

// syncDir makes the names in a directory durable, of which mu is the lock. After a failure
// nobody knows which of them are, and no later sync would say; one can be that of
// a file which another goroutine is about to install. So the DB turns read-only, and
// that before anybody else can sync the directory: it would succeed, and prove nothing.
// Of other directories the file system keeps apart what has failed.
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
		return err // with no handle for the directory, no sync was tried
	}
	err = fmt.Errorf("sync directory %s: %w", dir, err)
	db.mu.Lock()
	defer db.mu.Unlock()
	db.failLocked(err)
	return err
}
