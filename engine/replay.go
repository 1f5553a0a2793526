package engine

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"slices"

	"colonnade/engine/manifest"
	"colonnade/wal"
)

// The first half of a recovery: the segments of the log are found, read in order,
// and what is in no file goes into the memtables.

// list finds the segments and makes sure that none is missing.
func (r *recovery) list() error {
	db := r.db
	names, err := db.listDir(db.path(manifest.LogDir))
	if err != nil {
		return db.noLog(err)
	}
	start := r.manifest.LogStart
	db.log.next = start
	for _, name := range names {
		n, ok := manifest.ParseName(name, "", manifest.SegmentSuffix)
		if !ok {
			continue // a leftover
		}
		size, err := db.opt.FS.Stat(db.path(manifest.LogDir, name))
		if err != nil {
			return err
		}
		r.old = append(r.old, &segment{number: n, size: size})
		db.log.next = max(db.log.next, n+1)
	}
	slices.SortFunc(r.old, func(a, b *segment) int { return int(a.number) - int(b.number) })
	if live := r.live(); r.written() && (len(live) == 0 || live[0].number != start) {
		return r.missing(start)
	}
	return nil
}

// written reports whether the log can ever have had a batch.
func (r *recovery) written() bool { return r.manifest.NextPartition > 1 }

// live returns the segments that the manifest knows of.
func (r *recovery) live() []*segment {
	i := slices.IndexFunc(r.old, func(s *segment) bool { return s.number >= r.manifest.LogStart })
	if i < 0 {
		return nil
	}
	return r.old[i:]
}

// noLog returns the error of a log whose directory cannot be listed: that it is
// missing is damage, other failures are of the disk.
func (db *DB) noLog(err error) error {
	if !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	return &CorruptError{File: db.path(manifest.LogDir), Offset: -1, Reason: "directory is missing"}
}

func (r *recovery) missing(number uint64) error {
	return &CorruptError{File: r.db.segmentPath(number), Offset: -1, Reason: "log segment is missing"}
}

// replay reads the segments up to the one in which the log ends: the first that
// is not finished. Behind it there may be a spare segment without batches, and
// copies of recoveries that were interrupted.
func (r *recovery) replay() error {
	var last *segment // in which the log ends
	next := r.manifest.LogStart
	for _, s := range r.live() {
		if last == nil && s.number != next && r.written() {
			return r.missing(next)
		}
		next = s.number + 1
		c, err := r.replaySegment(s, last != nil)
		switch {
		case err != nil:
			return err
		case !c.headed && last == nil && r.written():
			return r.corrupt(s, "segment has no header")
		case c.batches && !c.copied && last != nil:
			return r.corrupt(last, fmt.Sprintf("segment was not finished, but segment %d has batches", s.number))
		}
		if !c.finished && last == nil {
			last = s
		}
	}
	if last == nil && r.written() {
		return r.missing(next)
	}
	return r.reachesFiles(last)
}

// reachesFiles makes sure that the log goes as far as the files do. A batch is
// flushed once it is durable in the log, so the log has all batches that are in a file,
// but for those that are settled. One that ends before is of an
// earlier moment than the files, as in a copy of a directory that was written
// meanwhile, or has lost its end: of the batches in between some partitions have
// entries and others have not.
func (r *recovery) reachesFiles(last *segment) error {
	end := r.lastSeq
	switch settled := r.manifest.Settled; {
	case settled > 0:
		end = max(end, settled-1)
	case !r.grown:
		return nil // there may be copies of some batches only
	}
	for _, p := range r.manifest.Partitions {
		for f := range p.Version.Files() {
			if f.MaxSeq > end {
				return r.corrupt(last, fmt.Sprintf("the log ends with batch %d, but file %d of partition %s has entries of batch %d", end, f.Number, p.Name, f.MaxSeq))
			}
		}
	}
	return nil
}

func (r *recovery) corrupt(s *segment, reason string) error {
	return &CorruptError{File: r.db.segmentPath(s.number), Offset: -1, Reason: reason}
}

// segmentContent is what was found in a segment.
type segmentContent struct {
	headed, batches, finished bool
	copied                    bool // by a recovery that did not get to its end
}

