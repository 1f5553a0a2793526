package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"log/slog"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/cespare/xxhash/v2"
	"github.com/colonnade-db/colonnade/cell"
	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/rangedel"
	"github.com/colonnade-db/colonnade/engine/rowmerge"
	"github.com/colonnade-db/colonnade/memtable"
	"github.com/colonnade-db/colonnade/vfs"
)

// A checkpoint is a store that has the partitions of a snapshot, as the snapshot sees them, in a directory
// below that of the DB:
//
//	sorted files   further names of those of the snapshot, where the file system has such names, else copies
//	memtables      written to a sorted file of level 0 for each partition: what the snapshot sees of them
//	log            one segment without batches, since all are in files
//	manifest       written last
//
// Its names are not made durable: it does not outlive the process.
//
// The log of the DB, its manifest and its flushes have nothing to do with it, so writers do not notice. The
// store in the checkpoint has the identity of the DB: its files are those of the DB, or have numbers that
// the DB will not give to others while it is open.

// CheckpointFile is a file of a checkpoint.
type CheckpointFile struct {
	Name     string // slash-separated, in the directory of the checkpoint
	Size     int64
	Checksum uint64 // xxhash64 of the file
}

// Checkpoint makes a checkpoint of what the snapshot sees, called name, which no other has. It returns the files, by
// name. The directory has them, and they stay as they are until RemoveCheckpoint, or until the store is opened
// the next time: that removes all checkpoints. After an error nothing is left of it, or the next open removes
// the rest. The error is ErrDiskFull if the memtables do not fit beside the disk reserve, and a *CorruptError if
// a partition is damaged as a whole. The files themselves are not read.
func (s *Snapshot) Checkpoint(ctx context.Context, name string) ([]CheckpointFile, error) {
	c, err := s.newCheckpoint(ctx, name)
	if err != nil {
		return nil, err
	}
	err = c.write()
	for _, f := range c.tables {
		tableOf(f).close()
	}
	if err == nil {
		slices.SortFunc(c.files, func(a, b CheckpointFile) int { return strings.Compare(a.Name, b.Name) })
		return c.files, nil
	}
	if e := s.db.RemoveCheckpoint(name); e != nil {
		s.db.opt.Log.Warn("unfinished checkpoint not removed", "directory", c.into.dir, "cause", e)
	}
	err = fmt.Errorf("make checkpoint: %w", err)
	if short := shortage(err); short != nil {
		return nil, fmt.Errorf("%w: %w", short, err)
	}
	return nil, err
}

// RemoveCheckpoint removes a checkpoint. Files of it that are open can still be read.
func (db *DB) RemoveCheckpoint(name string) error {
	return removeAll(db.opt.FS, db.CheckpointPath(name))
}

// OpenCheckpoint opens a file of a checkpoint for reading.
func (db *DB) OpenCheckpoint(name, file string) (vfs.File, error) {
	return db.opt.FS.Open(path.Join(db.CheckpointPath(name), file))
}

// ID returns the identity of the store, which is part of every checksum.
func (db *DB) ID() [16]byte { return db.store }

// CheckpointPath returns the directory of a checkpoint.
func (db *DB) CheckpointPath(name string) string { return db.path(manifest.CheckpointsDir, name) }

// checkpoint is a checkpoint in the making.
type checkpoint struct {
	ctx      context.Context
	snapshot *Snapshot
	// into stands for the store in the checkpoint: paths, identity, numbers. It is not open. Its failures are
	// its own.
	into     *DB
	manifest *manifest.Manifest
	tables   []*manifest.File // written from memtables
	files    []CheckpointFile
}

// newCheckpoint takes the numbers that the checkpoint needs from the DB.
func (s *Snapshot) newCheckpoint(ctx context.Context, name string) (*checkpoint, error) {
	db := s.db
	size := int64(0)
	for _, pin := range s.pins {
		if q := pin.p.quarantined.Load(); q != nil {
			return nil, q
		}
		for _, t := range pin.state.tables {
			size += t.Bytes()
		}
	}
	if err := db.checkReserve(size); err != nil {
		return nil, err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return nil, ErrClosed
	}
	into := &DB{opt: db.opt, dir: db.CheckpointPath(name), store: db.store, tableCache: newTableCache(4), nextFile: db.nextFile}
	into.opt.Log = slog.New(slog.DiscardHandler) // whoever called gets the error
	into.background.init(&into.mu)
	into.visible.Store(s.seq)
	db.nextFile += uint64(len(s.pins))
	return &checkpoint{ctx: ctx, snapshot: s, into: into, manifest: &manifest.Manifest{
		Store: db.store, Edit: db.manifest.Edit,
		NextFile: db.nextFile, NextPartition: db.manifest.NextPartition,
		LogStart: db.log.next, Settled: s.seq + 1, LastSeq: s.seq, LastTime: db.lastTime, Timeline: db.manifest.Timeline,
		Partitions: make(map[PartitionID]*manifest.Partition),
	}}, nil
}

func (c *checkpoint) write() error {
	fs := c.into.opt.FS
	for _, sub := range []string{manifest.LogDir, manifest.PartitionsDir} {
		if err := fs.MkdirAll(c.into.path(sub)); err != nil {
			return err
		}
	}
	for _, pin := range c.snapshot.pins {
		if err := c.partition(pin); err != nil {
			return err
		}
	}
	if err := c.log(); err != nil {
		return err
	}
	if err := c.manifest.Check(); err != nil {
		return fmt.Errorf("its manifest contradicts itself: %w", err)
	}
	data := c.manifest.Encode()
	c.add(manifest.FileName(c.manifest.Edit), int64(len(data)), xxhash.Sum64(data))
	return writeManifest(fs, c.into.dir, c.manifest)
}

