package engine

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"slices"

	"github.com/colonnade-db/colonnade/engine/manifest"
	"github.com/colonnade-db/colonnade/wal"
)

// Recovery reads the segments of the log in order, and puts what is in no file into the memtables.

// listSegments lists the segments and makes sure that none is missing.
func (r *recovery) listSegments() error {
	db := r.db
	names, err := db.listDir(db.path(manifest.LogDir))
	if err != nil {
		return db.noLogError(err)
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
		r.old = append(r.old, &segment{number: n, size: size, found: true})
		db.log.next = max(db.log.next, n+1)
	}
	slices.SortFunc(r.old, func(a, b *segment) int { return int(a.number) - int(b.number) })
	if live := r.liveSegments(); r.mayHaveBatches() && (len(live) == 0 || live[0].number != start) {
		return r.missingSegment(start)
	}
	return nil
}

// mayHaveBatches reports whether the log can ever have had a batch.
func (r *recovery) mayHaveBatches() bool { return r.manifest.NextPartition > 1 }

// liveSegments returns the segments from the manifest's LogStart on.
func (r *recovery) liveSegments() []*segment {
	i := slices.IndexFunc(r.old, func(s *segment) bool { return s.number >= r.manifest.LogStart })
	if i < 0 {
		return nil
	}
	return r.old[i:]
}

// noLogError returns the error for a log whose directory cannot be listed. A missing directory is
// damage.
func (db *DB) noLogError(err error) error {
	if !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	return &CorruptError{File: db.path(manifest.LogDir), Offset: -1, Reason: "directory is missing"}
}

func (r *recovery) missingSegment(number uint64) error {
	return &CorruptError{File: r.db.segmentPath(number), Offset: -1, Reason: "log segment is missing"}
}

// replay reads the segments up to the end of the log, which is in the first unfinished segment. After
// that one there may be a spare segment without batches, and copies of interrupted recoveries.
func (r *recovery) replay() error {
	var last *segment // in which the log ends
	next := r.manifest.LogStart
	for _, s := range r.liveSegments() {
		if last == nil && s.number != next && r.mayHaveBatches() {
			return r.missingSegment(next)
		}
		next = s.number + 1
		c, err := r.replaySegment(s, last != nil)
		switch {
		case err != nil:
			return err
		case !c.headed && last == nil && r.mayHaveBatches():
			return r.corrupt(s, "segment has no header")
		case c.batches && !c.copied && last != nil:
			return r.corrupt(last, fmt.Sprintf("segment was not finished, but segment %d has batches", s.number))
		}
		if !c.finished && last == nil {
			last = s
		}
	}
	if last == nil && r.mayHaveBatches() {
		return r.missingSegment(next)
	}
	return r.checkReachesFiles(last)
}

// checkReachesFiles makes sure that the log goes as far as the files do. A batch is flushed after it is
// durable in the log, so the log has all batches of the files, except those up to Manifest.Settled. A
// shorter log has lost its end, or is older than the files, as in a copy of a directory made during
// writes. Then some partitions would have the batches in between and others not.
func (r *recovery) checkReachesFiles(last *segment) error {
	end := r.lastSeq
	switch settled := r.manifest.Settled; {
	case settled > 0:
		end = max(end, settled-1)
	case !r.hasNewBatches:
		return nil // there may be copies of some batches only
	}
	for _, p := range r.manifest.Partitions {
		if seq := p.Version.RangeTombstones.MaxSeq(); seq > end {
			return r.corrupt(last, fmt.Sprintf("the log ends with batch %d, but partition %s has a range tombstone of batch %d", end, p.Name, seq))
		}
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

// segmentContent says what a segment has.
type segmentContent struct {
	headed, batches, finished bool
	copied                    bool // by a recovery that was interrupted
}

// replaySegment reads one segment. ended says that the log has ended before it.
func (r *recovery) replaySegment(s *segment, ended bool) (c segmentContent, err error) {
	db := r.db
	name := db.segmentPath(s.number)
	r.segmentName = name
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
		r.hasNewBatches = r.hasNewBatches || !in.Header().Copy
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

// record checks the order of a batch of the log, and passes it on.
func (r *recovery) record(seq uint64, payload []byte) error {
	if seq <= r.lastSeq {
		return fmt.Errorf("batch %d follows batch %d", seq, r.lastSeq)
	}
	r.lastSeq = seq
	if err := r.onBatch(seq, payload); err != nil {
		return fmt.Errorf("batch %d: %w", seq, err)
	}
	return nil
}

// writeError is a failure to write what was replayed.
type writeError struct{ error }

func (e writeError) Unwrap() error { return e.error }

// replayBatch puts a batch into the memtables, and has it copied if necessary.
func (r *recovery) replayBatch(seq uint64, payload []byte) error {
	live, err := r.insert(seq, payload)
	if err != nil || !live {
		return err
	}
	if !r.flushAll {
		if err := r.copier.add(seq, payload); err != nil {
			return writeError{err}
		}
	}
	if err := r.flushIfFull(); err != nil {
		return writeError{err}
	}
	return nil
}

// insert inserts the entries of a batch that are in no file yet, and reports whether there are any.
// They are in the memtables after the next barrier of r.inserter.
func (r *recovery) insert(seq uint64, payload []byte) (live bool, err error) {
	l := r.inserter.fill(r.segmentName, len(payload))
	if live, err = r.assign(l, seq, payload); live && err == nil {
		r.inserter.add(seq, payload)
	}
	return live, err
}

// assign checks a batch, records the runs of its entries that are in no file, and reports whether there
// are any.
func (r *recovery) assign(l *insertChunk, seq uint64, payload []byte) (live bool, err error) {
	db := r.db
	db.mu.Lock()
	defer db.mu.Unlock()
	var (
		last   PartitionID // of the last run; 0 is no partition
		inFile bool        // it has the batch in a file, or was dropped
		part   uint32
		before = len(l.runs)
	)
	err = checkBatch(payload, func(b *batchReader, at int) error {
		l.endRun(at)
		if b.partition != last {
			last = b.partition
			p := db.partitions[last]
			if inFile = p == nil || seq <= p.flushed; inFile {
				return r.checkPartition(last)
			}
			part = l.addPartition(p, seq)
		}
		if !inFile {
			l.beginRun(b, payload, at, part)
		}
		return nil
	})
	if err != nil {
		l.runs, l.open = l.runs[:before], false
		return false, err
	}
	l.endRun(len(payload))
	db.lastSeq = max(db.lastSeq, seq)
	db.lastTime = max(db.lastTime, batchTime(payload))
	return len(l.runs) > before, nil
}

// checkPartition returns an error if the log cannot have batches for a partition.
func (r *recovery) checkPartition(id PartitionID) error {
	if id >= r.manifest.NextPartition {
		return fmt.Errorf("partition %d was never created", id)
	}
	return nil
}