// replaySegment reads one segment. ended says that the log ends before it.
func (r *recovery) replaySegment(s *segment, ended bool) (c segmentContent, err error) {
	db := r.db
	name := db.segmentPath(s.number)
	r.name = name
	f, err := db.opt.FS.Open(name)
	if err != nil {
		return c, err
	}
	defer f.Close()
	in, err := wal.NewReader(f, s.size, db.store, s.number)
	if err != nil {
		return c, inSegment(err, name)
	}
	c.copied = in.Header().Copy && s.number > r.manifest.Copied
	if c.copied && !ended {
		return c, r.corrupt(s, "a copy stands where the log should go on")
	}
	for {
		seq, payload, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return c, inSegment(err, name)
		}
		c.batches = true
		r.grown = r.grown || !in.Header().Copy
		if c.copied && seq <= r.lastSeq {
			continue // the original was read
		}
		if err := r.record(seq, payload); err != nil {
			var w writeError
			if errors.As(err, &w) {
				return c, w.error
			}
			return c, r.corrupt(s, err.Error())
		}
	}
	end := in.End()
	db.opt.Log.Info("log segment read", "file", name, "end", end.Kind.String(), "offset", end.Offset)
	c.headed, c.finished = end.Kind != wal.Unwritten, end.Kind == wal.Finished
	s.torn = in.PartialRecord()
	return c, nil
}

// record handles one batch of the log.
func (r *recovery) record(seq uint64, payload []byte) error {
	if seq <= r.lastSeq {
		return fmt.Errorf("batch %d follows batch %d", seq, r.lastSeq)
	}
	r.lastSeq = seq
	if err := r.take(seq, payload); err != nil {
		return fmt.Errorf("batch %d: %w", seq, err)
	}
	return nil
}

// writeError is the failure to write what was replayed.
type writeError struct{ error }

func (e writeError) Unwrap() error { return e.error }

// takeOver puts a batch where the store will find it.
func (r *recovery) takeOver(seq uint64, payload []byte) error {
	live, err := r.insert(seq, payload)
	if err != nil || !live {
		return err
	}
	if !r.whole {
		if err := r.copies.add(seq, payload); err != nil {
			return writeError{err}
		}
	}
	if err := r.relieve(); err != nil {
		return writeError{err}
	}
	return nil
}

// insert has the entries of a batch that are in no file yet put into the memtables,
// and reports whether there are any. They are in after the wait of the next cut of r.inserts.
func (r *recovery) insert(seq uint64, payload []byte) (live bool, err error) {
	l := r.inserts.fill(r.name, len(payload))
	if live, err = r.assign(l, seq, payload); live && err == nil {
		r.inserts.add(seq, payload)
	}
	return live, err
}

// assign checks a batch, notes the runs of its entries that are for memtables, and
// reports whether there are any.
func (r *recovery) assign(l *load, seq uint64, payload []byte) (live bool, err error) {
	db := r.db
	db.mu.Lock()
	defer db.mu.Unlock()
	var (
		last   PartitionID // of the run before: no partition has this one
		inFile bool        // it has the batch in a file, or was dropped
		part   uint32
		before = len(l.runs)
	)
	err = checkBatch(payload, func(b *batchReader, at int) error {
		l.finish(at)
		if b.partition != last {
			last = b.partition
			p := db.partitions[last]
			if inFile = p == nil || seq <= p.flushed; inFile {
				return r.known(last)
			}
			part = l.assign(p, seq)
		}
		if !inFile {
			l.begin(b, payload, at, part)
		}
		return nil
	})
	if err != nil {
		l.runs, l.open = l.runs[:before], false
		return false, err
	}
	l.finish(len(payload))
	db.lastSeq = max(db.lastSeq, seq)
	db.lastTime = max(db.lastTime, batchTime(payload))
	return len(l.runs) > before, nil
}

// known returns an error if a batch of the log cannot be for a partition.
func (r *recovery) known(id PartitionID) error {
	if id >= r.manifest.NextPartition {
		return fmt.Errorf("partition %d was never created", id)
	}
	return nil
}