func (c *checkpoint) add(name string, size int64, checksum uint64) {
	c.files = append(c.files, CheckpointFile{Name: name, Size: size, Checksum: checksum})
}

// partition adds a partition: its files, and a new one for its memtables.
func (c *checkpoint) partition(pin pin) error {
	seq := c.snapshot.seq
	p := &partition{
		id: pin.p.id, name: pin.p.name, version: pin.state.version,
		dir: c.into.path(manifest.PartitionsDir, manifest.PartitionDir(uint64(pin.p.id))),
	}
	p.state.Store(pin.state) // for output, which asks whether it was dropped
	p.policies.Store(rowmerge.NoPolicies)
	if err := c.into.opt.FS.MkdirAll(p.dir); err != nil {
		return err
	}
	p.made.Store(true)
	for f := range pin.state.version.Files() {
		if err := c.link(p, f); err != nil {
			return err
		}
	}
	deleted := pin.state.rangesAsOf(seq)
	out := &output{db: c.into, p: p, split: compaction.SplitAtSize(noSplit), shortLived: true, deleted: deleted, stop: c.ctx.Done()}
	src := &asOf{Source: pin.state.memTables(), seq: seq}
	_, err := c.into.writeRows(out, src, rowRange{}, nil)
	src.Close()
	c.tables = append(c.tables, out.files...)
	if err != nil {
		if out.f != nil {
			out.f.Close()
		}
		return cmp.Or(c.ctx.Err(), err)
	}
	for _, f := range out.files {
		c.addTable(p, f)
	}
	v := p.version.WithFlushed(out.files).WithRangeTombstones(deleted).TrimRangeTombstones()
	c.manifest.Partitions[p.id] = &manifest.Partition{ID: p.id, Name: p.name, Flushed: seq, Version: v}
	return nil
}

func (c *checkpoint) addTable(p *partition, f *manifest.File) {
	c.add(path.Join(manifest.PartitionsDir, path.Base(p.dir), manifest.TableFile(f.Number)), f.Size, f.Checksum)
}

// link gives a sorted file of the DB a name in the checkpoint, or copies it.
func (c *checkpoint) link(p *partition, f *manifest.File) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	c.addTable(p, f)
	fs, from, to := c.into.opt.FS, tableOf(f).path, p.tablePath(f.Number)
	err := fs.Link(from, to)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return tableOf(f).damage("file is missing")
	case vfs.CannotLink(err):
		return c.copy(from, to)
	}
	return err
}

// copy copies a file. It is for file systems where a file has one name.
func (c *checkpoint) copy(from, to string) error {
	in, err := c.into.opt.FS.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	size, err := in.Size()
	if err != nil {
		return err
	}
	if err := c.snapshot.db.checkReserve(size); err != nil {
		return err
	}
	out, err := c.into.opt.FS.Create(to)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(onlyWriter{out}, &contextReader{c.ctx, io.NewSectionReader(in, 0, size)}, make([]byte, 256<<10))
	return errors.Join(err, out.Sync(), out.Close())
}

// onlyWriter hides other methods of a Writer.
type onlyWriter struct{ io.Writer }

// contextReader ends with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// logSize is the size of the segment of a checkpoint.
const logSize = 4096

// log writes the segment. It ends with a seal: recovery goes on behind it.
func (c *checkpoint) log() error {
	s := &segment{number: c.manifest.LogStart, size: logSize}
	if err := c.into.fillSegment(s, nil); err != nil {
		return err
	}
	if err := errors.Join(s.w.Seal(), s.w.Close()); err != nil {
		return err
	}
	data, err := readFile(c.into.opt.FS, c.into.segmentPath(s.number))
	if err != nil {
		return err
	}
	c.add(path.Join(manifest.LogDir, manifest.SegmentFile(s.number)), int64(len(data)), xxhash.Sum64(data))
	return nil
}

// memTables returns the entries of all memtables.
func (s *readState) memTables() rowmerge.Source {
	var list []rowmerge.Source
	for _, t := range s.tables {
		list = append(list, t.NewIterator(memtable.ReadOptions{}))
	}
	all := new(rowmerge.Iterator)
	all.Init(list)
	return all
}

// rangesAsOf returns the range tombstones of the memtables up to a sequence number.
func (s *readState) rangesAsOf(seq uint64) (list []*rangedel.Set) {
	for _, ranges := range s.ranges {
		for _, set := range ranges.Sets() {
			if set = set.AsOf(seq); set != nil {
				list = append(list, set)
			}
		}
	}
	return list
}

// asOf leaves out the entries above a sequence number. Of a row it may leave out all.
type asOf struct {
	rowmerge.Source
	seq uint64
}

func (a *asOf) Cells(dst []cell.Cell) []cell.Cell {
	for {
		n := len(dst)
		dst = a.Source.Cells(dst)
		if len(dst) == n {
			return dst
		}
		kept := slices.DeleteFunc(dst[n:], func(c cell.Cell) bool { return c.Seq > a.seq })
		if len(kept) > 0 {
			return dst[:n+len(kept)]
		}
		dst = dst[:n]
	}
}

// Run says nothing: the source describes entries that are left out, too.
func (a *asOf) Run() *cell.Run { return &rowmerge.UnknownRun }

// removeAll removes a file, or a directory with all that is in it. It is no error if there is none.
func removeAll(fs vfs.FS, name string) error {
	_, err := fs.Stat(name) // does not follow links
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return nil
	case errors.Is(err, syscall.EISDIR):
		names, err := fs.List(name)
		if err != nil {
			return err
		}
		for _, n := range names {
			if err := removeAll(fs, path.Join(name, n)); err != nil {
				return err
			}
		}
	case err != nil:
		return err
	}
	return fs.Remove(name)
}
