package engine

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"colonnade/cell"
	"colonnade/engine/compaction"
	"colonnade/engine/manifest"
	"colonnade/engine/rowmerge"
)

// flushing is a frozen memtable, the oldest of its partition, on its way to a file.
type flushJob struct {
	p         *partition
	m         *memTable
	entries   int // of m when it was written
	out       *output
	written   bool // its file is complete and verified
	chosen    bool // it is part of the edit
	installed bool // and this is durable
}

// flush writes memtables to files of level 0 and drops them, all in one edit: a
// manifest is written as a whole, and a thousand partitions with little in them
// must not write it a thousand times. Versions that no reader can see any more stay
// behind. The ones that fail leave the others alone.
func (db *DB) flush(list []flushJob) error {
	defer discardFlushed(list)
	err := db.writeMemTables(list)
	installErr := db.installFlushed(list, 0)
	if err == nil || installErr != nil && !errors.Is(installErr, ErrNoPartition) {
		return installErr
	}
	return err
}

// flushAll is flush for memtables that, with the files there are, have all batches up
// to last: either all of them are in files then, and the manifest says so, or none is.
func (db *DB) flushAll(list []flushJob, last uint64) error {
	defer discardFlushed(list)
	if err := db.writeMemTables(list); err != nil {
		return err
	}
	return db.installFlushed(list, last)
}

// discardFlushed removes files that were not installed.
func discardFlushed(list []flushJob) {
	for i := range list {
		if f := &list[i]; f.out != nil && !f.installed {
			f.out.discard()
		}
	}
}

// filesPerWriter is for how many files a flush has one goroutine more; flushFiles bounds these.
// Small files take the disk longer than the processor: of each it has to make the content and
// the name durable.
const filesPerWriter = 16

// writeMemTables writes the files. When one fails for a reason that the others share,
// such as a full disk, those that are not begun are not tried.
func (db *DB) writeMemTables(list []flushJob) error {
	var (
		mu      sync.Mutex
		rest    = list // not begun, nil after a failure that all share; guarded by mu
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

// writeMemTable writes the file of one memtable. That its partition was dropped is no failure.
func (db *DB) writeMemTable(f *flushJob) error {
	src := f.m.source()
	f.out = &output{db: db, p: f.p, split: compaction.SplitAtSize(maxFile), shortLived: db.overlaps(f.p, src)}
	f.entries = f.m.entries()
	err := db.write(f.out, src, f.entries, nil)
	src.Close()
	f.written = err == nil
	if err == nil || f.p.state.Load() == nil { // dropped
		return nil
	}
	return fmt.Errorf("flush partition %s: %w", f.p.name, err)
}

// overlaps reports whether a source, which it leaves at any row, has rows among those of a file of the
// partition. If not, its file may be moved down as it is.
func (db *DB) overlaps(p *partition, src rowmerge.Source) bool {
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

// installFlushed makes the files part of their partitions. ErrNoPartition if none is
// written, or all of their partitions are gone. Unless last is 0, it installs all or
// none, and all batches up to last are in files then.
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
			r := next.Partitions[f.p.id]
			if !f.written || r == nil {
				if last != 0 {
					return f.p.inconsistent("flush of all up to batch %d has left it out", last)
				}
				continue
			}
			v := r.Version.WithFlushed(f.out.files)
			fault := f.check()
			if e := v.Check(); fault == nil && e != nil {
				fault = f.p.inconsistent("flush would break the order of levels: %v", e)
			}
			switch {
			case fault != nil && last != 0:
				return fault
			case fault != nil:
				broken = fault
				delete(flushed, f.p) // so the log keeps its batches
				continue
			}
			f.chosen = true
			next.Partitions[r.ID] = r.With(f.m.maxSeq, v)
			err = nil
		}
		return err
	}, func() {
		for i := range list {
			if f := &list[i]; f.chosen {
				f.installed = true
				db.smallFiles.Flushed(manifest.TotalSize(f.out.files))
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

// maxFile is a file size that no flush reaches: a memtable makes one file.
const maxFile = 1 << 62

// adoptLocked takes over what the manifest, just installed, says of the partition.
func (db *DB) adoptLocked(p *partition) {
	r := db.manifest.Partitions[p.id]
	p.version, p.flushed = r.Version, r.Flushed
	db.publishLocked(p)
	db.background.compactable[p] = true
}

// yieldCells is after how many entries, about a tenth of a millisecond, a flush or compaction lets
// others have the processor. The scheduler would take it away after 10 ms, for which time
// all the Commits wait that are next in line on it.
const yieldCells = 512

// write writes the entries of src that rowmerge.Filter keeps into out and finishes it. src must
// have as many entries as entries says. isBottommost is as in Filter.Init.
func (db *DB) write(out *output, src rowmerge.Source, entries int, isBottommost func(row []byte) bool) error {
	read, err := db.writeRows(out, src, rowRange{}, isBottommost)
	if err == nil && read != entries {
		err = out.p.miscounted(entries, read)
	}
	return err
}

// rowRange is rows from start up to end, nil for no end.
type rowRange struct{ start, end []byte }

// reaches reports whether a row is at the end or behind.
func (r *rowRange) reaches(row []byte) bool {
	return r.end != nil && bytes.Compare(row, r.end) >= 0
}

// writeRows is write for a range of rows. It returns how many entries it has read.
func (db *DB) writeRows(out *output, src rowmerge.Source, rows rowRange, isBottommost func(row []byte) bool) (read int, err error) {
	var filter rowmerge.Filter
	filter.Init(db.visible.Load(), db.opt.Clock.Now(), out.p.policies.Load(), isBottommost)
	var cells []cell.Cell
	yield := yieldCells
	for src.SeekRow(rows.start); src.Row() != nil && !rows.reaches(src.Row()); src.NextRow() {
		if err := out.pointless(); err != nil {
			return 0, err
		}
		if read >= yield {
			yield = read + yieldCells
			out.giveWay()
		}
		row := src.Row()
		filter.BeginRow(row)
		for first := true; ; {
			cells = src.Cells(cells[:0])
			if len(cells) == 0 {
				break
			}
			read += len(cells)
			if kept := filter.Keep(cells, src.Run()); len(kept) > 0 {
				if err := out.add(row, first, kept); err != nil {
					return 0, err
				}
				first = false
			}
		}
	}
	if err := src.Err(); err != nil {
		return 0, readError{out.p.inTable(err)}
	}
	if err := out.finish(); err != nil {
		return 0, err
	}
	if dropped := int(filter.Dropped()); read != int(out.cells)+dropped {
		return 0, out.p.inconsistent("%d entries read, %d written, %d left out", read, out.cells, dropped)
	}
	return read, nil
}

// miscounted is what a stream that has other entries than it should says of its partition.
func (p *partition) miscounted(entries, read int) error {
	return p.quarantine("%d entries expected, %d read", entries, read)
}
