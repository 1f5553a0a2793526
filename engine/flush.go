package engine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/colonnade-db/colonnade/engine/compaction"
	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/engine/rowmerge"
)

// flushJob is the flush of the oldest frozen memtable of a partition.
type flushJob struct {
	p         *partition
	m         *memTable
	entries   int // of m when the file was written
	ranges    int // range tombstones of m then
	out       *output
	written   bool // its file is complete and verified
	inEdit    bool // it is part of the manifest edit
	installed bool // and the edit is durable
}

const (
	// flushFiles bounds the files of one flush: the first memtables must not wait for all the others.
	// The manifest edit costs little beside 128 files.
	flushFiles = 128
	// flushShare is the part of the memtable budget that one flush of several memtables writes at most.
	flushShare = 8
)

// nextFlushLocked returns the memtables of the next flush, none if there is nothing to flush.
func (db *DB) nextFlushLocked() []flushJob {
	list := db.flushableLocked()
	size := int64(0)
	for i := range list {
		size += list[i].m.bytes.Load()
		if i > 0 && (i == flushFiles || size > db.opt.MemtableBytes/flushShare) {
			return list[:i]
		}
	}
	return list
}

// flushableLocked returns the oldest frozen memtable of each partition, the oldest first. It leaves
// out memtables with batches that are not durable yet: these must not get into a file before.
func (db *DB) flushableLocked() []flushJob {
	if db.backingOffLocked() {
		return nil
	}
	var list []flushJob
	for p := range db.frozen {
		if m := p.frozen[0]; m.maxSeq <= db.visible.Load() {
			list = append(list, flushJob{p: p, m: m})
		}
	}
	slices.SortFunc(list, func(a, b flushJob) int {
		return cmp.Or(cmp.Compare(a.m.minSeq, b.m.minSeq), cmp.Compare(a.p.id, b.p.id))
	})
	return list
}

// flush writes memtables to files of level 0 and drops the memtables, all in one manifest edit: a
// thousand partitions with little in them must not write the whole manifest a thousand times. It
// leaves out versions that no reader can see. A job that fails does not affect the others.
func (db *DB) flush(list []flushJob) error {
	defer discardFlushed(list)
	err := db.writeMemTables(list)
	installErr := db.installFlushed(list, 0)
	if err == nil || installErr != nil && !errors.Is(installErr, ErrNoPartition) {
		return installErr
	}
	return err
}

// flushAll is flush for memtables that, together with the files, have all batches up to last. Either
// all of them are installed, and the manifest says so, or none is.
func (db *DB) flushAll(list []flushJob, last uint64) error {
	defer discardFlushed(list)
	if err := db.writeMemTables(list); err != nil {
		return err
	}
	return db.installFlushed(list, last)
}

// discardFlushed removes the files that were not installed.
func discardFlushed(list []flushJob) {
	for i := range list {
		if f := &list[i]; f.out != nil && !f.installed {
			f.out.discard()
		}
	}
}

// filesPerWriter is the number of files for which a flush uses one more goroutine; flushFiles bounds
// the files. Small files take more disk time than CPU time: the content and the name of each have to
// become durable.
//
// 16: a load into a thousand tables took 18.0, 18.1, 20.3 and 20.9 s with 4, 16, 32 and 64.
const filesPerWriter = 16

// writeMemTables writes the files. After a failure that would affect all, such as a full disk, it
// starts no more.
func (db *DB) writeMemTables(list []flushJob) error {
	var (
		mu      sync.Mutex
		rest    = list // not started, nil after a failure that affects all; guarded by mu
		failure error  // guarded by mu
		all     sync.WaitGroup
	)
	next := func() *flushJob {
		mu.Lock()
		defer mu.Unlock()
		if len(rest) == 0 {
			return nil
		}
		f := &rest[0]
		rest = rest[1:]
		return f
	}
	for range 1 + len(list)/filesPerWriter {
		all.Go(func() {
			for f := next(); f != nil; f = next() {
				err := db.writeMemTable(f)
				if err == nil {
					continue
				}
				mu.Lock()
				if rest != nil || failure == nil {
					failure = err
				}
				if !errors.As(err, new(readError)) && !errors.As(err, new(*CorruptError)) {
					rest = nil
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return failure
}

// writeMemTable writes the file of one memtable. A dropped partition is no failure.
func (db *DB) writeMemTable(f *flushJob) error {
	src := f.m.source()
	f.out = &output{
		db: db, p: f.p, split: compaction.SplitAtSize(noSplit), shortLived: db.overlapsFiles(f.p, src), deleted: f.m.ranges.Sets(),
	}
	f.entries, f.ranges = f.m.entries(), f.m.ranges.Len()
	err := db.writeAll(f.out, src, f.entries, nil)
	src.Close()
	f.written = err == nil
	if err == nil || f.p.state.Load() == nil { // dropped
		return nil
	}
	return fmt.Errorf("flush partition %s: %w", f.p.name, err)
}

// overlapsFiles reports whether src has rows in the range of a file of the partition. If not, its file
// may be moved down without being rewritten. It leaves src at any row.
func (db *DB) overlapsFiles(p *partition, src rowmerge.Source) bool {
	db.mu.Lock()
	v := p.version
	db.mu.Unlock()
	for f := range v.Files() {
		src.SeekRow(f.Smallest)
		if row := src.Row(); row != nil && bytes.Compare(row, f.Largest) <= 0 {
			return true
		}
	}
	return false
}

// installFlushed makes the files part of their partitions. It returns ErrNoPartition if none is
// written, or all of their partitions are dropped. Unless last is 0, it installs all or none, and
// records that all batches up to last are in files.
func (db *DB) installFlushed(list []flushJob, last uint64) error {
	flushed := make(map[*partition]*memTable, len(list))
	for _, f := range list {
		if f.written {
			flushed[f.p] = f.m
		}
	}
	var broken error
	err := db.install(flushed, func(next *manifest.Manifest) error {
		if last != 0 {
			next.Settled = max(next.Settled, last+1)
		}
		err := ErrNoPartition
		for i := range list {
			f := &list[i]
			mp := next.Partitions[f.p.id]
			if !f.written || mp == nil {
				if last != 0 {
					return f.p.inconsistent("flush of all up to batch %d has left it out", last)
				}
				continue
			}
			v := mp.Version.WithFlushed(f.out.files).WithRangeTombstones(f.out.deleted).TrimRangeTombstones()
			fault := f.check()
			if e := v.Check(); fault == nil && e != nil {
				fault = f.p.inconsistent("flush would break the order of levels: %v", e)
			}
			switch {
			case fault != nil && last != 0:
				return fault
			case fault != nil:
				broken = fault
				delete(flushed, f.p) // the log keeps its batches
				continue
			}
			f.inEdit = true
			next.Partitions[mp.ID] = mp.With(f.m.maxSeq, v)
			err = nil
		}
		return err
	}, func() {
		for i := range list {
			if f := &list[i]; f.inEdit {
				f.installed = true
				db.smallFiles.Flushed(manifest.TotalSize(f.out.files))
				db.counted.countFlushLocked(f.out.files)
				db.unfreezeLocked(f.p, f.m)
				db.adoptLocked(f.p)
			}
		}
	})
	if broken != nil && (err == nil || errors.Is(err, ErrNoPartition)) {
		return broken
	}
	return err
}

// noSplit is a file size that no flush reaches: a memtable becomes one file.
const noSplit = 1 << 62
